"""Check that a log belongs to a corpus, and locate its first and last line in the corpus.

Lines are compared by their letters, digits, punctuation and symbols, so that the same text split into other tokens (by
a tokenizer with another list of emoji) still matches. Users and times are not compared: a log may omit or change them.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any, Protocol, TypeAlias
from unicodedata import category

from lmgym.lmchallenge.corpus import Line
from lmgym.lmchallenge.errors import LogError
from lmgym.lmchallenge.tokens import tokens

Part: TypeAlias = str | int
"""A text, or the length of a hidden text."""
SHOWN = 40
NOWHERE = "\0"
_WORDS = {
    "tokens": "All tokens match the corpus",
    "texts": "The text matches the corpus",
    "token lengths": "The log has no words; the lengths of all tokens match the corpus",
    "line lengths": "The log has no words; the lengths of all lines match the corpus",
}


@dataclass(frozen=True)
class Match:
    """A log that matches a corpus.

    compared     "tokens", or "texts" (tc and ce: whole lines); if words are hidden
                 "token lengths" or "line lengths"
    lines        number of lines in the log
    of           number of lines in the corpus
    first, last  corpus line numbers of the log's first and last line
    recut        number of lines with the same characters but other token boundaries
    """

    compared: str
    lines: int
    of: int
    first: int
    last: int
    recut: int = 0

    def as_dict(self) -> dict[str, Any]:
        """Return plain JSON types."""
        return asdict(self)

    @property
    def words(self) -> str:
        """Description of the match in one or two sentences."""
        if self.lines == self.of:
            which = f"{self.lines:,} of {self.of:,} line{'s' if self.of != 1 else ''}"
        elif self.lines == 1:
            which = f"line {self.first:,} of {self.of:,}"
        elif self.last - self.first + 1 == self.lines:
            which = f"lines {self.first:,} to {self.last:,} of {self.of:,}"
        else:
            which = f"{self.lines:,} of {self.of:,} lines, in the order of the corpus"
        recut = f" Lines split into different tokens here: {self.recut:,}." if self.recut else ""
        return f"{_WORDS[self.compared]}: {which}.{recut}"


class LoggedText(Protocol):
    """A line of a log: its game, and its text as a list of parts."""

    @property
    def game(self) -> str: ...

    @property
    def text(self) -> Sequence[Part]: ...


class LogText:
    """Compact text of a log: a few bytes per line. In version 5, a message counts as a line."""

    def __init__(self) -> None:
        self.game = ""
        self.hidden = False
        self.numbers = array("q")
        self._texts, self._sizes, self._cuts = array("q"), array("q"), array("q")

    def add(self, number: int, line: LoggedText) -> None:
        """Add the next line, with its number in the file."""
        self.game = line.game
        parts = line.text
        self.numbers.append(number)
        self._sizes.append(_sizes(parts))
        texts = [part for part in parts if isinstance(part, str)]
        self.hidden = self.hidden or len(texts) < len(parts)
        self._cuts.append(hash(tuple(texts)))
        self._texts.append(self._key("".join(texts)))

    def match(
        self, lines: Callable[[], Iterable[Line]], logged: Callable[[int], LoggedText], source: str
    ) -> Match:
        """Match the log against the corpus.

        If words are visible, the log's lines must be a subsequence of the corpus's lines. If words are
        hidden, the lines must be consecutive, since lengths can match by chance.

        Args:
            lines: opens the corpus; called again for each pass.
            logged: returns line n of the log, from 0.

        Raises:
            LogError: at the first line that does not match.
        """
        # One character per line; lines that look the same in the log share a character.
        names: dict[int, str] = {}
        keys = (_sizes(self._parts(line)) if self.hidden else self._key(line.text) for line in lines())
        corpus = "".join([names.setdefault(key, chr(len(names) + 1)) for key in keys])
        theirs = "".join([names.get(key, NOWHERE) for key in (self._sizes if self.hidden else self._texts)])
        start = corpus.find(theirs)
        places: Sequence[int] = range(start, start + len(theirs))
        if start < 0 and not self.hidden:
            places = _in_order(theirs, corpus)
        elif start < 0:
            # The longest prefix of the log that occurs in the corpus.
            most = bisect_left(range(len(theirs)), True, key=lambda n: theirs[: n + 1] not in corpus)
            start = corpus.find(theirs[:most])
            places = range(start, start + most)
        if len(places) < len(theirs):
            at, expected = len(places), places[-1] + 1 if places else 0
            line = next(islice(lines(), expected, None), None)
            raise self._differs(source, self.numbers[at], logged(at), line, len(corpus))
        if self.game in ("tc", "ce"):
            compared = "line lengths" if self.hidden else "texts"
        else:
            compared = "token lengths" if self.hidden else "tokens"
        recut = self._recut(places, lines()) if compared == "tokens" else 0
        return Match(compared, len(theirs), len(corpus), places[0] + 1, places[-1] + 1, recut)

    def _key(self, text: str) -> int:
        return hash(text if self.game == "tc" else text.translate(_SOLID))

    def _parts(self, line: Line) -> list[str]:
        if self.game == "ce":
            return list(line.text)
        return [line.text] if self.game == "tc" else [token for _, token in tokens(line.text)]

    def _recut(self, places: Sequence[int], lines: Iterable[Line]) -> int:
        cuts = dict(zip(places, self._cuts, strict=True))
        return sum(hash(tuple(self._parts(line))) != cuts[at] for at, line in enumerate(lines) if at in cuts)

    def _differs(self, source: str, number: int, logged: LoggedText, line: Line | None, of: int) -> LogError:
        where = f"{source}, line {number}: the logged text does not match the corpus."
        hint = "Choose the corpus that was played, or none."
        if not self.hidden:
            hint += " A log may omit lines but must keep their order."
        if line is None:
            return LogError(f"{where} The corpus ends at line {of:,}.", hint)
        logged_parts, corpus_parts = logged.text, self._parts(line)
        corpus_line = f"line {line.number} of the corpus"
        if self.game == "tc":
            logged_part, text = logged_parts[0], line.text
            if self.hidden or isinstance(logged_part, int):
                return LogError(
                    f"{where} Characters in the log: {_size(logged_part):,}; in {corpus_line}: {len(text):,}.",
                    hint,
                )
            at = next(_apart(logged_part, text), min(len(logged_part), len(text)))
            return LogError(
                f"{where} From character {at + 1} on, it has {_shown(logged_part[at:])}; "
                f"{corpus_line} has {_shown(text[at:])}.",
                hint,
            )
        pair: tuple[Iterable[Part], Iterable[Part]] = (logged_parts, corpus_parts)
        if self.hidden:
            pair = (map(_size, logged_parts), map(_size, corpus_parts))
        at = next(_apart(*pair), min(len(logged_parts), len(corpus_parts)))
        in_log, in_corpus = (
            _described(parts[at : at + 1], self.hidden) for parts in (logged_parts, corpus_parts)
        )
        return LogError(f"{where} Token {at + 1} is {in_log}; in {corpus_line} it is {in_corpus}.", hint)


def _apart(first: Iterable[Part], second: Iterable[Part]) -> Iterator[int]:
    return (at for at, (part, other) in enumerate(zip(first, second, strict=False)) if part != other)


def _described(parts: Sequence[Part], hidden: bool) -> str:
    """Describe a token for a message: its text, its length, or its absence."""
    if not parts:
        return "missing"
    part = parts[0]
    if hidden or isinstance(part, int):
        return f"{_size(part):,} character{'s' if _size(part) != 1 else ''} long"
    return _shown(part)


def _shown(text: str) -> str:
    """Quote a text, escaping characters that a page cannot show."""
    return repr(text[:SHOWN]) + ("…" if len(text) > SHOWN else "") if text else "nothing"


def _in_order(part: str, whole: str) -> list[int]:
    """Return the positions in `whole` of the characters of `part`, in order. The list ends at the first character that
    is not found.
    """
    places: list[int] = []
    at = -1
    for char in part:
        at = whole.find(char, at + 1)
        if at < 0:
            break
        places.append(at)
    return places


class _Solid(dict[int, "int | None"]):
    """Table for str.translate that keeps only characters that can be part of a token.

    Whitespace, combining marks, joiners and code points unknown to this Python are dropped from both texts.
    """

    def __missing__(self, code: int) -> int | None:
        kept = self[code] = code if category(chr(code))[0] in "LNPS" else None
        return kept


_SOLID = _Solid()


def _size(part: Part) -> int:
    return part if isinstance(part, int) else len(part)


def _sizes(parts: Iterable[Part]) -> int:
    return hash(tuple(map(_size, parts)))
