"""Find words that a model does not know, from the tokens of its sentences. Pure.

A word is unknown if
* one of its tokens is the tokenizer's unknown token ("<unk>", "[UNK]", a class such as "UNK-LC-s"): it is outside the
  vocabulary or, in n-gram models, too rare in training;
* it has two or more tokens and each covers a single byte: no merge of the tokenizer applied;
* it has two or more tokens and the sentences as a whole are spelled in pieces (`Spelling`). A small vocabulary splits
  "horse" into h·or·se, which says nothing about horses; a large vocabulary splits rare words but knows them.

A word is a run of letters, digits and marks with at least one letter; it may contain apostrophes, and hyphens divide
words. An ideograph is one word. Words are counted once per spelling, case-sensitive: the same words recur in all
conditions of an item, and counting every "the" would hide that the nouns are unknown.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from lmgym.text import BLANKS, SIGNS, is_unspaced
from lmgym.text.columns import described

LOW_COVERAGE = 0.9
"""Below this share of known words no result is called above chance. At 0.9 about half of all sentences of seven words
have an unknown one (1 − 0.9⁷ = 0.52), so most comparisons involve a word the model can at best spell."""

BYTE_VOCABULARY = 512
"""Vocabularies up to this size consist of bytes or characters (256 bytes and special tokens; ByT5 has 384). Spelling a
word says nothing about how well such a model knows it."""

MOST_PIECES = 1.8
"""Average pieces per word above which sentences count as spelled in pieces, if the pieces are short as well
(FEWEST_LETTERS). GPT-2 has 1.00 to 1.13 on the published and the demo suites; a vocabulary of 878 pieces has 3.2 to 3.6
on the published ones."""

FEWEST_LETTERS = 3.25
"""Average letters per piece below which pieces count as short: English words of 5.9 letters in 1.8 pieces. Every model
splits the words of languages with long words (Finnish, Turkish) into more pieces, but longer ones."""

MOST_SHORT = 0.1
"""Share of words made up only of pieces of one or two letters above which sentences count as spelled in pieces. On the
suites above, GPT-2 has no such words and the small vocabulary 35% to 80%."""

SHORT_LETTERS = 2

FEWEST_WORDS = 10
"""Fewest words for which the spelling is judged."""

MOST_KEPT = 200
"""Maximum number of unknown words stored with a run; their count is always exact."""


@dataclass(frozen=True)
class WordCounts:
    """Word counts of a run."""

    n_words: int | None = described("distinct words in the run’s sentences; empty: not counted")
    n_unknown_words: int | None = described(
        "distinct words that the model does not know or splits into pieces"
    )
    coverage: float | None = described("share of the distinct words that the model knows", "0 to 1")


COVERAGE = tuple(one.name for one in fields(WordCounts))
"""Attributes of a run and of a leaderboard cell, exported under these names. Empty if words were not counted."""

_IDEOGRAPHS = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_LETTERS = rf"[^\s{SIGNS}{_IDEOGRAPHS}]"
_WORD = re.compile(rf"[{_IDEOGRAPHS}]|{_LETTERS}+(?:['’]{_LETTERS}+)*")
_SPLIT_ANYWAY = re.compile(r"[\d'’]")
_UNKNOWN = frozenset({"<unk>", "<UNK>", "[UNK]", "<unk/>"})
_CLASS = re.compile(r"UNK(?:-[\w-]+)?")
_BYTE = re.compile(r"<0x[0-9A-Fa-f]{2}>")
_LEADING = ("Ġ", "▁", "##")

Token = Sequence[Any]
"""[spelling, id, start, end, …], as stored with a run."""


@dataclass(frozen=True)
class Spelling:
    """Counts of how finely a tokenizer splits words: `n_words` distinct words in `n_pieces` tokens with `n_letters`
    letters; `n_short` of the words have pieces of one or two letters only.

    Excludes words that every tokenizer splits: with capitals (names, acronyms, sentence-initial words), digits or
    apostrophes, and in scripts without spaces, where a run of letters is many words. All counts are 0 for character
    models, which spell every word.
    """

    n_words: int = 0
    n_pieces: int = 0
    n_letters: int = 0
    n_short: int = 0

    @classmethod
    def from_json(cls, counts: Mapping[str, int] | None) -> Spelling:
        """Create the counts from the result of `as_json`; all counts are 0 for None."""
        return cls(**counts) if counts else cls()

    def as_json(self) -> dict[str, int]:
        return asdict(self)

    @property
    def pieces_per_word(self) -> float:
        return self.n_pieces / self.n_words if self.n_words else 0.0

    @property
    def letters_per_piece(self) -> float:
        return self.n_letters / self.n_pieces if self.n_pieces else 0.0

    @property
    def short_share(self) -> float:
        return self.n_short / self.n_words if self.n_words else 0.0

    @property
    def is_in_pieces(self) -> bool:
        """Whether words are spelled rather than known."""
        if self.n_words < FEWEST_WORDS:
            return False
        has_many = self.pieces_per_word > MOST_PIECES and self.letters_per_piece < FEWEST_LETTERS
        return has_many or self.short_share > MOST_SHORT

    @property
    def words(self) -> str:
        """The counts and thresholds in words; empty unless words are spelled in pieces."""
        if not self.is_in_pieces:
            return ""
        return (
            f"Spelled in pieces: {self.pieces_per_word:.1f} pieces per word; {self.short_share:.0%} of the words "
            f"consist only of pieces of one or two letters. Above {MOST_PIECES} pieces per word (of fewer than "
            f"{FEWEST_LETTERS} letters each) or {MOST_SHORT:.0%} of such words, every word in two pieces or more "
            "counts as unknown."
        )


@dataclass(frozen=True)
class Coverage:
    """Word counts of sentences: `n_words` distinct words, and the `unknown` ones in order of appearance."""

    n_words: int
    unknown: tuple[str, ...]
    spelling: Spelling = Spelling()

    @property
    def n_unknown(self) -> int:
        return len(self.unknown)

    @property
    def words(self) -> str:
        return coverage_words(self.n_words, self.n_unknown)

    def as_json(self) -> dict[str, Any]:
        return coverage_json(self.n_words, self.n_unknown, self.unknown)


def coverage_share(n_words: int | None, n_unknown: int | None) -> float | None:
    """Return the share of known words, 0 to 1; None without counted words."""
    return 1 - n_unknown / n_words if n_words and n_unknown is not None else None


def is_low(share: float | None) -> bool:
    """Return whether coverage is too low to claim a result above chance; False if words were not counted."""
    return share is not None and share < LOW_COVERAGE


def coverage_words(n_words: int | None, n_unknown: int | None) -> str:
    """Describe the coverage: "coverage 62%: 9 words this model does not know". Empty if words were not
    counted or all are known."""
    share = coverage_share(n_words, n_unknown)
    if share is None or not n_unknown:
        return ""
    shown = min(99, round(100 * share))  # do not round up to 100% if there are unknown words
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
    sentences: Iterable[tuple[str, Sequence[Token]]],
    *,
    vocabulary_size: int | None = None,
    in_pieces: bool | None = None,
) -> Coverage | None:
    """Count the words of sentences.

    A word counts as unknown if any of its occurrences is unknown, e.g. at the beginning of a sentence. Its number
    of pieces is that of its shortest tokenization.

    Args:
        sentences: (text, tokens) each.
        vocabulary_size: None = not reported; the vocabulary is then taken to consist of characters unless some token is
            longer.
        in_pieces: whether split words count as unknown. None: decide by the spelling of these sentences.

    Returns:
        None if no sentence has tokens.
    """
    rows = [(text, tokens) for text, tokens in sentences if tokens]
    if not rows:
        return None
    is_of_characters = not any(len(_slice(text, token)) > 1 for text, tokens in rows for token in tokens)
    has_bytes = is_of_characters if vocabulary_size is None else vocabulary_size <= BYTE_VOCABULARY
    words: dict[str, _Word] = {}
    for text, tokens in rows:
        for word, word_tokens in _words(text, tokens):
            entry = words.setdefault(word, _Word())
            entry.is_known = entry.is_known and not _is_unknown(text, word_tokens, by_bytes=not has_bytes)
            if not entry.tokens or len(word_tokens) < len(entry.tokens):
                entry.text, entry.tokens = text, word_tokens
    spelling = Spelling() if is_of_characters else _spelling(words)
    if in_pieces is None:
        in_pieces = spelling.is_in_pieces
    unknown = (
        word
        for word, entry in words.items()
        if not entry.is_known or (in_pieces and len(entry.tokens) > 1 and not any(map(is_unspaced, word)))
    )
    return Coverage(len(words), tuple(unknown), spelling)


def words_of(
    text: str, tokens: Sequence[Token], vocabulary_size: int | None, *, in_pieces: bool
) -> tuple[list[str], list[str]] | None:
    """Return known and unknown words of one sentence, counted as in `coverage_of`; None without tokens."""
    coverage = coverage_of([(text, tokens)], vocabulary_size=vocabulary_size, in_pieces=in_pieces)
    if coverage is None:
        return None
    unknown = set(coverage.unknown)
    words = dict.fromkeys(word for word, _ in _words(text, tokens))
    return [word for word in words if word not in unknown], list(coverage.unknown)


@dataclass(slots=True)
class _Word:
    """A word with its shortest tokenization and the sentence it comes from. `is_known` is judged only by the
    tokens."""

    is_known: bool = True
    text: str = ""
    tokens: Sequence[Token] = ()


def _spelling(words: Mapping[str, _Word]) -> Spelling:
    n_words = n_pieces = n_letters = n_short = 0
    for word, entry in words.items():
        if _SPLIT_ANYWAY.search(word) or word != word.lower() or any(map(is_unspaced, word)):
            continue
        pieces = [_letters(entry.text[token[2] : token[3]]) for token in entry.tokens]
        n_words += 1
        n_pieces += len(pieces)
        n_letters += _letters(word)
        n_short += len(pieces) > 1 and max(pieces) <= SHORT_LETTERS
    return Spelling(n_words, n_pieces, n_letters, n_short)


def _letters(text: str) -> int:
    """Count letters without their marks; a Hangul syllable counts as two or three."""
    return sum(map(str.isalpha, text if text.isascii() else unicodedata.normalize("NFD", text)))


def _words(text: str, tokens: Sequence[Token]) -> Iterable[tuple[str, Sequence[Token]]]:
    """Yield each word with its tokens, in the order of the text."""
    first = 0
    for match in _WORD.finditer(text):
        begin, end = match.span()
        if not any(map(str.isalpha, match.group())):
            continue
        while first < len(tokens) and tokens[first][3] <= begin:
            first += 1
        word_tokens = []
        for token in tokens[first:]:
            if token[2] >= end:
                break
            word_tokens.append(token)
        if word_tokens:
            yield match.group(), word_tokens


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
    """Return whether the token covers one byte. `shared`: other tokens cover parts of the same characters."""
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
