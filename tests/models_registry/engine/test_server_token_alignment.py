"""The characters of tokens from a server: by offsets, byte by byte, or by a search."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models_registry.engine.token_alignment import TokenAlignmentError, align_server_tokens


@pytest.mark.parametrize(
    ("text", "tokens", "offsets", "expected"),
    [
        ("a bc", ["a", " bc"], [0, 1], [(0, 1), (1, 4)]),
        ("a bc", ["a", " bc"], None, [(0, 1), (1, 4)]),
        ("a bc", ["a", " bc"], [0, 2], [(0, 1), (1, 4)]),  # offsets that are wrong are not believed
        ("a bc", [" a", " bc"], None, [(0, 1), (1, 4)]),  # sentencepiece's blank in front
        ("a bc", ["▁a", "▁bc"], None, [(0, 1), (2, 4)]),
        ("a bc", ["Ġa", "Ġbc"], None, [(0, 1), (2, 4)]),
        ("a bc", ["a", "bc"], None, [(0, 1), (2, 4)]),
        ("é!", ["bytes:\\xc3", "bytes:\\xa9", "!"], None, [(0, 1), (0, 1), (1, 2)]),
        ("é!", ["\ufffd", "\ufffd", "!"], None, [(0, 1), (0, 1), (1, 2)]),
        ("日本 x", ["\ufffd", "\ufffd", "本", " x"], None, [(0, 1), (0, 1), (1, 2), (3, 4)]),
        ("", [], None, []),
    ],
)
def test_server_tokens_get_their_characters(text, tokens, offsets, expected):
    assert align_server_tokens(text, tokens, offsets) == expected


@pytest.mark.parametrize(("text", "tokens"), [("abc", ["ab"]), ("abc", ["ab", "d"]), ("ab", ["ab", "c"])])
def test_tokens_that_do_not_spell_the_text_are_refused(text, tokens):
    with pytest.raises(TokenAlignmentError):
        align_server_tokens(text, tokens)


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=12), st.lists(st.integers(1, 4)))
def test_bytes_cut_anywhere_find_their_characters(text, sizes):
    data = text.encode()
    tokens, place = [], 0
    for size in sizes:
        piece = data[place : place + size]
        tokens.append("bytes:" + "".join(f"\\x{byte:02x}" for byte in piece) if piece else "")
        place += size
    rest = data[place:]
    tokens.append("bytes:" + "".join(f"\\x{byte:02x}" for byte in rest) if rest else "")
    covered = set()
    for start, end in align_server_tokens(text, tokens):
        covered |= set(range(start, end))
    assert covered == set(range(len(text)))
