"""Compute outcomes from region values: evaluate formulas over all items at once, and find outcomes too close to call.

Pure: no Django, no torch. Values are in bits.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lmgym.models.engine import ERROR_BITS, TokenError
from lmgym.runs.token_arrays import Floats, Ints
from lmgym.stats import tail_above
from lmgym.stats.intervals import wilson
from lmgym.suites.formats import PredictionDoc, SuiteDocument
from lmgym.suites.formulas import FALSE, NOT_EVALUABLE, TIE, TRUE, Formula, Slopes, parse
from lmgym.suites.formulas.nodes import Comparison, references, walk
from lmgym.text import count

ASSUMED_ERROR = TokenError(ERROR_BITS["float32"])
"""Error of one token's value if the number format is unknown."""

LENGTH_ADVICE = (
    "The result depends on the length of the regions: compare regions of equal length, or report the metric and both "
    "counts."
)

Reference = tuple[str, int | str]  # (condition, region number or "*")


COUNTS = (
    "n",
    "passed",
    "rate",
    "low",
    "high",
    "chance",
    "chance_standard_error",
    "ties",
    "too_close",
    "not_evaluable",
    "passed_with_sums",
    "passed_with_means",
    "changed_by_length",
    "mean_margin",
)
"""Counts of a prediction over all items: attributes of `PredictionOutcome` and its database row, keys of JSON and API,
columns of tables."""


@dataclass(frozen=True, kw_only=True)
class PredictionOutcome:
    """One formula over all items, in the order of `RunResult.items`. Ties and items that are not evaluable do not
    pass.

    Attributes:
        low, high: 95% Wilson interval of the rate.
        chance_standard_error: 0 if the chance level is exact.
        margins: bits, by item; None = no value.
        close: by item, whether the margin is within the bound on the numeric error; empty if unknown. Such an outcome
            counts by its sign; `too_close` is their number.
        passed_with_sums, passed_with_means: items that pass if sums of bits, or means per token, are compared;
            `changed_by_length` pass with only one of them. None if the compared regions have equally many tokens, or
            the numbers of tokens are unknown.
    """

    position: int
    name: str
    formula: str
    n: int
    passed: int
    ties: int
    not_evaluable: int
    too_close: int
    low: float | None
    high: float | None
    chance: float | None
    chance_standard_error: float
    mean_margin: float | None
    outcomes: Sequence[int]
    margins: Sequence[float | None]
    close: Sequence[bool]
    passed_with_sums: int | None = None
    passed_with_means: int | None = None
    changed_by_length: int | None = None

    @property
    def prediction_number(self) -> int:
        return self.position + 1

    @property
    def prediction(self) -> str:
        """The name, or “Prediction 2” without one."""
        return self.name or f"Prediction {self.prediction_number}"

    @property
    def judged(self) -> int:
        return self.n

    @property
    def rate(self) -> float | None:
        return self.passed / self.n if self.n else None

    @property
    def p(self) -> float | None:
        """One-sided p of the rate against the formula's chance level, upper tail; None if either is unknown."""
        if self.rate is None or self.chance is None:
            return None
        return tail_above(self.rate, self.n, self.chance)

    @property
    def length_words(self) -> str:
        """How the passes depend on the numbers of tokens, and what to do if they do; "" if compared regions have
        equally many, or they are unknown."""
        if self.changed_by_length is None:
            return ""
        sums, means = (
            f"{count(n, 'item')} {'passes' if n == 1 else 'pass'}"
            for n in (self.passed_with_sums or 0, self.passed_with_means or 0)
        )
        words = (
            f"Compared regions differ in their number of tokens: {sums} with sums of bits, {means} with means per "
            f"token; outcomes that differ: {self.changed_by_length} of {self.n}."
        )
        return f"{words} {LENGTH_ADVICE}" if self.changed_by_length else words

    def columns(self) -> dict[str, Any]:
        """Return the values of the stored columns."""
        return {name: getattr(self, name) for name in STORED}


STORED = tuple(one.name for one in fields(PredictionOutcome) if one.name not in {"name", "formula"})
"""Attributes of an outcome that are columns of its database row; name and formula are stored with the prediction."""


@dataclass(frozen=True)
class Grid:
    """Values of all items. `bits` and `tokens` map (condition, region number or "*" for the whole sentence)
    to one value per item: bits (NaN = no value), and the number of token values summed in them.

    Attributes:
        sums, lengths: sum of bits and number of tokens; empty if unknown. They differ from `bits` and `tokens` under
            the metric mean and with the whitespace correction.
    """

    items: list[int]
    bits: dict[Reference, Floats]
    tokens: dict[Reference, Ints]
    sums: dict[Reference, Floats] = field(default_factory=dict)
    lengths: dict[Reference, Ints] = field(default_factory=dict)


def outcomes_alone(
    position: int, prediction: PredictionDoc, held: Sequence[bool], n_regions: int | None = None
) -> PredictionOutcome:
    """Build the outcome of a prediction when only the items that pass are known. `n_regions`: number of
    regions of the suite, for the chance level."""
    n = len(held)
    outcomes = np.array([TRUE if value else FALSE for value in held], dtype=np.uint8)
    judged = outcomes, np.full(n, math.nan), np.zeros(n, np.bool_)
    return _counted(position, prediction, parse(prediction.formula), n_regions, *judged)


def outcome_of_items(outcome: PredictionOutcome, places: Sequence[int]) -> PredictionOutcome:
    """Restrict an outcome to some items. `places`: their indices. Counts by numbers of tokens are dropped;
    `too_close` is 0 if the outcome has no `close`."""
    codes = [outcome.outcomes[place] for place in places]
    margins = [outcome.margins[place] for place in places]
    close = [outcome.close[place] for place in places] if outcome.close else []
    known = [margin for margin in margins if margin is not None]
    interval = wilson(codes.count(TRUE), len(codes))
    return replace(
        outcome,
        n=len(codes),
        passed=codes.count(TRUE),
        ties=codes.count(TIE),
        not_evaluable=codes.count(NOT_EVALUABLE),
        too_close=sum(close),
        low=interval.low if interval else None,
        high=interval.high if interval else None,
        mean_margin=math.fsum(known) / len(known) if known else None,
        outcomes=codes,
        margins=margins,
        close=close,
        passed_with_sums=None,
        passed_with_means=None,
        changed_by_length=None,
    )


def evaluate_predictions(document: SuiteDocument, grid: Grid, error: TokenError) -> list[PredictionOutcome]:
    """Evaluate every prediction of the document over all items."""
    n_regions = len(document.region_names)
    return [
        evaluate_prediction(number, prediction, n_regions, grid, error)
        for number, prediction in enumerate(document.predictions)
    ]


def evaluate_prediction(
    position: int, prediction: PredictionDoc, n_regions: int, grid: Grid, error: TokenError
) -> PredictionOutcome:
    """Evaluate one formula for every item."""
    formula = parse(prediction.formula)
    outcome = _counted(position, prediction, formula, n_regions, *outcomes_of(formula, grid, error))
    return replace(outcome, **length_counts(formula, grid))


def length_counts(formula: Formula, grid: Grid) -> dict[str, Any]:
    """Count the items that pass with sums of bits and with means per token; empty if the compared regions have equally
    many tokens in every item, or the numbers of tokens are unknown. Means of a region without tokens have no value."""
    if not grid.sums or not _differ_in_length(formula, grid):
        return {}
    lengths = {
        one: np.where(grid.lengths[one] > 0, grid.lengths[one], math.nan) for one in formula.references
    }
    sums = {one: grid.sums[one] for one in formula.references}
    with_sums, with_means = (
        _passes(formula, values) for values in (sums, {one: sums[one] / lengths[one] for one in sums})
    )
    return {
        "passed_with_sums": int(with_sums.sum()),
        "passed_with_means": int(with_means.sum()),
        "changed_by_length": int((with_sums != with_means).sum()),
    }


def _differ_in_length(formula: Formula, grid: Grid) -> bool:
    for node, _ in walk(formula.ast):
        if isinstance(node, Comparison):
            keys = [reference.key for reference in references(node)]
            known = ~np.isnan(sum(grid.sums[key] for key in keys))
            if any((known & (grid.lengths[key] != grid.lengths[keys[0]])).any() for key in keys):
                return True
    return False


def _passes(formula: Formula, values: Mapping[Any, Floats]) -> NDArray[np.bool_]:
    judged = formula.evaluate_items(values)
    return np.asarray(judged.outcome == TRUE)


def _counted(
    position: int,
    prediction: PredictionDoc,
    formula: Formula,
    n_regions: int | None,
    outcomes: NDArray[np.uint8],
    margins: Floats,
    close: NDArray[np.bool_],
) -> PredictionOutcome:
    n, passed = len(outcomes), int((outcomes == TRUE).sum())
    interval = wilson(passed, n)
    chance = formula.chance_level(n_regions=n_regions)
    known = margins[np.isfinite(margins)]
    return PredictionOutcome(
        position=position,
        name=prediction.name,
        formula=prediction.formula,
        n=n,
        passed=passed,
        ties=int((outcomes == TIE).sum()),
        not_evaluable=int((outcomes == NOT_EVALUABLE).sum()),
        too_close=int(close.sum()),
        low=interval.low if interval else None,
        high=interval.high if interval else None,
        chance=chance.value,
        chance_standard_error=chance.standard_error,
        mean_margin=float(known.mean()) if known.size else None,
        outcomes=outcomes.tolist(),
        margins=listed(margins),
        close=close.tolist(),
    )


def outcomes_of(
    formula: Formula, grid: Grid, error: TokenError
) -> tuple[NDArray[np.uint8], Floats, NDArray[np.bool_]]:
    """Return outcome code, margin, and "too close to call" per item: True if errors within the bound could change the
    outcome."""
    n_items = len(grid.items)
    if not formula.references:
        held = TRUE if formula.evaluate({}) else FALSE
        return np.full(n_items, held, dtype=np.uint8), np.full(n_items, math.nan), np.zeros(n_items, np.bool_)
    bits = {reference: grid.bits[reference] for reference in formula.references}
    judged = formula.evaluate_items(bits)
    evaluable = judged.outcome != NOT_EVALUABLE
    doubtful = formula.doubtful_items(bits, lambda slopes: margin_bounds(error, grid.tokens, slopes))
    return judged.outcome, judged.margin, doubtful & evaluable & (judged.outcome != TIE)


def margin_bounds(error: TokenError, tokens: Mapping[Reference, Ints], slopes: Slopes) -> Floats:
    """Compute `TokenError.of_margin` for every item at once, in bits. A margin sums `tokens[reference]` token
    values of each reference, each `slopes[reference]` times."""
    weight, count = np.zeros(()), np.zeros(())
    for reference, slope in slopes.items():
        weight = weight + slope**2 * tokens[reference]
        count = count + (slope != 0) * tokens[reference]
        whole = slopes.get((reference[0], "*"))
        if whole is not None and reference[1] != "*":  # the sentence includes the region's tokens once more
            weight = weight + np.maximum(2 * slope * whole, 0) * tokens[reference]
    return np.asarray(error.of_margin(count, weight))


def listed(values: Floats) -> list[Any]:
    """Convert to plain lists, NaN to None."""
    plain = values.astype(object)
    plain[~np.isfinite(values)] = None
    values_list: list[Any] = plain.tolist()
    return values_list
