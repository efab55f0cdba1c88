"""Whether a log is of a corpus: its lines beside those of the corpus, as far as the log says what the text was.

The words of a line are found by their letters, digits, punctuation and symbols, so that a tokenizer with other emoji
than ours, which cuts the same text elsewhere, is told from another text. Users and times are not compared: they may be
left out of a log, or changed.
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
"""A text, or the length of one that is hidden."""
SHOWN = 40
NOWHERE = "\0"
_WORDS = {
    "tokens": "All tokens are those of the corpus",
    "texts": "The text is that of the corpus",
    "token lengths": "The log has no words; the lengths of all tokens are those of the corpus",
    "line lengths": "The log has no words; the lengths of all lines are those of the corpus",
}


@dataclass(frozen=True)
class Match:
    """A log that is of a corpus.

    compared     "tokens" (wp, ic), "texts" (tc: whole lines); of a log without words "token lengths", "line lengths"
    lines        of the log
    of           of the corpus
    first, last  lines of the corpus that the log's first and last line are
    recut        lines with the same characters in other tokens
    """

    compared: str
    lines: int
    of: int
    first: int
    last: int
    recut: int = 0

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return asdict(self)

    @property
    def words(self) -> str:
        """In a sentence or two."""
        if self.lines == self.of:
            which = f"{self.lines:,} of {self.of:,} lines"
        elif self.last - self.first + 1 == self.lines:
            which = f"lines {self.first:,} to {self.last:,} of {self.of:,}"
        else:
            which = f"{self.lines:,} of {self.of:,} lines, in the order of the corpus"
        recut = f" {self.recut:,} of them cut into other tokens than here." if self.recut else ""
        return f"{_WORDS[self.compared]}: {which}.{recut}"


class Said(Protocol):
    """A line as a log tells it: its game, and its text in parts."""

    @property
    def game(self) -> str: ...

    @property
    def text(self) -> Sequence[Part]: ...


class LogText:
    """What a log says of its text, a few bytes a line. A line of a log of version 5 is a message."""

    def __init__(self) -> None:
        self.game = ""
        self.hidden = False
        self.numbers = array("q")
        self._texts, self._sizes, self._cuts = array("q"), array("q"), array("q")

    def add(self, number: int, line: Said) -> None:
        """The next line, with its number in the file."""
        self.game = line.game
        parts = line.text
        self.numbers.append(number)
        self._sizes.append(_sizes(parts))
        texts = [part for part in parts if isinstance(part, str)]
        self.hidden = self.hidden or len(texts) < len(parts)
        self._cuts.append(hash(tuple(texts)))
        self._texts.append(self._key("".join(texts)))

    def beside(
        self, lines: Callable[[], Iterable[Line]], logged: Callable[[int], Said], source: str
    ) -> Match:
        """Where the log stands in the corpus. With words, some of the corpus's lines in their order; without, lines
        that follow each other, since lengths alone fit by chance. Raises LogError at the first line that does not fit.
        `logged(n)` is the log's line n, from 0."""
        # One character a line, the same for lines that the log cannot tell apart.
        names: dict[int, str] = {}
        keys = (_sizes(self._parts(line)) if self.hidden else self._key(line.text) for line in lines())
        corpus = "".join([names.setdefault(key, chr(len(names) + 1)) for key in keys])
        theirs = "".join([names.get(key, NOWHERE) for key in (self._sizes if self.hidden else self._texts)])
        start = corpus.find(theirs)
        places: Sequence[int] = range(start, start + len(theirs))
        if start < 0 and not self.hidden:
            places = _in_order(theirs, corpus)
        elif start < 0:
            # The longest beginning of the log that is somewhere in the corpus.
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

    def _differs(self, source: str, number: int, logged: Said, line: Line | None, of: int) -> LogError:
        where = f"{source}, line {number}: this is not the text of the corpus."
        hint = "Choose the corpus that was played, or none."
        if not self.hidden:
            hint += " A log may leave lines out, but keeps their order."
        if line is None:
            return LogError(f"{where} No line is left there: it has {of:,}.", hint)
        said, have = logged.text, self._parts(line)
        there = f"line {line.number} of the corpus"
        if self.game == "tc":
            found, text = said[0], line.text
            if self.hidden or isinstance(found, int):
                return LogError(f"{where} It has {_size(found):,} characters, {there} {len(text):,}.", hint)
            at = next(_apart(found, text), min(len(found), len(text)))
            return LogError(
                f"{where} From character {at + 1} on it has {_shown(found[at:])}, {there} {_shown(text[at:])}.",
                hint,
            )
        pair = (map(_size, said), map(_size, have)) if self.hidden else (said, have)
        at = next(_apart(*pair), min(len(said), len(have)))
        theirs, ours = (_told(parts[at : at + 1], self.hidden) for parts in (said, have))
        return LogError(f"{where} Token {at + 1} is {theirs}; in {there} it is {ours}.", hint)


def _apart(first: Iterable[Part], second: Iterable[Part]) -> Iterator[int]:
    return (at for at, (one, other) in enumerate(zip(first, second, strict=False)) if one != other)


def _told(parts: Sequence[Part], hidden: bool) -> str:
    """A token, or its length, or that there is none."""
    if not parts:
        return "missing"
    part = parts[0]
    if hidden or isinstance(part, int):
        return f"{_size(part):,} character{'s' if _size(part) != 1 else ''} long"
    return _shown(part)


def _shown(text: str) -> str:
    """Quoted, with escapes for what no page takes."""
    return repr(text[:SHOWN]) + ("…" if len(text) > SHOWN else "") if text else "nothing"


def _in_order(part: str, whole: str) -> list[int]:
    """Where the characters of `part` are in `whole`, each behind the one before; shorter where one is not."""
    places: list[int] = []
    at = -1
    for char in part:
        at = whole.find(char, at + 1)
        if at < 0:
            break
        places.append(at)
    return places


class _Solid(dict[int, "int | None"]):
    """For str.translate: what can be part of a token. Blanks, combining marks, joiners and what this Python does not
    know are left out, of both sides."""

    def __missing__(self, code: int) -> int | None:
        found = self[code] = code if category(chr(code))[0] in "LNPS" else None
        return found


_SOLID = _Solid()


def _size(part: Part) -> int:
    return part if isinstance(part, int) else len(part)


def _sizes(parts: Iterable[Part]) -> int:
    return hash(tuple(map(_size, parts)))
