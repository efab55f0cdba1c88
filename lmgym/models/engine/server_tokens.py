r"""Find the characters of a completion server's tokens, which may be parts of characters.

A byte-level vocabulary may split "日" into two tokens. Servers return such parts in different ways:

    U+FFFD for bytes that do not form a character        transformers' decode; early versions of vLLM
    nothing, even for the last part of a character       later versions of vLLM, before 0.30
    nothing; the last part has the text of all parts     vLLM 0.30
    only the whole characters in the token               llama-cpp-python 0.3
    bytes as Latin-1                                     SGLang 0.5
    bytes:\xe6\x97                                       OpenAI

Tokens are matched with the bytes of the text in each of these ways. A token covers every character of which it has a
byte, as with the offsets of a local tokenizer, so the parts of a character share its span. Tokens are refused if they
fit the text in ways that differ in the first character of a token, which decides its region.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import accumulate, pairwise

from lmgym.models.engine.token_alignment import TokenAlignmentError, align_tokens
from lmgym.models.engine.token_rules import TokenRules
from lmgym.text import BLANKS

MOST_UNSPELLED = 16
"""Maximum number of a token's bytes that are missing from its spelling. Tokens with parts of characters lack about ten
at most."""

MAX_STEPS = 100_000
"""Maximum number of pairs of a token and a position in the text. A sentence without parts has one pair per token."""

BROKEN = "\ufffd"
"""Character that decoders substitute for bytes that are not a character."""
_ESCAPED = re.compile(r"bytes:((?:\\x[0-9a-fA-F]{2})+)")
_RULES = TokenRules(
    prefix=frozenset(), suffix=frozenset(), unknown=frozenset(), special=frozenset(), moses=False
)

Span = tuple[int, int]
State = tuple[int, int]
"""Byte after a token, and first byte of the token with the beginning of the character that continues there."""


class AmbiguousTokens(TokenAlignmentError):
    """The tokens fit the text in several ways."""


def align_server_tokens(text: str, tokens: Sequence[str], offsets: Sequence[int] | None = None) -> list[Span]:
    """Find the character range of each token in `text`.

    Args:
        offsets: start of each token in characters as reported by the server, optionally followed by the end of the last
            token. They decide between ways to match parts of characters.

    Raises:
        TokenAlignmentError: the tokens do not spell the text, or contradict `offsets`.
        AmbiguousTokens: the tokens fit the text in several ways.
    """
    data = _Bytes(text)
    if (spans := _spelled(data, tokens)) is not None:
        return spans
    if fits := [fit for way in _WAYS if (fit := _fit(data, tokens, way, offsets)) is not None]:
        return _same_characters(text, tokens, fits)
    if "" in tokens:
        raise TokenAlignmentError(f"token {tokens.index('') + 1} is empty and not part of a character")
    return [(span.start, span.end) for span in align_tokens(text, tokens, _RULES, [False] * len(tokens))]


class _Bytes:
    """The bytes of a text after a blank, which some tokenizers add.

    Attributes:
        number: index of the character of each byte; -1 = the added blank.
        edges: edges[k] is True if a character begins at byte k or the text ends there.
    """

    def __init__(self, text: str) -> None:
        encoded = [character.encode("utf-8", "surrogatepass") for character in text]
        self.bytes = b" " + b"".join(encoded)
        self.size = len(self.bytes)
        self.number = [-1, *(index for index, piece in enumerate(encoded) for _ in piece), len(text)]
        self.edges = [True, *(before != after for before, after in pairwise(self.number))]

    def span(self, start: int, end: int) -> Span:
        """Return the characters that have a byte in the range, which is not empty."""
        return max(self.number[start], 0), self.number[end - 1] + 1

    def complete(self, position: int) -> int:
        """Return the number of characters that end at or before a byte."""
        return max(self.number[position], 0)

    def beginning(self, position: int) -> int:
        """Return the first byte of the character at a byte."""
        while not self.edges[position]:
            position -= 1
        return position

    def after_blanks(self, position: int) -> int:
        while position < self.size and chr(self.bytes[position]) in BLANKS:
            position += 1
        return position


def _spelled(data: _Bytes, tokens: Sequence[str]) -> list[Span] | None:
    """Concatenate tokens as bytes; return None unless all are spelled and give the text."""
    if any(not token or BROKEN in token for token in tokens):
        return None
    pieces = [_bytes_of(token) for token in tokens]
    whole = b"".join(pieces)
    if whole not in (data.bytes, data.bytes[1:]):
        return None
    ends = accumulate((len(piece) for piece in pieces), initial=data.size - len(whole))
    return [data.span(start, end) for start, end in pairwise(ends)]


def _bytes_of(token: str) -> bytes:
    match = _ESCAPED.fullmatch(token)
    return bytes.fromhex(match[1].replace("\\x", "")) if match else token.encode("utf-8", "surrogatepass")


# ---- ways to spell a token ----

Way = Callable[[_Bytes, int, int, int], Collection[str]]
"""Function (text, first byte of a token, byte after it, first byte of the token with the beginning of the character
that continues at its first byte) -> possible spellings."""


def _replaced(piece: bytes) -> str:
    return piece.decode("utf-8", "replace")


def _with_replacements(data: _Bytes, start: int, end: int, lead: int) -> Collection[str]:
    return (_replaced(data.bytes[start:end]),)


def _whole_characters(data: _Bytes, start: int, end: int, lead: int) -> Collection[str]:
    return (data.bytes[start:end].decode("utf-8", "ignore"),)


def _latin_1(data: _Bytes, start: int, end: int, lead: int) -> Collection[str]:
    piece = data.bytes[start:end]
    alone = _replaced(piece)
    return (piece.decode("latin-1") if BROKEN in alone else alone,)


def _without_parts(data: _Bytes, start: int, end: int, lead: int) -> Collection[str]:
    alone = _replaced(data.bytes[start:end])
    return ("" if alone.endswith(BROKEN) else alone,)


def _all_with_last_part(data: _Bytes, start: int, end: int, lead: int) -> Collection[str]:
    alone = _replaced(data.bytes[start:end])
    if not alone.endswith(BROKEN):
        return (alone,)
    if start <= 1:  # vLLM leaves the first token of a prompt as decoded
        return "", alone
    together = _replaced(data.bytes[lead:end])
    if not data.edges[end] or together.endswith(BROKEN):
        return ("",)
    return ("", together) if lead <= 1 else (together,)  # and does not join it with later parts


_WAYS: tuple[Way, ...] = (
    _whole_characters,
    _all_with_last_part,
    _with_replacements,
    _without_parts,
    _latin_1,
)


# ---- matching ----


def _fit(
    data: _Bytes, tokens: Sequence[str], way: Way, offsets: Sequence[int] | None
) -> list[set[Span]] | None:
    """Match the tokens with the bytes of the text. Return all possible spans of each token, or None."""
    counted = offsets if way is _whole_characters else None
    if offsets is not None and counted is None and not _are_sums(offsets, tokens):
        return None
    states: Collection[State] = [(0, 0)]
    layers: list[dict[State, list[tuple[State, Span]]]] = []
    steps = 0
    for index, token in enumerate(tokens):
        layer: dict[State, list[tuple[State, Span]]] = {}
        for state in states:
            for start, end in _pieces(data, token, state, way):
                if counted is None or data.complete(start) == counted[index]:
                    beginning = data.beginning(end)
                    after = (end, end if beginning == end else start if beginning >= start else state[1])
                    layer.setdefault(after, []).append((state, (start, end)))
        steps += len(states)
        if steps > MAX_STEPS:
            raise TokenAlignmentError("too many ways to match the parts of characters")
        layers.append(layer)
        states = layer
    last = None if counted is None or len(counted) == len(tokens) else counted[-1]
    ends = [state for state in states if data.after_blanks(state[0]) == data.size]
    alive = {state for state in ends if last is None or data.complete(state[0]) == last}
    spans: list[set[Span]] = []
    for layer in reversed(layers):
        moves = [move for state in alive for move in layer[state]]
        spans.append({data.span(*piece) for _, piece in moves})
        alive = {before for before, _ in moves}
    return spans[::-1] if alive else None


def _are_sums(offsets: Sequence[int], tokens: Sequence[str]) -> bool:
    """Return whether the offsets only add up the lengths of the tokens, as those of vLLM do."""
    steps = zip(pairwise(offsets), tokens, strict=False)  # the end of the last token may be missing
    return all(end - start == len(token) for (start, end), token in steps)


def _pieces(data: _Bytes, token: str, state: State, way: Way) -> Iterator[Span]:
    """Yield the byte ranges after a state that a server may spell like the token. The spelling may lack blanks."""
    position, lead = state
    length = len(token.encode("utf-8", "surrogatepass")) + MOST_UNSPELLED
    for start in sorted({position, max(position, 1), data.after_blanks(position)}):
        for end in range(start + 1, min(start + length, data.size) + 1):
            if token in way(data, start, end, start if data.edges[start] else lead):
                yield start, end


def _same_characters(text: str, tokens: Sequence[str], fits: Sequence[list[set[Span]]]) -> list[Span]:
    """Return the shortest span of each token. Raises AmbiguousTokens if its first character is not certain."""
    spans: list[Span] = []
    for index, options in enumerate(zip(*fits, strict=True)):
        first, *others = sorted(set().union(*options))
        for other in others:
            if _first_character(text, other) != _first_character(text, first):
                raise AmbiguousTokens(
                    f"token {index + 1}, “{tokens[index]}”, may begin in “{text[slice(*first)]}” or in "
                    f"“{text[slice(*other)]}”: the server does not spell all parts of these characters"
                )
        spans.append(first)
    return spans


def _first_character(text: str, span: Span) -> int:
    """Return the first character of a token that is not blank, which decides its region."""
    return len(text) - len(text[span[0] :].lstrip(BLANKS))
