"""Find the word or region of each row, and compare its text with the suite's.

Words are numbered in the sentence as it is joined with one space between regions. A file's word may cover two of them,
where punctuation is a region of its own: “changed,” is then the word “changed”.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache

import numpy as np
from numpy.typing import NDArray

from lmgym.people.intake.numbers import whole
from lmgym.people.intake.participants import columns_of
from lmgym.people.intake.roles import WORD_NUMBERS
from lmgym.people.intake.state import NAMED, Matching
from lmgym.people.intake.table import TextColumn
from lmgym.people.intake.texts import difference, plain, shortened
from lmgym.suites.formats.documents import SentenceDoc, SuiteDocument
from lmgym.suites.headings import normal
from lmgym.suites.intake.questions import Question
from lmgym.suites.regions import ATTACHED
from lmgym.text import BLANKS, count


@dataclass(frozen=True)
class Mismatch:
    """A word or text of the table that differs from the suite's.

    Attributes:
        line: of the table, the first with this text.
        item, condition: of the suite's sentence.
        word: word number from 1; 0 for a whole sentence or region.
        in_table, in_suite: the two texts; "" if one has no such word.
    """

    line: int
    item: int
    condition: str
    word: int
    in_table: str
    in_suite: str


MAX_MISMATCHES = 200


@dataclass
class Mismatches:
    """Texts that differ: the first of them, the number of all, and the sentences that have them."""

    first: tuple[Mismatch, ...] = ()
    n: int = 0
    sentences: set[int] = field(default_factory=set)

    def add(self, state: Matching, row: int, sentence: int, word: int, texts: tuple[str, str]) -> None:
        """Add a text of a row. `texts`: in the table and in the suite."""
        self.n += 1
        self.sentences.add(sentence)
        if len(self.first) < MAX_MISMATCHES:
            suite = state.document.sentences[sentence]
            line = int(state.table.lines[row])
            in_table, in_suite = (text[:200] for text in texts)
            self.first += (Mismatch(line, suite.item, suite.condition, word, in_table, in_suite),)


@dataclass(frozen=True)
class Chunk:
    """A stretch of a sentence that is shown at once: a word, a word with attached punctuation, or a region."""

    text: str
    word: int
    region: int


@dataclass(frozen=True)
class Places:
    """Word and region of each row; 0 for whole sentences and regions.

    `is_beyond`: bool[n_rows], rows of words after the last one of their sentence, which have neither.
    """

    word: NDArray[np.int64]
    region: NDArray[np.int64]
    is_beyond: NDArray[np.bool_]
    mismatches: Mismatches = field(default_factory=Mismatches)


def words_of(sentence: SentenceDoc) -> list[Chunk]:
    """Return the words of a sentence, numbered from 1, each with its region."""
    words = [
        (word, region)
        for region, content in enumerate(sentence.contents, start=1)
        for word in content.strip(BLANKS).split(" ")
        if word
    ]
    return [Chunk(word, number, region) for number, (word, region) in enumerate(words, start=1)]


def _attached(words: Sequence[Chunk]) -> list[Chunk]:
    """Join punctuation to the word before it."""
    chunks: list[Chunk] = []
    for word in words:
        if chunks and word.text[0] in ATTACHED:
            chunks[-1] = Chunk(chunks[-1].text + word.text, chunks[-1].word, chunks[-1].region)
        else:
            chunks.append(word)
    return chunks


def regions_of(sentence: SentenceDoc) -> list[Chunk]:
    """Return the regions of a sentence that have text."""
    return [Chunk(content, 0, number) for number, content in enumerate(sentence.contents, start=1) if content]


def find_places(state: Matching, sentence: NDArray[np.int64], owner: NDArray[np.int64]) -> Places:
    """Find the word or region of each row, and report texts that differ.

    Args:
        sentence: index into `document.sentences`; -1 if none.
        owner: participant of each row; rows without numbers are counted within a participant's sentence.
    """
    text = next(iter(columns_of(state.table, state.roles, "word_text")), None)
    if columns_of(state.table, state.roles, "region") and not _has_word_number(state):
        places = _regions(state, sentence, text)
        if not places.mismatches.n:
            return places
        words = _Words(state, sentence, _positions(state, sentence, owner), text).places()
        return min(words, places, key=lambda one: one.mismatches.n)
    if text is None and not _has_word_number(state):
        zero = np.zeros(len(sentence), np.int64)
        return Places(zero, zero, zero > 0, _whole(state, sentence))
    return _Words(state, sentence, _positions(state, sentence, owner), text).places()


def _whole(state: Matching, sentence: NDArray[np.int64]) -> Mismatches:
    """Compare whole sentences, if the table has their text."""
    found = Mismatches()
    for column in columns_of(state.table, state.roles, "sentence"):
        for row in _first_rows(state, sentence, np.zeros(len(sentence), np.int64), column):
            text = state.document.sentences[sentence[row]].text
            if plain(column.cell(row)) != plain(text):
                found.add(state, row, int(sentence[row]), 0, (column.cell(row), text))
    return found


def _has_word_number(state: Matching) -> bool:
    return bool(WORD_NUMBERS & set(state.roles.values()))


def _positions(state: Matching, sentence: NDArray[np.int64], owner: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the number of each row's word from 1; 0 with a problem if it is no number."""
    for role, shift in (("word", 0), ("word_from_0", 1)):
        for column in columns_of(state.table, state.roles, role):
            numbers = [whole(text) for text in column.texts]
            places = np.array([-1 if number is None else number + shift for number in numbers])[column.codes]
            wrong = state.keep & (sentence >= 0) & (places < 1)
            if wrong.any():
                message = "the word number is missing or below 1"
                hint = "Choose “word number (0 is the first)” if words are counted from 0."
                state.report.problem(state.where(wrong), message, hint)
            positions: NDArray[np.int64] = np.maximum(places, 0)
            return positions
    state.report.notice("file", "no column numbers the words: they are counted in the order of the rows")
    begins = np.ones(len(sentence), bool)
    begins[1:] = (sentence[1:] != sentence[:-1]) | (owner[1:] != owner[:-1])
    for role in ("trial", "condition", "item", "item_label"):
        for column in columns_of(state.table, state.roles, role):
            begins[1:] |= column.codes[1:] != column.codes[:-1]
    firsts = np.maximum.accumulate(np.where(begins, np.arange(len(sentence)), 0))
    return np.arange(len(sentence)) - firsts + 1


# --- regions ---


def region_of(text: str, document: SuiteDocument) -> int:
    """Return the number of a region given by number or name; 0 if the suite lacks it."""
    number = whole(text)
    if number in document.regions:
        return number or 0
    return next((k for k, name in document.regions.items() if normal(name) == normal(text)), 0)


def _regions(state: Matching, sentence: NDArray[np.int64], text: TextColumn | None) -> Places:
    column = columns_of(state.table, state.roles, "region")[0]
    region = np.array([region_of(one, state.document) for one in column.texts], np.int64)[column.codes]
    unknown = state.keep & (sentence >= 0) & (region == 0)
    if unknown.any():
        texts = [column.texts[code] for code in dict.fromkeys(column.codes[unknown].tolist())]
        message = f"regions that the suite lacks: {state.examples(texts)}"
        hint = f"It has {state.examples([f'{k} {name}' for k, name in state.document.regions.items()])}."
        state.report.problem(state.where(unknown), message, hint)
    zero = np.zeros(len(sentence), np.int64)
    if text is None:
        return Places(zero, region, zero > 0)
    found = Mismatches()
    for row in _first_rows(state, sentence, region, text):
        content = state.document.sentences[sentence[row]].contents[region[row] - 1] if region[row] else ""
        if region[row] and plain(text.cell(row)) != plain(content):
            found.add(state, row, int(sentence[row]), 0, (text.cell(row), content))
    return Places(zero, region, zero > 0, found)


def _first_rows(
    state: Matching, sentence: NDArray[np.int64], place: NDArray[np.int64], text: TextColumn
) -> list[int]:
    """Return the first row of each combination of sentence, place and text."""
    rows = np.flatnonzero(state.keep & (sentence >= 0))
    keys = (sentence[rows] * (int(place.max(initial=0)) + 1) + place[rows]) * len(text.texts) + text.codes[
        rows
    ]
    _, firsts = np.unique(keys, return_index=True)
    return sorted(rows[firsts].tolist())


# --- words ---


class _Words:
    """Words of all sentences, laid along the suite's words or regions, whichever fit better."""

    def __init__(
        self,
        state: Matching,
        sentence: NDArray[np.int64],
        position: NDArray[np.int64],
        text: TextColumn | None,
    ) -> None:
        self.state, self.sentence, self.position, self.text = state, sentence, position, text
        self._plain = cache(plain)

    def places(self) -> Places:
        longest = int(self.position.max(initial=0)) + 1
        rows = np.flatnonzero(self.state.keep & (self.sentence >= 0))
        slots, codes = np.unique(self.sentence[rows] * longest + self.position[rows], return_inverse=True)
        ends: dict[int, int] = {}
        for key in slots.tolist():
            ends[key // longest] = key % longest  # in ascending order, so the last position stays
        texts = self._texts()
        found = self._best(ends, texts)
        nothing = Chunk("", 0, 0)
        chunks = [
            found[key // longest][key % longest - 1]
            if 0 < key % longest <= len(found[key // longest])
            else nothing
            for key in slots.tolist()
        ]
        word, region = np.zeros(len(self.sentence), np.int64), np.zeros(len(self.sentence), np.int64)
        if len(rows):
            word[rows] = np.array([chunk.word for chunk in chunks])[codes]
            region[rows] = np.array([chunk.region for chunk in chunks])[codes]
        is_beyond = np.zeros(len(self.sentence), bool)
        is_beyond[rows] = region[rows] == 0
        return Places(word, region, is_beyond, self._mismatches(found, texts, ends))

    def _texts(self) -> dict[int, list[tuple[int, int, str]]]:
        """Map each sentence to (row, position, text) of each text at each position."""
        texts: dict[int, list[tuple[int, int, str]]] = defaultdict(list)
        if self.text is not None:
            for row in _first_rows(self.state, self.sentence, self.position, self.text):
                texts[int(self.sentence[row])].append((row, int(self.position[row]), self.text.cell(row)))
        return texts

    def _best(
        self, ends: dict[int, int], texts: dict[int, list[tuple[int, int, str]]]
    ) -> dict[int, list[Chunk]]:
        """Choose the way to show sentences whose texts, or else whose numbers of chunks, fit best in all sentences."""
        sentences = {k: self.state.document.sentences[k] for k in ends}
        ways = [{k: words_of(sentence) for k, sentence in sentences.items()}]
        ways.append({k: _attached(words) for k, words in ways[0].items()})
        if not _has_word_number(self.state) or self.state.table.roles:  # PCIbex and jsPsych number chunks
            ways.append({k: regions_of(sentence) for k, sentence in sentences.items()})
        if texts:
            return min(
                ways, key=lambda way: sum(self._n_wrong(way[k], entries) for k, entries in texts.items())
            )
        return min(ways, key=lambda way: sum(abs(len(way[k]) - end) for k, end in ends.items()))

    def _n_wrong(self, chunks: list[Chunk], texts: list[tuple[int, int, str]], shift: int = 0) -> int:
        return sum(not self._fits(chunks, position + shift, text) for _, position, text in texts)

    def _fits(self, chunks: list[Chunk], position: int, text: str) -> bool:
        return 0 < position <= len(chunks) and self._plain(text) == self._plain(chunks[position - 1].text)

    def _mismatches(
        self,
        found: dict[int, list[Chunk]],
        texts: dict[int, list[tuple[int, int, str]]],
        ends: dict[int, int],
    ) -> Mismatches:
        """Collect texts that differ; without texts, report words after the end of the sentence."""
        state, wrong = self.state, Mismatches()
        for sentence, entries in texts.items():
            chunks = found[sentence]
            for row, position, text in entries:
                if position and not self._fits(chunks, position, text):
                    in_suite = chunks[position - 1].text if position <= len(chunks) else ""
                    wrong.add(state, row, sentence, position, (text, in_suite))
        if wrong.n:
            self._hint_at_shift(found, texts, wrong.n)
        if self.text is None:
            late = [k for k, end in ends.items() if end > len(found[k])]
            for k in late[:NAMED]:
                row = int(np.flatnonzero((self.sentence == k) & (self.position > len(found[k])))[0])
                place = f"{state.table.place} {state.table.lines[row]}"
                message = (
                    f"the sentence has {len(found[k])} words, but the file has a word {self.position[row]}"
                )
                state.report.problem(place, message, "Check the word numbers.")
        return wrong

    def _hint_at_shift(
        self, found: dict[int, list[Chunk]], texts: dict[int, list[tuple[int, int, str]]], n_wrong: int
    ) -> None:
        """Say if the words would fit when counted from another number. They are not shifted."""
        for shift in (-1, 1):
            n = sum(self._n_wrong(found[k], entries, shift) for k, entries in texts.items())
            if 4 * n < n_wrong:
                where = "one word earlier" if shift < 0 else "one word later"
                message = f"the words of the file fit the suite {where}; nothing was shifted"
                if shift > 0:
                    message += ". Choose “word number (0 is the first)” if the file counts from 0"
                self.state.report.warning("file", message)
                return


def leave_out_mismatches(state: Matching, places: Places, sentence: NDArray[np.int64]) -> None:
    """Ask what to do with sentences whose words differ. Words after the last one of a sentence are left out."""
    mismatches = places.mismatches
    if not mismatches.n:
        return
    question = Question(
        "words",
        "Sentences with other words than the suite",
        {"out": "leave them out", "keep": "keep them: words are matched by number"},
        "out",
    )
    first = mismatches.first[0]
    in_suite = f"the suite has {shortened(first.in_suite)}" if first.in_suite else "the sentence has ended"
    what = difference(first.in_table, first.in_suite, "text")
    where = f"item {first.item}, {first.condition}{f', word {first.word}' if first.word else ''}"
    message = (
        f"{count(mismatches.n, 'text')} {'differs' if mismatches.n == 1 else 'differ'} from the suite’s, in "
        f"{count(len(mismatches.sentences), 'sentence')}; the first is {where}: {shortened(first.in_table)}, "
        f"where {in_suite}{f': {what}' if what else ''}"
    )
    place = f"{state.table.place} {first.line}"
    if state.ask(question, place, message, "Is this the right revision of the suite?") == "out":
        reason = "of sentences with other words than the suite"
        state.leave_out(np.isin(sentence, list(mismatches.sentences)), reason)
    state.leave_out(places.is_beyond, "beyond the end of the sentence")
