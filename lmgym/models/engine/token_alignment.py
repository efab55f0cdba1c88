"""Find the characters that each token covers if the tokenizer gives no offsets.

`align_tokens` searches for an alignment: a token matches the next characters (as spelled, without the tokenizer's
markers, as bytes, or in Moses and Penn Treebank spelling), is a special token, or is an unknown word, which covers
any text that lets the other tokens match. Unlike greedy matching, this neither skips text nor lets an unknown word
cover part of the next region. A sentence without an alignment fails with a reason; others are not affected.
"""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from lmgym.models.engine.token_rules import TokenRules
from lmgym.text import BLANKS

MAX_STEPS = 50_000
"""Maximum number of search steps for one sentence. Without unknown words, about one step per token is
used."""

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
    """Search steps left for a whole file, so that no file blocks the site."""

    left: int = MAX_STEPS_OF_FILE


class TokenAlignmentError(ValueError):
    """The tokens do not spell the sentence."""


@dataclass(frozen=True)
class TokenSpan:
    """Characters `start` to `end` that a token covers; `special` tokens cover none."""

    start: int
    end: int
    special: bool = False
    unknown: bool = False


@dataclass(frozen=True)
class _Move:
    """One way to match a token: bytes `start` to `end`; the next token is matched from byte `resume`."""

    resume: int
    start: int
    end: int
    special: bool = False
    unknown: bool = False


@lru_cache(maxsize=1)
def _byte_of() -> dict[str, int]:
    """Return the alphabet of byte-level vocabularies (GPT-2): printable character to byte."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    table = {chr(byte): byte for byte in plain}
    others = [byte for byte in range(256) if byte not in set(plain)]
    return table | {chr(256 + k): byte for k, byte in enumerate(others)}


@lru_cache(maxsize=50_000)
def _surfaces(token: str, rules: TokenRules) -> tuple[bytes, ...]:
    """List the surface forms of a token, most likely first.

    An empty form means that the token has only markers and spaces.
    """
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
    """A sentence as bytes with the character index of each byte, lower-cased for uncased models."""

    def __init__(self, text: str, rules: TokenRules) -> None:
        data = bytearray()
        self.character: list[int] = []
        self.first: list[bool] = []  # a character begins at this byte
        blank: list[bool] = []
        # Includes no-break spaces, which some tokenizers read and others drop.
        space: list[bool] = []
        dropped: list[bool] = []
        for position, character in enumerate(text):
            piece = (character if rules.cased else character.lower()).encode("utf-8", "surrogatepass")
            data += piece
            self.character += [position] * len(piece)
            self.first += [True] + [False] * (len(piece) - 1)
            blank += [character in BLANKS] * len(piece)
            space += [character.isspace()] * len(piece)
            dropped += [rules.dropped is not None and rules.dropped(character)] * len(piece)
        self.data = bytes(data)
        self.size = len(data)
        self.length = len(text)
        self.first.append(True)
        n = self.size
        self._solid = list(range(n + 1))  # next byte that is not blank
        self._kept = list(range(n + 1))  # next byte that is neither space nor dropped
        self._word_end = [n] * (n + 1)
        for position in range(n - 1, -1, -1):
            if blank[position]:
                self._solid[position] = self._solid[position + 1]
            self._word_end[position] = position if space[position] else self._word_end[position + 1]
            if space[position] or dropped[position]:
                self._kept[position] = self._kept[position + 1]

    def after_blanks(self, position: int) -> int:
        return self._solid[position]

    def after_dropped(self, position: int) -> int:
        """Return the byte after spaces of any kind and characters that the tokenizer drops."""
        return self._kept[position]

    def end_of_word(self, position: int) -> int:
        return self._word_end[position]

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
    """Find the span of each token.

    Args:
        special: whether token k is special; None = unknown.
        budget: search steps shared with other sentences.

    Raises:
        TokenAlignmentError: no alignment, or too many steps.
    """
    budget = budget or SearchBudget()
    special_flags = list(special) or [None] * len(tokens)
    sentence = _Text(text, rules)
    forms = [_surfaces(token, rules) for token in tokens]
    failed: set[tuple[int, int]] = set()
    deepest, furthest = 0, 0

    def moves(k: int, position: int, leading: bool) -> Iterator[_Move]:
        token = tokens[k]
        if special_flags[k]:
            yield _Move(position, position, position, special=True)
            return
        here = sentence.after_blanks(position)
        if leading and token in rules.prefix and special_flags[k] is None:
            yield _Move(position, position, position, special=True)
        positions = [here]
        if (next_kept := sentence.after_dropped(here)) > here:
            positions.append(next_kept)
        for start in positions:
            for form in forms[k]:
                if form and sentence.data.startswith(form, start):
                    yield _Move(start + len(form), start, start + len(form))
            if token in rules.unknown:
                for end in range(sentence.end_of_word(start), start, -1):
                    if sentence.first[end]:
                        yield _Move(end, start, end, unknown=True)
        if special_flags[k] is None:
            at_end = sentence.after_dropped(here) == sentence.size
            if (token in rules.suffix and at_end) or token in rules.special:
                yield _Move(position, position, position, special=True)
        if b"" in forms[k]:
            yield _Move(here, here, here)

    steps = 0
    path: list[_Move] = []
    stack = [iter([_Move(0, 0, 0, special=True)])]  # a root, so that every level is a token
    while stack:
        steps += 1
        budget.left -= 1
        if steps > MAX_STEPS or budget.left < 0:
            raise TokenAlignmentError("too many ways to match the unknown words")
        move = next(stack[-1], None)
        if move is None:
            stack.pop()
            if path:
                failed.add((len(path) - 1, path[-1].resume))
                path.pop()
            continue
        k, position = len(path), move.resume
        if k > deepest or (k == deepest and position > furthest):
            deepest, furthest = k, position
        if k == len(tokens):
            if sentence.after_dropped(position) == sentence.size:
                return [_span(done, sentence) for done in [*path[1:], move]] if tokens else []
            continue
        if (k, position) in failed:
            continue
        path.append(move)
        stack.append(moves(k, position, position == 0))
    raise TokenAlignmentError(
        _reason(text, tokens, deepest, sentence.span(sentence.after_blanks(furthest), furthest)[0])
    )


def _span(move: _Move, sentence: _Text) -> TokenSpan:
    if move.special:
        return TokenSpan(0, 0, special=True)
    return TokenSpan(*sentence.span(move.start, move.end), unknown=move.unknown)


def _reason(text: str, tokens: Sequence[str], k: int, position: int) -> str:
    remainder = text[position:].strip()
    if k >= len(tokens):
        return f"the tokens end before “{remainder[:40]}”"
    where = f"“{remainder[:40]}”" if remainder else "the end of the sentence"
    return f"token {k + 1}, “{tokens[k][:40]}”, does not match at {where}"
