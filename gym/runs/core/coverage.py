"""Words that a model does not know, read off the tokens of its sentences. Pure.

A word is unknown when

* one of its tokens is the tokenizer's unknown token ("<unk>", "[UNK]", a class such as "UNK-LC-s"): it is outside the
  vocabulary, or, with n-gram models, was seen too rarely in training to be in it;
* it has two tokens or more and every one of them covers a single byte: no merge of the tokenizer applied.

A word is a run of letters, digits and marks with at least one letter; apostrophes inside belong to it, hyphens divide.
An ideograph is a word of its own. Words are counted once per spelling, capitals told apart: the same words recur in all
conditions of an item, and "the" on every line would hide that the nouns are unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from gym.lib.text import BLANKS, SIGNS

LOW_COVERAGE = 0.9
"""Below this share of known words no result is called above chance. At 0.9 a sentence of seven words holds an unknown
one about every second time (1 − 0.9⁷ = 0.52): from there on most comparisons are about words of which the model knows
their spelling at best, so a rate above the chance level says nothing about the construction."""

BYTE_VOCABULARY = 512
"""A vocabulary up to this size is of bytes or characters (256 bytes and some special tokens; ByT5 has 384). To such a
model no word is strange for being spelled."""

MOST_KEPT = 200
"""Unknown words that are stored with a run by name; their number is always whole."""

COVERAGE = ("n_words", "n_unknown_words", "coverage")
"""Attributes of a run and of a leaderboard's cell, and names in every output; empty where words were not counted."""

_IDEOGRAPHS = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_LETTERS = rf"[^\s{SIGNS}{_IDEOGRAPHS}]"
_WORD = re.compile(rf"[{_IDEOGRAPHS}]|{_LETTERS}+(?:['’]{_LETTERS}+)*")
_UNKNOWN = frozenset({"<unk>", "<UNK>", "[UNK]", "<unk/>"})
_CLASS = re.compile(r"UNK(?:-[\w-]+)?")
_BYTE = re.compile(r"<0x[0-9A-Fa-f]{2}>")
_LEADING = ("Ġ", "▁", "##")

Token = Sequence[Any]
"""[spelling, id, start, end, …], as a run stores it."""


@dataclass(frozen=True)
class Coverage:
    """`n_words` different words, of which the model does not know `unknown`, in order of appearance."""

    n_words: int
    unknown: tuple[str, ...]

    @property
    def n_unknown(self) -> int:
        return len(self.unknown)

    @property
    def words(self) -> str:
        return coverage_words(self.n_words, self.n_unknown)

    def as_json(self) -> dict[str, Any]:
        return coverage_json(self.n_words, self.n_unknown, self.unknown)


def coverage_share(n_words: int | None, n_unknown: int | None) -> float | None:
    """Known words among all, 0 to 1; None where they were not counted or there are none."""
    return 1 - n_unknown / n_words if n_words and n_unknown is not None else None


def is_low(share: float | None) -> bool:
    """Too low for a claim about chance. What was not counted is not low."""
    return share is not None and share < LOW_COVERAGE


def coverage_words(n_words: int | None, n_unknown: int | None) -> str:
    """ "coverage 62%: 9 words this model does not know"; empty where words were not counted or all are known."""
    share = coverage_share(n_words, n_unknown)
    if share is None or not n_unknown:
        return ""
    shown = min(99, round(100 * share))  # 100% with unknown words would contradict itself
    return (
        f"coverage {shown}%: {n_unknown:,} {'word' if n_unknown == 1 else 'words'} this model does not know"
    )


def coverage_json(n_words: int | None, n_unknown: int | None, unknown: Sequence[str]) -> dict[str, Any]:
    return {
        "n_words": n_words,
        "n_unknown_words": n_unknown,
        "coverage": coverage_share(n_words, n_unknown),
        "unknown_words": list(unknown[:MOST_KEPT]),
    }


def coverage_of(
    sentences: Iterable[tuple[str, Sequence[Token]]], *, vocabulary_size: int | None = None
) -> Coverage | None:
    """Over (text, tokens) of each sentence; None where none has tokens. A word that is unknown at one place, as at the
    beginning of a sentence, is unknown.

    vocabulary_size  None = the model does not tell: single bytes then count unless no token is longer than that"""
    known = _known_words(sentences, vocabulary_size)
    if known is None:
        return None
    return Coverage(len(known), tuple(word for word, is_known in known.items() if not is_known))


def words_of(
    text: str, tokens: Sequence[Token], vocabulary_size: int | None
) -> tuple[list[str], list[str]] | None:
    """Known and unknown words of one sentence, as `coverage_of` counts them."""
    known = _known_words([(text, tokens)], vocabulary_size)
    if known is None:
        return None
    return [word for word in known if known[word]], [word for word in known if not known[word]]


def _known_words(
    sentences: Iterable[tuple[str, Sequence[Token]]], vocabulary_size: int | None
) -> dict[str, bool] | None:
    rows = [(text, tokens) for text, tokens in sentences if tokens]
    if not rows:
        return None
    if vocabulary_size is None:
        spelled = not any(len(_slice(text, token)) > 1 for text, tokens in rows for token in tokens)
    else:
        spelled = vocabulary_size <= BYTE_VOCABULARY
    known: dict[str, bool] = {}
    for text, tokens in rows:
        for word, is_known in _judged(text, tokens, by_bytes=not spelled):
            known[word] = known.get(word, True) and is_known
    return known


def _judged(text: str, tokens: Sequence[Token], *, by_bytes: bool) -> Iterable[tuple[str, bool]]:
    """Each word with whether it is known; both words and tokens stand in the order of the text."""
    first = 0
    for match in _WORD.finditer(text):
        begin, end = match.span()
        if not any(map(str.isalpha, match.group())):
            continue
        while first < len(tokens) and tokens[first][3] <= begin:
            first += 1
        own = []
        for token in tokens[first:]:
            if token[2] >= end:
                break
            own.append(token)
        if own:
            yield match.group(), not _is_unknown(text, own, by_bytes=by_bytes)


def _is_unknown(text: str, tokens: Sequence[Token], *, by_bytes: bool) -> bool:
    if any(_is_unknown_token(text, token) for token in tokens):
        return True
    if not by_bytes or len(tokens) < 2:
        return False
    places = [(token[2], token[3]) for token in tokens]
    return all(
        _is_byte(text, token, shared=places.count(place) > 1)
        for token, place in zip(tokens, places, strict=True)
    )


def _is_unknown_token(text: str, token: Token) -> bool:
    spelling = str(token[0])
    return spelling in _UNKNOWN or (
        _CLASS.fullmatch(spelling) is not None and _slice(text, token) != spelling
    )


def _is_byte(text: str, token: Token, *, shared: bool) -> bool:
    """Whether the token covers one byte. `shared`: others have the same characters, so that it is a part of one."""
    spelling = str(token[0])
    if _BYTE.fullmatch(spelling):
        return True
    covered = _slice(text, token)
    if shared and len(covered) == 1:
        for mark in _LEADING:
            spelling = spelling.removeprefix(mark)
        return len(spelling) == 1
    return len(covered.encode("utf-8", "surrogatepass")) == 1


def _slice(text: str, token: Token) -> str:
    return text[token[2] : token[3]].strip(BLANKS)
