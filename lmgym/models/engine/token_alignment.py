"""Find the characters that each token of a tokenizer's output covers, when the tokenizer gives no offsets.

`align_tokens` matches the tokens with the text by a search: a token either reads the next characters (as spelled,
without the tokenizer's marks, as bytes, or in the Moses and Penn Treebank spellings), or is a start, end or other
special token, or stands for an unknown word, which then is whatever lets the rest fit. A sentence for which no way is
found fails with a reason; the others are not affected. Unlike a greedy match this neither skips text nor lets an
unknown word swallow a neighbouring region.

`align_server_tokens` is for tokens as a completion server spells them. Servers give the text of each token, sometimes
with offsets, sometimes with parts of characters that are no text at all (`bytes:\\xe6\\x97`, or the sign U+FFFD).
Offsets are believed only where they agree with the text, parts left out of the spelling (llama-cpp-python) excepted;
then the tokens are put together byte by byte; then `align_tokens` searches. Parts of one character all get the span of
that character.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate

from lmgym.models.engine.token_rules import TokenRules
from lmgym.text import BLANKS

MAX_STEPS = 50_000
"""Tries for one sentence; one without unknown words takes about one per token."""

MAX_STEPS_OF_FILE = 3_000_000
_TREEBANK = {
    "``": '"',
    "''": '"',
    "-LRB-": "(",
    "-RRB-": ")",
    "-LSB-": "[",
    "-RSB-": "]",
    "-LCB-": "{",
    "-RCB-": "}",
}


@dataclass
class SearchBudget:
    """Tries left for a whole file, so that no file keeps the site busy."""

    left: int = MAX_STEPS_OF_FILE


class TokenAlignmentError(ValueError):
    """The tokens do not spell the sentence."""


@dataclass(frozen=True)
class TokenSpan:
    """The characters `start` to `end` that a token covers; `special` tokens cover none."""

    start: int
    end: int
    special: bool = False
    unknown: bool = False


@dataclass(frozen=True)
class _Move:
    """One way to read a token: the bytes it covers, and the byte from which the next token goes on."""

    goes_on: int
    start: int
    end: int
    special: bool = False
    unknown: bool = False


@lru_cache(maxsize=1)
def _byte_of() -> dict[str, int]:
    """The alphabet of byte-level vocabularies (GPT-2): a printable character for each byte."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    table = {chr(byte): byte for byte in plain}
    others = [byte for byte in range(256) if byte not in set(plain)]
    return table | {chr(256 + k): byte for k, byte in enumerate(others)}


@lru_cache(maxsize=50_000)
def _surfaces(token: str, rules: TokenRules) -> tuple[bytes, ...]:
    """What a token may look like in the text, likeliest first. An empty one: marks and blanks only."""
    bare = token
    if rules.sentinel and token != rules.sentinel:
        bare = bare.removeprefix(rules.sentinel).removesuffix(rules.sentinel)
    elif token == rules.sentinel:
        bare = ""
    forms = [token, bare, bare.replace(rules.metaspace, " ").strip(" ")]
    if not rules.sentinel:
        forms += [token[2:] if token.startswith("##") else token, token.removesuffix("@@")]
        forms.append(token.removesuffix("</w>"))
    if rules.moses:
        forms.append(html.unescape(token))
    if token in _TREEBANK:
        forms.append(_TREEBANK[token])
    if rules.moses and len(token) == 3 and token[0] == token[2] == "@":
        forms.append(token[1])
        if token[1] == "-":
            forms += ["–", "—", "‑"]
    encoded = [(form if rules.cased else form.lower()).encode("utf-8", "surrogatepass") for form in forms]
    table = _byte_of()
    if all(character in table for character in token):
        raw = bytes(table[character] for character in token).strip(b" ")
        encoded.append(raw if rules.cased else raw.lower())
    return tuple(dict.fromkeys(encoded))


class _Text:
    """A sentence as bytes, each knowing its character, lower-cased for models that know no capitals."""

    def __init__(self, text: str, rules: TokenRules) -> None:
        data = bytearray()
        self.character: list[int] = []
        self.first: list[bool] = []  # does a character begin at this byte?
        blank: list[bool] = []
        space: list[
            bool
        ] = []  # with the spaces that do not break: some tokenizers read those, others drop them
        dropped: list[bool] = []
        for place, character in enumerate(text):
            piece = (character if rules.cased else character.lower()).encode("utf-8", "surrogatepass")
            data += piece
            self.character += [place] * len(piece)
            self.first += [True] + [False] * (len(piece) - 1)
            blank += [character in BLANKS] * len(piece)
            space += [character.isspace()] * len(piece)
            dropped += [rules.dropped is not None and rules.dropped(character)] * len(piece)
        self.data = bytes(data)
        self.size = len(data)
        self.length = len(text)
        self.first.append(True)
        n = self.size
        self._solid = list(range(n + 1))  # the next byte that is not blank
        self._kept = list(range(n + 1))  # the next byte that is neither space nor left out
        self._word_end = [n] * (n + 1)
        for place in range(n - 1, -1, -1):
            if blank[place]:
                self._solid[place] = self._solid[place + 1]
            self._word_end[place] = place if space[place] else self._word_end[place + 1]
            if space[place] or dropped[place]:
                self._kept[place] = self._kept[place + 1]

    def after_blanks(self, place: int) -> int:
        return self._solid[place]

    def after_dropped(self, place: int) -> int:
        """Behind a run of spaces of any kind and characters that the tokenizer leaves out."""
        return self._kept[place]

    def end_of_word(self, place: int) -> int:
        return self._word_end[place]

    def span(self, start: int, end: int) -> tuple[int, int]:
        first = self.character[start] if start < self.size else self.length
        return (first, self.character[end - 1] + 1) if end > start else (first, first)


def align_tokens(
    text: str,
    tokens: Sequence[str],
    rules: TokenRules,
    special: Sequence[bool | None] = (),
    budget: SearchBudget | None = None,
) -> list[TokenSpan]:
    """The span of each token; raises TokenAlignmentError. `special[k]` says whether token k is special, where that is
    known."""
    budget = budget or SearchBudget()
    known = list(special) or [None] * len(tokens)
    sentence = _Text(text, rules)
    forms = [_surfaces(token, rules) for token in tokens]
    failed: set[tuple[int, int]] = set()
    deepest, furthest = 0, 0

    def moves(k: int, place: int, leading: bool) -> Iterator[_Move]:
        token = tokens[k]
        if known[k]:
            yield _Move(place, place, place, special=True)
            return
        here = sentence.after_blanks(place)
        if leading and token in rules.prefix and known[k] is None:
            yield _Move(place, place, place, special=True)
        places = [here]
        if (behind := sentence.after_dropped(here)) > here:
            places.append(behind)
        for start in places:
            for form in forms[k]:
                if form and sentence.data.startswith(form, start):
                    yield _Move(start + len(form), start, start + len(form))
            if token in rules.unknown:
                for end in range(sentence.end_of_word(start), start, -1):
                    if sentence.first[end]:
                        yield _Move(end, start, end, unknown=True)
        if known[k] is None:
            at_end = sentence.after_dropped(here) == sentence.size
            if (token in rules.suffix and at_end) or token in rules.special:
                yield _Move(place, place, place, special=True)
        if b"" in forms[k]:
            yield _Move(here, here, here)

    steps = 0
    path: list[_Move] = []
    stack = [iter([_Move(0, 0, 0, special=True)])]  # a root, so that every level is a token
    while stack:
        steps += 1
        budget.left -= 1
        if steps > MAX_STEPS or budget.left < 0:
            raise TokenAlignmentError("there are too many ways to read the unknown words")
        move = next(stack[-1], None)
        if move is None:
            stack.pop()
            if path:
                failed.add((len(path) - 1, path[-1].goes_on))
                path.pop()
            continue
        k, place = len(path), move.goes_on
        if k > deepest or (k == deepest and place > furthest):
            deepest, furthest = k, place
        if k == len(tokens):
            if sentence.after_dropped(place) == sentence.size:
                return [_span(done, sentence) for done in [*path[1:], move]] if tokens else []
            continue
        if (k, place) in failed:
            continue
        path.append(move)
        stack.append(moves(k, place, place == 0))
    raise TokenAlignmentError(
        _reason(text, tokens, deepest, sentence.span(sentence.after_blanks(furthest), furthest)[0])
    )


def _span(move: _Move, sentence: _Text) -> TokenSpan:
    if move.special:
        return TokenSpan(0, 0, special=True)
    return TokenSpan(*sentence.span(move.start, move.end), unknown=move.unknown)


def _reason(text: str, tokens: Sequence[str], k: int, place: int) -> str:
    rest = text[place:].strip()
    if k >= len(tokens):
        return f"the tokens end before “{rest[:40]}”"
    what = f"“{rest[:40]}”" if rest else "the end of the sentence"
    return f"token {k + 1}, “{tokens[k][:40]}”, does not fit at {what}"


# ---- tokens as a completion server spells them ----

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
    if text[: offsets[0] if offsets else len(text)].strip() or min(offsets, default=0) < 0:
        return None
    spans: list[Span] = []
    for token, start, following in zip(tokens, offsets, [*offsets, len(text)][1:], strict=True):
        end = start + len(token)
        if token and text[start:end] == token and end <= following and not text[end:following].strip():
            spans.append((start, end))
        elif (part_end := _end_of_part(text, token, start, following)) is not None:
            spans.append((start, part_end))
        else:
            return None
    return spans


def _end_of_part(text: str, token: str, start: int, following: int) -> int | None:
    """Where the characters end that a token covers with its part of a character, which llama-cpp-python leaves out of
    its spelling; the character counts as read with the last of its parts. None where it is no such token."""
    stretch = text[start:following]
    if start == following and not token:
        return start + (not text[start : start + 1].isascii())
    is_part = stretch.endswith(token) and len(stretch) == len(token) + 1 and not stretch[0].isascii()
    return following if is_part else None


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
