"""The characters of tokens from a server: spelled, or parts of characters in the spelling of each server."""

from __future__ import annotations

from itertools import accumulate, pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lmgym.models.engine.server_tokens import AmbiguousTokens, align_server_tokens
from lmgym.models.engine.token_alignment import TokenAlignmentError


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
        ("é!", ["bytes:\\xc3", "bytes:\\xa9", "!"], None, [(0, 1), (0, 1), (1, 2)]),  # OpenAI
        ("é!", ["\ufffd", "\ufffd", "!"], None, [(0, 1), (0, 1), (1, 2)]),  # transformers
        ("日本 x", ["\ufffd", "\ufffd", "本", " x"], None, [(0, 1), (0, 1), (1, 2), (2, 4)]),
        ("a 日", ["a", "\ufffd", "\ufffd", "\ufffd"], None, [(0, 1), (2, 3), (2, 3), (2, 3)]),  # no blank
        ("日x", ["", "", "日", "x"], [0, 0, 0, 1, 2], [(0, 1), (0, 1), (0, 1), (1, 2)]),  # vLLM
        ("a √x", ["a", "", " √", "x"], None, [(0, 1), (1, 3), (2, 3), (3, 4)]),
        ("é√", ["", "", "\ufffd√"], None, [(0, 1), (0, 2), (1, 2)]),
        ("a 日 x", ["a", "", "", " x"], [0, 1, 1, 1], [(0, 1), (1, 3), (2, 3), (3, 5)]),  # vLLM, older
        ("日x", ["", "", "", "x"], [0, 0, 0, 1], [(0, 1), (0, 1), (0, 1), (1, 2)]),  # llama-cpp-python
        ("a 日本.", ["a", " ", "", "本", "."], [0, 1, 2, 2, 4], [(0, 1), (1, 2), (2, 3), (2, 4), (4, 5)]),
        ("日本.", ["", "", "本", "."], [0, 0, 1, 2], [(0, 1), (0, 1), (1, 2), (2, 3)]),
        ("é√x", ["Ã", "©â\x88", "\x9a", "x"], None, [(0, 1), (0, 2), (1, 2), (2, 3)]),  # SGLang
        ("a\ufffdb", ["a", "\ufffd", "b"], None, [(0, 1), (1, 2), (2, 3)]),
        ("", [], None, []),
    ],
)
def test_server_tokens_get_their_characters(text, tokens, offsets, expected):
    assert align_server_tokens(text, tokens, offsets) == expected


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("abc", ["ab"]),
        ("abc", ["ab", "d"]),
        ("ab", ["ab", "c"]),
        ("ab", ["", "b"]),
        ("ab", ["a", "b", ""]),
        ("日本", ["x", "本"]),
        ("日x", ["x"]),
        ("日x", ["\ufffd", "\ufffd", "\ufffd", "\ufffd", "x"]),  # more parts than bytes
    ],
)
def test_tokens_that_do_not_spell_the_text_are_refused(text, tokens):
    with pytest.raises(TokenAlignmentError):
        align_server_tokens(text, tokens)


@pytest.mark.parametrize(
    ("text", "tokens", "offsets"),
    [
        ("日本", ["", "", "", ""], None),
        ("日本", ["", "", "本"], None),  # the third may begin with the last byte of the first character
        ("日本", ["\ufffd"] * 5, None),
        ("日 x", ["", "", " x"], None),  # the third too, with llama-cpp-python
        ("日本", ["", "", "本"], [0, 0, 0]),  # offsets of vLLM only add up lengths
    ],
)
def test_parts_that_fit_in_several_ways_are_refused(text, tokens, offsets):
    with pytest.raises(AmbiguousTokens, match="may begin in “日"):
        align_server_tokens(text, tokens, offsets)


def test_the_offset_of_the_next_token_decides():
    assert align_server_tokens("日本", ["", "", "本"], [0, 0, 0, 2]) == [(0, 1), (0, 1), (0, 2)]


def test_offsets_that_contradict_the_parts_are_refused():
    with pytest.raises(TokenAlignmentError):
        align_server_tokens("日x", ["", "", "x"], [0, 3, 7])


# ---- every way to spell any tokens ----


def replaced(pieces: list[bytes]) -> list[str]:
    return [piece.decode(errors="replace") for piece in pieces]


def without_parts(pieces: list[bytes]) -> list[str]:
    return ["" if token.endswith("\ufffd") else token for token in replaced(pieces)]


def with_last_part(pieces: list[bytes]) -> list[str]:
    """Tokens of vLLM 0.30: one that ends in U+FFFD is decoded with one to four tokens before it, until it does not."""
    tokens = replaced(pieces)
    spelled = tokens[:1]
    for index in range(1, len(pieces)):
        token = tokens[index]
        if token.endswith("\ufffd"):
            token = ""
            for before in range(index - 1, max(0, index - 5), -1):
                together = b"".join(pieces[before : index + 1]).decode(errors="replace")
                if not together.endswith("\ufffd"):
                    clean = index
                    while clean > before and tokens[clean - 1].endswith("\ufffd"):
                        clean -= 1
                    token = together.removeprefix(b"".join(pieces[before:clean]).decode(errors="replace"))
                    break
        spelled.append(token)
    return spelled


def whole_characters(pieces: list[bytes]) -> list[str]:
    return [piece.decode(errors="ignore") for piece in pieces]


def latin_1(pieces: list[bytes]) -> list[str]:
    decoded = replaced(pieces)
    return [
        piece.decode("latin-1") if "\ufffd" in token else token
        for piece, token in zip(pieces, decoded, strict=True)
    ]


def escaped(pieces: list[bytes]) -> list[str]:
    return [
        "bytes:" + "".join(f"\\x{byte:02x}" for byte in piece) if "\ufffd" in token else token
        for piece, token in zip(pieces, replaced(pieces), strict=True)
    ]


def offsets_of(way, pieces: list[bytes], tokens: list[str]) -> list[int]:
    """Start of each token and end of the last: whole characters for llama-cpp-python, else sums of lengths."""
    if way is whole_characters:
        ends = accumulate(pieces, initial=b"")
        return [len(before.decode(errors="ignore")) for before in ends]
    return list(accumulate(map(len, tokens), initial=0))


CHARACTERS = st.sampled_from("ab ., éñ日本語😀\u0301अ")


@pytest.mark.parametrize(
    "way",
    [replaced, without_parts, with_last_part, whole_characters, latin_1, escaped],
    ids=lambda way: way.__name__,
)
@given(st.text(CHARACTERS, min_size=1, max_size=10), st.lists(st.integers(1, 6), max_size=30), st.booleans())
@example("日本", [3, 3], True)
def test_any_parts_get_the_right_character_or_are_refused(way, text, sizes, has_offsets):
    data = text.encode()
    cuts = [*dict.fromkeys(min(len(data), end) for end in accumulate(sizes, initial=0)), len(data)]
    pieces = [data[start:end] for start, end in pairwise(dict.fromkeys(cuts))]
    number = [index for index, character in enumerate(text) for _ in character.encode()]
    truth = [number[start] for start, _ in pairwise(dict.fromkeys(cuts))]
    tokens = way(pieces)
    offsets = offsets_of(way, pieces, tokens) if has_offsets else None
    try:
        spans = align_server_tokens(text, tokens, offsets)
    except AmbiguousTokens:
        return
    for (start, _), expected in zip(spans, truth, strict=True):
        assert next_letter(text, start) == next_letter(text, expected)


def next_letter(text: str, start: int) -> int:
    return len(text) - len(text[start:].lstrip(" "))


@pytest.mark.parametrize("way", [replaced, with_last_part, latin_1, escaped], ids=lambda way: way.__name__)
@given(st.text(CHARACTERS, min_size=1, max_size=10))
def test_parts_of_single_characters_are_never_refused(way, text):
    """As in the byte fallback of sentencepiece: every byte beyond ASCII is a token."""
    pieces = [bytes([byte]) for byte in text.encode()]
    spans = align_server_tokens(text, way(pieces))
    number = [index for index, character in enumerate(text) for _ in character.encode()]
    assert [next_letter(text, start) for start, _ in spans] == [next_letter(text, index) for index in number]
