"""Sizes of predicted effects in models and in people: does the model's garden path cost what people's does?

A contrast is a comparison in a prediction's formula, as the difference that the prediction says is positive: of
surprisals in bits in a model, of means in people. Judgments are negated, as in `predictions.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from lmgym.people.predictors import Bools, Floats, ScoredSentence, Units
from lmgym.people.region_means import RESAMPLES, SEED, Reference, RegionMeans, halves, resampled
from lmgym.people.tables import CellCorrelation, Effect, ItemEffect
from lmgym.runs.outcomes import listed
from lmgym.stats import pearson, percentile_interval, spearman, split_half_reliability
from lmgym.stats.intervals import Interval, wilson
from lmgym.suites.formats import SuiteDocument
from lmgym.suites.formulas import parse
from lmgym.suites.formulas.evaluation import sides
from lmgym.suites.formulas.nodes import (
    Arithmetic,
    Boolean,
    Comparison,
    Logic,
    Not,
    Numeric,
    canonical,
    references,
)

SPLITS, FEWEST_SPLITS = 100, 10
MAX_SPLIT_CELLS = 5_000_000
"""Means of halves held at once; suites of more than 50,000 cells get fewer splits."""
MIN_PARTICIPANTS = 4
"""Participants below which halves are not formed."""


@dataclass(frozen=True)
class Contrast:
    """A comparison of a formula. `sign`: 1 if the left side is predicted to be greater, −1 if the right side is."""

    prediction_number: int
    prediction: str
    formula: str
    node: Comparison
    sign: int

    @property
    def text(self) -> str:
        greater, less = (self.node.left, self.node.right)[:: self.sign]
        return f"{_operand(greater)} − {_operand(less)}"

    def values(self, by_reference: Mapping[Reference, Floats]) -> Floats:
        """Return the difference for values of any one shape; NaN = no value."""
        keys = {reference.key for reference in references(self.node)}
        shape = by_reference[next(iter(keys))].shape
        left, right = sides(self.node, {key: by_reference[key].reshape(-1) for key in keys})
        return np.broadcast_to(self.sign * (left - right), (int(np.prod(shape)),)).reshape(shape)


def _operand(node: Numeric) -> str:
    return f"[{canonical(node)}]" if isinstance(node, Arithmetic) else canonical(node)


def contrasts_of(document: SuiteDocument) -> list[Contrast]:
    """List the comparisons by size in the suite's predictions, in the order of their text."""
    listed_contrasts = []
    for number, prediction in enumerate(document.predictions, start=1):
        name = prediction.name or f"Prediction {number}"
        for node, sign in _comparisons(parse(prediction.formula).ast, 1):
            if references(node):
                listed_contrasts.append(Contrast(number, name, prediction.formula, node, sign))
    return listed_contrasts


def _comparisons(node: Boolean, sign: int) -> Iterator[tuple[Comparison, int]]:
    match node:
        case Comparison():
            if node.operator not in ("=", "!="):
                yield node, sign if node.operator in (">", ">=") else -sign
        case Not():
            yield from _comparisons(node.operand, -sign)
        case Logic():
            for operand in node.operands:
                yield from _comparisons(operand, sign)


def model_values(
    document: SuiteDocument, sentences: Iterable[ScoredSentence], items: Sequence[int]
) -> dict[Reference, Floats]:
    """Arrange the region values of a run as formulas refer to them: float64[items] in bits, NaN = no value."""
    place = {item: k for k, item in enumerate(items)}
    regions = (*range(1, len(document.region_names) + 1), "*")
    values: dict[Reference, Floats] = {
        (condition, region): np.full(len(items), np.nan)
        for condition in document.conditions
        for region in regions
    }
    for row in sentences:
        for region, bits in zip(regions, (*row.regions, row.surprisal), strict=True):
            values[row.condition, region][place[row.item]] = np.nan if bits is None else bits
    return values


def predicted_values(
    means: RegionMeans, units: Units, bits: Floats, slopes: Mapping[str, float]
) -> dict[Reference, Floats]:
    """Predict times of regions in ms from surprisals alone: slope times bits, with spill-over, summed over a region's
    words. A first word has nothing before it to spill over."""
    predicted = np.zeros(len(units))
    for distance, term in enumerate(("surprisal", "surprisal_1", "surprisal_2")):
        if term in slopes:
            before = units.before(bits, distance)
            nothing_before = np.isnan(units.before(np.zeros(len(units)), distance))
            predicted += slopes[term] * np.where(nothing_before, 0.0, before)
    cells = np.bincount(units.sentence * means.width + units.region, predicted, minlength=means.n_cells)
    return means.by_reference(cells.astype(np.float64))


class PeopleEffects:
    """Contrasts and cells of people, with what is compared to every model and computed once."""

    def __init__(self, means: RegionMeans) -> None:
        self.means = means
        self.values = means.by_reference(means.cell_means())
        self.contrasts = contrasts_of(means.document)
        self._of_masks: dict[bytes, list[Interval | None]] = {}
        splits = max(FEWEST_SPLITS, min(SPLITS, MAX_SPLIT_CELLS // means.n_cells))
        self.halves = halves(means, splits, SEED) if means.n_rows >= MIN_PARTICIPANTS else None

    def _intervals(self, known: Sequence[Bools]) -> list[Interval | None]:
        """Compute 95% intervals of the mean contrasts over participants and items (`resampled`, percentiles), once for
        models that know the same items.

        Args:
            known: bool[items] by contrast, the items that the mean is over.
        """
        masks = b"".join(mask.tobytes() for mask in known)
        if masks not in self._of_masks:
            self._of_masks[masks] = [
                percentile_interval(drawn) if drawn.size and mask.sum() > 1 else None
                for drawn, mask in zip(self._resampled_means(known), known, strict=True)
            ]
        return self._of_masks[masks]

    def _resampled_means(self, known: Sequence[Bools]) -> list[Floats]:
        drawn: list[list[Floats]] = [[] for _ in self.contrasts]
        for values, items in resampled(self.means, RESAMPLES, SEED):
            for contrast, mask, blocks in zip(self.contrasts, known, drawn, strict=True):
                differences = contrast.values(values)
                counted = items * (mask & ~np.isnan(differences))
                with np.errstate(invalid="ignore"):
                    mean = (counted * np.nan_to_num(differences)).sum(axis=1) / counted.sum(axis=1)
                blocks.append(mean[~np.isnan(mean)])
        return [np.concatenate(blocks) for blocks in drawn]

    def of_items(
        self, model: str, bits: Mapping[Reference, Floats], predicted: Mapping[Reference, Floats] | None
    ) -> list[ItemEffect]:
        """Return one row per contrast and item that people have a value of."""
        rows = []
        for contrast in self.contrasts:
            people = contrast.values(self.values)
            in_ms = listed(contrast.values(predicted)) if predicted else [None] * len(people)
            columns = zip(self.means.items, listed(contrast.values(bits)), listed(people), in_ms, strict=True)
            rows += [
                ItemEffect(
                    model,
                    contrast.prediction_number,
                    contrast.prediction,
                    contrast.formula,
                    contrast.text,
                    *cells,
                )
                for cells in columns
                if cells[2] is not None
            ]
        return rows

    def of_model(
        self, model: str, bits: Mapping[Reference, Floats], predicted: Mapping[Reference, Floats] | None
    ) -> list[Effect]:
        """Return one row per contrast: means, agreement of items, correlations and their ceiling."""
        known = [
            ~np.isnan(contrast.values(bits)) & ~np.isnan(contrast.values(self.values))
            for contrast in self.contrasts
        ]
        return [
            self._effect(model, contrast, mask, interval, bits, predicted)
            for contrast, mask, interval in zip(self.contrasts, known, self._intervals(known), strict=True)
        ]

    def _effect(
        self,
        model: str,
        contrast: Contrast,
        known: Bools,
        interval: Interval | None,
        bits: Mapping[Reference, Floats],
        predicted: Mapping[Reference, Floats] | None,
    ) -> Effect:
        of_model, people = contrast.values(bits), contrast.values(self.values)
        n, same = int(known.sum()), int((known & (np.sign(of_model) == np.sign(people))).sum())
        share = wilson(same, n)
        linear, ranks = pearson(of_model, people), spearman(of_model, people)
        reliability = (
            split_half_reliability(*(np.where(known, contrast.values(half), np.nan) for half in self.halves))
            if self.halves
            else None
        )
        return Effect(
            model=model,
            prediction_number=contrast.prediction_number,
            prediction=contrast.prediction,
            formula=contrast.formula,
            contrast=contrast.text,
            n=n,
            bits=_mean(of_model[known]),
            people=_mean(people[known]),
            people_low=interval.low if interval else None,
            people_high=interval.high if interval else None,
            predicted=_mean(contrast.values(predicted)[known]) if predicted else None,
            same_direction=same,
            agreement=same / n if n else None,
            agreement_low=share.low if share else None,
            agreement_high=share.high if share else None,
            pearson=linear.value,
            pearson_low=linear.low,
            pearson_high=linear.high,
            spearman=ranks.value,
            spearman_low=ranks.low,
            spearman_high=ranks.high,
            reliability=reliability,
            ceiling=None if reliability is None else reliability**0.5,
        )

    def cells(self, model: str, bits: Mapping[Reference, Floats]) -> list[CellCorrelation]:
        """Correlate surprisal and means over items and conditions, for every region with means; for sentences if
        sentences were observed."""
        conditions = self.means.document.conditions
        regions: list[int | str] = ["*"] if self.means.has_sentences else [*range(1, self.means.width)]
        rows = []
        for region in regions:
            first, second = (np.stack([v[name, region] for name in conditions]) for v in (bits, self.values))
            if region != "*" and not self.means.has_sentences:  # a region without text is no point
                second = np.where(self._filled(int(region)) == 1, second, np.nan)
            linear, ranks = (
                pearson(first.reshape(-1), second.reshape(-1)),
                spearman(first.reshape(-1), second.reshape(-1)),
            )
            if not linear.n:
                continue
            reliability = self._reliability(region, np.isnan(first + second)) if self.halves else None
            number = None if isinstance(region, str) else region
            limits = (linear.value, linear.low, linear.high, ranks.value, ranks.low, ranks.high)
            ceiling = None if reliability is None else reliability**0.5
            rows.append(CellCorrelation(model, number, linear.n, *limits, reliability, ceiling))
        return rows

    def _filled(self, region: int) -> Floats:
        """1 for a region with text, by condition and item."""
        filled = self.means.by_condition(self.means.filled[:, region - 1].astype(np.float64))
        return np.stack([filled[name] for name in self.means.document.conditions])

    def _reliability(self, region: int | str, missing: Bools) -> float | None:
        assert self.halves is not None
        conditions = self.means.document.conditions
        stacked = [np.stack([half[name, region] for name in conditions], axis=1) for half in self.halves]
        return split_half_reliability(*(np.where(missing, np.nan, s).reshape(len(s), -1) for s in stacked))


def _mean(values: Floats) -> float | None:
    known = values[~np.isnan(values)]
    return float(known.mean()) if known.size else None
