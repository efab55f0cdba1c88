"""Alignment of a server's tokens with characters: by offsets, byte by byte, or by a search."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmgym.models.engine.token_alignment import TokenAlignmentError, align_server_tokens


@pytest.mark.parametrize(
    ("text", "tokens", "offsets", "expected"),
    [
        ("a bc", ["a", " bc"], [0, 1], [(0, 1), (1, 4)]),
        ("a bc", ["a", " bc"], None, [(0, 1), (1, 4)]),
        ("a bc", ["a", " bc"], [0, 2], [(0, 1), (1, 4)]),  # wrong offsets are ignored
        ("a bc", [" a", " bc"], None, [(0, 1), (1, 4)]),  # sentencepiece's leading space
        ("a bc", ["▁a", "▁bc"], None, [(0, 1), (2, 4)]),
        ("a bc", ["Ġa", "Ġbc"], None, [(0, 1), (2, 4)]),
        ("a bc", ["a", "bc"], None, [(0, 1), (2, 4)]),
        ("é!", ["bytes:\\xc3", "bytes:\\xa9", "!"], None, [(0, 1), (0, 1), (1, 2)]),
        ("é!", ["\ufffd", "\ufffd", "!"], None, [(0, 1), (0, 1), (1, 2)]),
        ("日本 x", ["\ufffd", "\ufffd", "本", " x"], None, [(0, 1), (0, 1), (1, 2), (3, 4)]),
        ("日x", ["", "", "", "x"], [0, 0, 0, 1], [(0, 1), (0, 1), (0, 1), (1, 2)]),  # llama-cpp-python
        ("a 日本.", ["a", " ", "", "本", "."], [0, 1, 2, 2, 4], [(0, 1), (1, 2), (2, 3), (2, 4), (4, 5)]),
        ("ab", ["a", "b", ""], [0, 1, 2], [(0, 1), (1, 2), (2, 2)]),
        ("", [], None, []),
    ],
)
def test_server_tokens_get_their_characters(text, tokens, offsets, expected):
    assert align_server_tokens(text, tokens, offsets) == expected


@pytest.mark.parametrize(("text", "tokens"), [("abc", ["ab"]), ("abc", ["ab", "d"]), ("ab", ["ab", "c"])])
def test_tokens_that_do_not_spell_the_text_are_refused(text, tokens):
    with pytest.raises(TokenAlignmentError):
        align_server_tokens(text, tokens)


@pytest.mark.parametrize(
    ("text", "tokens", "offsets"),
    [("ab", ["", "b"], [0, 1]), ("日本", ["x", "本"], [0, 1]), ("ab", ["a", "b"], [-2, -1])],
)
def test_offsets_hide_no_letter_that_the_tokens_lack(text, tokens, offsets):
    if "".join(tokens) == text:
        assert align_server_tokens(text, tokens, offsets) == [(0, 1), (1, 2)]
    else:
        with pytest.raises(TokenAlignmentError):
            align_server_tokens(text, tokens, offsets)


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


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=12), st.lists(st.integers(1, 4)))
def test_parts_that_are_left_out_keep_their_character(text, sizes):
    """Pieces and offsets as from llama-cpp-python, which omits bytes that are not whole characters."""
    data = text.encode()
    cuts = [min(len(data), sum(sizes[:k])) for k in range(len(sizes) + 1)] + [len(data)]
    pieces = [data[start:end] for start, end in pairwise(cuts) if end > start]
    tokens = [piece.decode(errors="ignore") for piece in pieces]
    places = [len(b"".join(pieces[:k]).decode(errors="ignore")) for k in range(len(pieces))]
    covered = set()
    for start, end in align_server_tokens(text, tokens, places):
        covered |= set(range(start, end))
    assert {place for place, sign in enumerate(text) if not sign.isspace()} <= covered
