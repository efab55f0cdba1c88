"""Means of people by participant, sentence and region: what predictions, plots and correlations are computed from.

A participant's time for a region is the sum over its words; it is missing if the time of a word is missing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from lmgym.people.observations import Measure, Observations
from lmgym.people.predictors import Bools, Floats, Ints, unit_of, units_for
from lmgym.suites.formats import SuiteDocument
from lmgym.text.columns import Row

Reference = tuple[str, int | str]
"""Condition, and region number or "*" for the sentence."""

RESAMPLES, SEED = 1_000, 44
_BLOCK = 4_000_000
"""Means of resampled participants held at once."""


@dataclass(frozen=True, eq=False)
class RegionMeans:
    """Means by participant and cell. A cell is a region of a sentence: `sentence * (n_regions + 1) + region`; region 0
    is the sentence as a whole. Means over participants have a single row, as if of one participant.

    Attributes:
        n_rows: participants with a value; participants without one, such as excluded ones, have no row.
        row: int64[m], participant, from 0 to n_rows - 1.
        cell: int64[m].
        has_unit: bool[cells]; False for a region without text, and for punctuation that was read with the word before.
        value: float64[m], in the unit of the measure.
        weight: float64[m], participants that the value is a mean of.
    """

    document: SuiteDocument
    measure: Measure
    are_means: bool
    n_rows: int
    row: Ints
    cell: Ints
    value: Floats
    weight: Floats
    has_unit: Bools

    @property
    def width(self) -> int:
        """Cells of a sentence."""
        return len(self.document.region_names) + 1

    @property
    def n_cells(self) -> int:
        return len(self.document.sentences) * self.width

    @cached_property
    def items(self) -> tuple[int, ...]:
        return self.document.items

    @cached_property
    def _places(self) -> tuple[Ints, Ints]:
        """Index of the item and of the condition of each sentence."""
        items = {item: place for place, item in enumerate(self.items)}
        conditions = {condition: place for place, condition in enumerate(self.document.conditions)}
        of_sentences = [(items[s.item], conditions[s.condition]) for s in self.document.sentences]
        places = np.array(of_sentences, dtype=np.int64).reshape(-1, 2)
        return places[:, 0], places[:, 1]

    @property
    def n_items_observed(self) -> int:
        return len(np.unique(self._places[0][self.cell // self.width]))

    @cached_property
    def filled(self) -> Bools:
        """bool[sentences, regions]: regions with text."""
        return np.array([[bool(c) for c in s.contents] for s in self.document.sentences], dtype=np.bool_)

    @cached_property
    def has_sentences(self) -> bool:
        """Whether values are of whole sentences."""
        return bool((self.cell % self.width == 0).any())

    def matrices(self) -> tuple[Any, Any]:
        """Return sums and weights as sparse matrices of participants by cells."""
        from scipy.sparse import csr_array

        shape, places = (self.n_rows, self.n_cells), (self.row, self.cell)
        return csr_array((self.value * self.weight, places), shape), csr_array((self.weight, places), shape)

    def cell_means(self) -> Floats:
        """Return float64[cells], the mean over participants; NaN without observations."""
        weights = np.bincount(self.cell, self.weight, minlength=self.n_cells)
        with np.errstate(invalid="ignore"):
            return np.bincount(self.cell, self.value * self.weight, minlength=self.n_cells) / weights

    def by_reference(self, means: Floats) -> dict[Reference, Floats]:
        """Arrange means of cells as formulas refer to them, in place of surprisals.

        A region without text takes 0 ms. `*` is the sum of the regions, or the value of the sentence where sentences
        were observed; the only region of a suite is its sentence. Judgments are negated, because a formula holds if the
        worse sentence has the higher value.

        Args:
            means: float64[..., cells].

        Returns:
            float64[..., items] by (condition, region number or "*"); NaN = no value.
        """
        cells = means.reshape(*means.shape[:-1], -1, self.width)
        whole, regions = cells[..., 0], cells[..., 1:]
        if self.has_sentences:
            regions = whole[..., None] if regions.shape[-1] == 1 else regions
        else:
            regions = np.where(self.filled, regions, 0.0)
            whole = np.where(self.has_unit.reshape(-1, self.width)[:, 1:], regions, 0.0).sum(axis=-1)
        sign = 1.0 if self.measure.kind == "reading time" else -1.0
        columns = {k: regions[..., k - 1] for k in range(1, self.width)} | {"*": whole}
        return {
            (condition, region): values
            for region, column in columns.items()
            for condition, values in self.by_condition(sign * column).items()
        }

    def by_condition(self, values: Floats) -> dict[str, Floats]:
        """Arrange float64[..., sentences] as float64[..., items] by condition; NaN without such a sentence."""
        items, conditions = self._places
        arranged = {}
        for place, condition in enumerate(self.document.conditions):
            own = np.flatnonzero(conditions == place)
            arranged[condition] = np.full((*values.shape[:-1], len(self.items)), np.nan)
            arranged[condition][..., items[own]] = values[..., own]
        return arranged

    def rows(self) -> Iterator[Row]:
        """Yield the rows of the table `PeopleValue`: the mean of every cell that has one, in the suite's order."""
        n, means = np.bincount(self.cell, self.weight, minlength=self.n_cells), self.cell_means()
        for cell in np.flatnonzero(n).tolist():
            number, region = divmod(cell, self.width)
            sentence = self.document.sentences[number]
            content = sentence.contents[region - 1] if region else sentence.text
            yield sentence.item, sentence.condition, region or None, content, int(n[cell]), float(means[cell])

    def table(self, region: int) -> Floats:
        """Return float64[participants, conditions]: mean over the items of each participant; of means over
        participants, float64[items, conditions]. `region`: 0 = the sentence."""
        items, conditions = self._places
        own = np.flatnonzero(self.cell % self.width == region)
        sentence = self.cell[own] // self.width
        over_items = self.are_means
        row = items[sentence] if over_items else self.row[own]
        n_rows, n_conditions = len(self.items) if over_items else self.n_rows, len(self.document.conditions)
        places = row * n_conditions + conditions[sentence]
        sums = np.bincount(places, self.value[own], minlength=n_rows * n_conditions)
        with np.errstate(invalid="ignore"):
            means = sums / np.bincount(places, minlength=n_rows * n_conditions)
        return means.reshape(n_rows, n_conditions)


def resampled(
    means: RegionMeans, resamples: int, seed: int
) -> Iterator[tuple[dict[Reference, Floats], Floats]]:
    """Draw participants and items with replacement, independently of each other.

    This is the pigeonhole bootstrap of Owen (2007, Annals of Applied Statistics 1, 386-411), whose variance for
    crossed random effects is, if anything, too large. Of means over participants only items are drawn.

    Yields:
        Blocks of resamples: values as in `by_reference`, float64[b, items], and how often each item was drawn,
        float64[b, items]. A value is NaN if no drawn participant has it.
    """
    rng = np.random.default_rng(seed)
    sums, weights = means.matrices()
    step = max(1, _BLOCK // max(means.n_cells, 1))
    for start in range(0, resamples, step):
        size = min(step, resamples - start)
        people = np.ones((size, 1)) if means.are_means else _multiplicities(rng, means.n_rows, size)
        with np.errstate(invalid="ignore", divide="ignore"):
            drawn = (people @ sums) / (people @ weights)
        yield means.by_reference(drawn), _multiplicities(rng, len(means.items), size)


def _multiplicities(rng: np.random.Generator, n: int, size: int) -> Floats:
    return rng.multinomial(n, np.full(n, 1 / n), size=size).astype(np.float64)


def halves(
    means: RegionMeans, splits: int, seed: int
) -> tuple[dict[Reference, Floats], dict[Reference, Floats]]:
    """Divide the participants at random into halves, and average each half.

    Returns:
        Values of both halves as in `by_reference`, float64[splits, items].
    """
    rng = np.random.default_rng(seed)
    sums, weights = means.matrices()
    first = np.array(
        [rng.permutation(means.n_rows) < means.n_rows // 2 for _ in range(splits)], dtype=np.float64
    )
    with np.errstate(invalid="ignore", divide="ignore"):
        one, other = ((half @ sums) / (half @ weights) for half in (first, 1 - first))
    return means.by_reference(one), means.by_reference(other)


def region_means(observations: Observations, document: SuiteDocument) -> RegionMeans:
    """Average observations by participant and cell. Observations of other items, conditions or words are ignored.

    Raises:
        InvalidArgument: no observations, or of words as well as of regions or sentences.
    """
    units = units_for(observations, document, language="")
    unit = unit_of(observations, document, units)
    kept = np.flatnonzero(unit >= 0)
    n_units, width = max(len(units), 1), len(document.region_names) + 1
    row = np.maximum(observations.participant[kept].astype(np.int64), 0)
    weights = observations.n_participants[kept].astype(np.float64)
    keys, place = np.unique(row * n_units + unit[kept], return_inverse=True)
    n = np.bincount(place, weights, minlength=len(keys))
    means = np.bincount(place, weights * observations.value[kept], minlength=len(keys)) / n
    cell_of = units.sentence * width + units.region
    n_cells = len(document.sentences) * width
    expected = np.bincount(cell_of, minlength=n_cells)
    cells, place = np.unique(keys // n_units * n_cells + cell_of[keys % n_units], return_inverse=True)
    found = np.bincount(place, minlength=len(cells))
    complete = found == expected[cells % n_cells]
    people, row = np.unique((cells // n_cells)[complete], return_inverse=True)
    return RegionMeans(
        document=document,
        measure=observations.measure,
        are_means=observations.are_means,
        n_rows=max(len(people), 1),
        row=row,
        cell=(cells % n_cells)[complete],
        value=np.bincount(place, means, minlength=len(cells))[complete],
        weight=(np.bincount(place, n, minlength=len(cells)) / found)[complete],
        has_unit=expected > 0,
    )
