"""Predictors of reading times: surprisal, length and frequency of the words or regions of a suite."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from lmgym.people.intake.words import Chunk, words_of
from lmgym.people.observations import WHOLE_SENTENCE, Observations
from lmgym.runs.compute import TokenRow
from lmgym.suites.formats import SentenceDoc, SuiteDocument
from lmgym.suites.languages import tag_of
from lmgym.suites.regions import ATTACHED, JoinedSentence, Span, align, region_values
from lmgym.text import BLANKS
from lmgym.text.problems import InvalidArgument

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Level = Literal["word", "region", "sentence"]
_CLOSE = 10
"""Distance of varieties of a language in langcodes: British English 5, Croatian and Serbian 9, Afrikaans and Dutch
24."""


class ScoredSentence(Protocol):
    """What is read of a scored sentence: a `SentenceResult` or its database row."""

    @property
    def item(self) -> int: ...
    @property
    def condition(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def regions(self) -> Sequence[float | None]: ...
    @property
    def surprisal(self) -> float | None: ...
    @property
    def tokens(self) -> Sequence[Sequence[Any]]: ...


@dataclass(frozen=True, eq=False)
class Units:
    """The words, non-empty regions or sentences of a suite, in its order, as columns.

    Attributes:
        starts: int64[sentences + 1]; sentence s has the units `starts[s]` to `starts[s + 1] - 1`.
        sentence: int64[n], index into `document.sentences`.
        region: int64[n], from 1; 0 for sentences.
        word: int64[n], number of the first word in its sentence, from 1.
        words: int64[n], number of words.
        texts: words joined by a space.
        length: int64[n], characters without spaces.
        log_frequency: float64[n], Zipf frequencies summed over words; None if there are none of the language.
    """

    level: Level
    starts: Ints
    sentence: Ints
    region: Ints
    word: Ints
    words: Ints
    texts: tuple[str, ...]
    length: Ints
    log_frequency: Floats | None

    def __len__(self) -> int:
        return len(self.sentence)

    @property
    def is_first(self) -> Bools:
        """Whether a unit is the first of its sentence."""
        return np.equal(np.arange(len(self)), self.starts[self.sentence])

    @property
    def is_last(self) -> Bools:
        """Whether a unit is the last of its sentence."""
        return np.equal(np.arange(len(self)), self.starts[self.sentence + 1] - 1)

    def before(self, values: Floats, distance: int) -> Floats:
        """Return the value of the unit `distance` units before each in its sentence; NaN if there is none."""
        place = np.arange(len(self)) - distance
        inside = place >= self.starts[self.sentence]
        return np.where(inside, values[np.where(inside, place, 0)], np.nan)


def level_of(observations: Observations) -> Level:
    """Return what the observations are of.

    Raises:
        InvalidArgument: there are none, or some are of words and others of regions or sentences.
    """
    kinds = {
        "word": observations.word != WHOLE_SENTENCE,
        "region": (observations.word == WHOLE_SENTENCE) & (observations.region != WHOLE_SENTENCE),
        "sentence": (observations.word == WHOLE_SENTENCE) & (observations.region == WHOLE_SENTENCE),
    }
    levels: list[Any] = [level for level, rows in kinds.items() if rows.any()]
    if len(levels) != 1:
        found = " and ".join(f"{level}s" for level in levels)
        raise InvalidArgument(
            f"The data mix observations of {found}: choose one of them."
            if levels
            else "There are no observations."
        )
    level: Level = levels[0]
    return level


def units_of(
    document: SuiteDocument, level: Level, language: str | None = None, *, attached: bool = False
) -> Units:
    """List the units of a suite with their predictors that need no model.

    Words are those of `words_of`. A region's predictors are sums over its words, because its reading time is.

    Args:
        language: BCP 47 tag for frequencies; None = that of the suite's meta block; "" = none.
        attached: punctuation that is a word of its own was read with the word before it, and has no unit.
    """
    homes: list[tuple[int, Chunk, list[str]]] = []
    counts = []
    for number, sentence in enumerate(document.sentences):
        units = _chunks(sentence, level)
        if attached:
            units = _with_punctuation(units)
        homes += [(number, *unit) for unit in units]
        counts.append(len(units))
    texts = [words for *_, words in homes]
    tag = language_of(document) if language is None else language
    zipf = _zipf(tag, {word for words in texts for word in words})
    return Units(
        level=level,
        starts=np.concatenate(([0], np.cumsum(counts))).astype(np.int64),
        sentence=np.array([number for number, *_ in homes], dtype=np.int64),
        region=np.array(
            [first.region if level != "sentence" else WHOLE_SENTENCE for _, first, _ in homes], np.int64
        ),
        word=np.array([first.word for _, first, _ in homes], dtype=np.int64),
        words=np.array(
            [sum(not (attached and _is_attached(w)) for w in words) for words in texts], dtype=np.int64
        ),
        texts=tuple(" ".join(words) for words in texts),
        length=np.array([sum(map(len, words)) for words in texts], dtype=np.int64),
        log_frequency=None
        if zipf is None
        else np.array([sum(zipf[w] for w in words) for words in texts], float),
    )


def units_for(observations: Observations, document: SuiteDocument, language: str | None = None) -> Units:
    """List the units that the observations are of. Punctuation that is a word or region of its own, and that nobody has
    a value of, was read with the word before it.

    Raises:
        InvalidArgument: no observations, or of words as well as of regions or sentences.
    """
    level = level_of(observations)
    units = units_of(document, level, "")
    punctuation = np.array([all(map(_is_attached, text.split(" "))) for text in units.texts], dtype=np.bool_)
    observed = unit_of(observations, document, units)
    attached = not punctuation[observed[observed >= 0]].any()
    return units_of(document, level, language, attached=attached)


def _chunks(sentence: SentenceDoc, level: Level) -> list[tuple[Chunk, list[str]]]:
    """Return the first word and the texts of the words of each unit."""
    words = words_of(sentence)
    if level == "word":
        return [(word, [word.text]) for word in words]
    key = (lambda word: word.region) if level == "region" else (lambda word: WHOLE_SENTENCE)
    groups = [list(group) for _, group in groupby(words, key)]
    return [(group[0], [word.text for word in group]) for group in groups]


def _with_punctuation(units: Sequence[tuple[Chunk, list[str]]]) -> list[tuple[Chunk, list[str]]]:
    merged: list[tuple[Chunk, list[str]]] = []
    for first, words in units:
        if merged and all(map(_is_attached, words)):
            merged[-1] = (merged[-1][0], [*merged[-1][1], *words])
        else:
            merged.append((first, words))
    return merged


def _is_attached(text: str) -> bool:
    """Whether a word is punctuation that is written without a space before it."""
    return text[0] in ATTACHED


def language_of(document: SuiteDocument) -> str:
    """Return the tag of the suite's language; "" if its meta block states none, or an unknown one."""
    stated = document.meta.get("language")
    return (tag_of(stated) or "") if isinstance(stated, str) else ""


def _zipf(language: str, words: Iterable[str]) -> dict[str, float] | None:
    """Look up Zipf frequencies (log10 per billion words); 0 for a word that wordfreq does not know.

    Returns:
        None without a language, for one that wordfreq has no close variety of, and where it needs another package to
        find words (Chinese, Japanese, Korean).

    Raises:
        ModuleNotFoundError: without lm-gym[people].
    """
    if not language:
        return None
    try:
        from langcodes import closest_match
        from wordfreq import available_languages, zipf_frequency
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            'Frequencies of words need the package wordfreq: pip install "lm-gym[people]"', name=error.name
        ) from error
    tag, distance = closest_match(language, list(available_languages()), max_distance=_CLOSE)
    if distance > _CLOSE:  # zipf_frequency would take English for a language that it lacks
        return None
    try:
        return {word: float(zipf_frequency(word, tag)) for word in words}
    except ModuleNotFoundError:
        return None


def unit_of(observations: Observations, document: SuiteDocument, units: Units) -> Ints:
    """Return the index of the unit of each observation; -1 if the suite has no such unit, or it is empty."""
    items = np.array([sentence.item for sentence in document.sentences], dtype=np.int64)
    codes = {condition: code for code, condition in enumerate(document.conditions)}
    conditions = np.array([codes[sentence.condition] for sentence in document.sentences], dtype=np.int64)
    own = np.array([codes.get(condition, -1) for condition in observations.conditions], dtype=np.int64)
    place = units.word if units.level == "word" else units.region
    theirs = observations.word if units.level == "word" else observations.region
    keys = [
        np.concatenate([items[units.sentence], observations.item.astype(np.int64)]),
        np.concatenate([conditions[units.sentence], own[observations.condition]]),
        np.concatenate([place, theirs.astype(np.int64)]),
    ]
    numbers = np.zeros(len(keys[0]), np.int64)
    for key in keys:  # number the distinct keys, column by column, so that products stay small
        values = np.unique(key, return_inverse=True)[1].reshape(-1)
        numbers = np.unique(numbers * (int(values.max(initial=0)) + 1) + values, return_inverse=True)[
            1
        ].reshape(-1)
    unit_at = np.full(int(numbers.max(initial=0)) + 1, -1, np.int64)
    unit_at[numbers[: len(units)]] = np.arange(len(units))
    return unit_at[numbers[len(units) :]]


def unit_surprisals(document: SuiteDocument, units: Units, sentences: Iterable[ScoredSentence]) -> Floats:
    """Sum the bits of tokens by unit. Tokens are assigned to words as `lmgym.suites.regions.align` assigns them to
    regions; a sentence has its own value, which includes a scored end token.

    Args:
        sentences: of one run on the suite, in any order. Without tokens (results computed elsewhere), regions and
            sentences have their stored values, with those of attached punctuation, and words have none.

    Returns:
        float64[n_units], in bits. NaN: the sentence or a token of the unit was not scored, or the unit has no token of
        its own.

    Raises:
        InvalidArgument: the text of a sentence is not the suite's.
    """
    place = {(sentence.item, sentence.condition): k for k, sentence in enumerate(document.sentences)}
    bits = np.full(len(units), np.nan)
    for row in sentences:
        number = place.get((row.item, row.condition))
        if number is None or _visible(row.text) != _visible(document.sentences[number].text):
            raise InvalidArgument(
                f"The run has another text than the suite in item {row.item}, condition {row.condition}."
            )
        own = slice(units.starts[number], units.starts[number + 1])
        if units.level == "sentence":
            bits[own] = np.nan if row.surprisal is None else row.surprisal
        elif row.tokens:
            bits[own] = _sentence_bits(row, np.cumsum(units.length[own]))
        elif units.level == "region":
            filled = np.array([bool(content) for content in document.sentences[number].contents])
            values = np.where(filled, np.array(row.regions, dtype=np.float64), 0.0)
            # a unit ends where the next begins: with it are regions without text and those of attached punctuation
            bits[own] = np.add.reduceat(values, units.region[own] - 1)
    return bits


def word_surprisals(
    document: SuiteDocument, sentences: Iterable[ScoredSentence]
) -> dict[tuple[int, str], list[float]]:
    """Return the bits of every word by item and condition, for `lag_profile` and `simulate`; NaN = no value."""
    units = units_of(document, "word", "")
    bits = unit_surprisals(document, units, sentences)
    return {
        (sentence.item, sentence.condition): bits[units.starts[k] : units.starts[k + 1]].tolist()
        for k, sentence in enumerate(document.sentences)
    }


def _sentence_bits(row: ScoredSentence, ends: Ints) -> Floats:
    """Sum the bits of one sentence by unit. `ends`: number of visible characters up to the end of each unit, which does
    not depend on how regions were joined."""
    places = [place for place, character in enumerate(row.text) if character not in BLANKS]
    stops = [0, *(places[end - 1] + 1 for end in ends.tolist())]
    joined = JoinedSentence(row.text, tuple(Span(*span) for span in pairwise(stops)))
    tokens = [TokenRow(*token) for token in row.tokens]
    alignment = align(
        joined, [(token.start, token.end) for token in tokens], [token.region < 0 for token in tokens]
    )
    return region_values(alignment, [token.surprisal for token in tokens], len(ends)).values


def _visible(text: str) -> str:
    return "".join(character for character in text if character not in BLANKS)
