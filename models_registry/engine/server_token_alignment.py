"""Find the characters that each token covers, from tokens as a completion server spells them.

Servers give the text of each token, sometimes with offsets, sometimes with parts of characters that are no text at all
(`bytes:\\xe6\\x97`, or the sign U+FFFD). Offsets are believed only where they agree with the text; then the tokens
are put together byte by byte; then `engine.token_alignment` searches. Parts of one character all get the span of that
character.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import accumulate

from models_registry.engine.token_alignment import TokenAlignmentError, align_tokens
from models_registry.engine.token_rules import TokenRules

_BYTES = re.compile(r"bytes:((?:\\x[0-9a-fA-F]{2})+)")
_BROKEN = "\ufffd"
_RULES = TokenRules(
    prefix=frozenset(), suffix=frozenset(), unknown=frozenset({_BROKEN}), special=frozenset(), moses=False
)

Span = tuple[int, int]


def align_server_tokens(text: str, tokens: Sequence[str], offsets: Sequence[int] | None = None) -> list[Span]:
    """Character range of each token in `text`; TokenAlignmentError says which token does not fit where.

    offsets: where the server says that each token begins, in characters of `text`."""
    if offsets is not None and (spans := _by_offsets(text, tokens, offsets)) is not None:
        return spans
    if (spans := _by_bytes(text, tokens)) is not None:
        return spans
    return _by_search(text, tokens)


def token_bytes(token: str) -> bytes:
    """The bytes a token stands for."""
    found = _BYTES.fullmatch(token)
    return bytes.fromhex(found[1].replace("\\x", "")) if found else token.encode("utf-8", "surrogatepass")


def _by_offsets(text: str, tokens: Sequence[str], offsets: Sequence[int]) -> list[Span] | None:
    """None unless every token stands in the text exactly where it is said to, one after the other, to the end."""
    place = 0
    spans: list[Span] = []
    for token, start in zip(tokens, offsets, strict=True):
        end = start + len(token)
        if start < place or text[place:start].strip() or text[start:end] != token:
            return None
        spans.append((start, end))
        place = end
    return None if text[place:].strip() else spans


def _by_bytes(text: str, tokens: Sequence[str]) -> list[Span] | None:
    """None unless the tokens together are the text; one blank more before it is forgiven (sentencepiece)."""
    pieces = [token_bytes(token) for token in tokens]
    whole, data = b"".join(pieces), text.encode("utf-8", "surrogatepass")
    if whole == data:
        shift = 0
    elif whole == b" " + data:
        shift = 1
    else:
        return None
    character = [place for place, sign in enumerate(text) for _ in sign.encode("utf-8", "surrogatepass")]
    ends = [max(0, end - shift) for end in accumulate(len(piece) for piece in pieces)]
    spans: list[Span] = []
    for start, end in zip([0, *ends], ends, strict=False):
        first = character[start] if start < len(character) else len(text)
        spans.append((first, character[end - 1] + 1) if end > start else (first, first))
    return spans


def _by_search(text: str, tokens: Sequence[str]) -> list[Span]:
    """A search; neighbouring parts of characters are one token for it, of unknown spelling."""
    groups: list[list[int]] = []
    for place, token in enumerate(tokens):
        broken = _is_broken(token)
        if broken and groups and _is_broken(tokens[groups[-1][-1]]):
            groups[-1].append(place)
        else:
            groups.append([place])
    spelled = [_BROKEN if _is_broken(tokens[group[0]]) else tokens[group[0]] for group in groups]
    found = align_tokens(text, spelled, _RULES, [False] * len(spelled))
    return [(span.start, span.end) for span, group in zip(found, groups, strict=True) for _ in group]


def _is_broken(token: str) -> bool:
    return _BROKEN in token or _BYTES.fullmatch(token) is not None


__all__ = ["TokenAlignmentError", "align_server_tokens", "token_bytes"]
