"""From region bits to outcomes: formulas over all items at once, and which of them are too close to call.

Pure: no Django, no torch. Units are bits.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gym.lib.stats.intervals import wilson
from gym.runs.core.token_arrays import Floats, Ints
from models_registry.engine import ERROR_BITS
from suites.formats import PredictionDoc, SuiteDocument
from suites.formulas import FALSE, NOT_EVALUABLE, TIE, TRUE, Formula, Slopes, parse

ROUNDING_BITS = 1e-9
"""Margins smaller than this are float64 rounding, not a difference."""

ASSUMED_ERROR_BITS = ERROR_BITS["float32"]
"""Bound on one token's error where nobody says how the numbers were computed."""

Reference = tuple[str, int | str]  # (condition, region number or "*")


@dataclass(frozen=True)
class PredictionOutcome:
    """One formula over all items, in the order of `RunResult.items`.

    `close[k]` says that item k's outcome hangs on a margin inside the bound on the numeric error: too close to call. It
    still counts, by its sign; `too_close` counts such items."""

    position: int
    name: str
    formula: str
    total: int
    passed: int
    ties: int
    not_evaluable: int
    too_close: int
    ci_low: float | None
    ci_high: float | None
    chance: float | None
    chance_error: float
    mean_margin: float | None
    outcomes: list[int]
    margins: list[float | None]
    close: list[bool] = field(default_factory=list)

    @property
    def rate(self) -> float | None:
        return self.passed / self.total if self.total else None


@dataclass(frozen=True)
class Grid:
    """(condition, region number or "*") -> one value per item. `bits`: NaN = no value. `tokens`: how many token values
    it is made of. "*" is the whole sentence."""

    items: list[int]
    bits: dict[Reference, Floats]
    tokens: dict[Reference, Ints]


def outcomes_alone(position: int, prediction: PredictionDoc, held: Sequence[bool]) -> PredictionOutcome:
    """A prediction of which nothing is known but for which items it held."""
    passed, total = sum(held), len(held)
    interval = wilson(passed, total)
    chance = parse(prediction.formula).chance_level()
    return PredictionOutcome(
        position=position,
        name=prediction.name,
        formula=prediction.formula,
        total=total,
        passed=passed,
        ties=0,
        not_evaluable=0,
        too_close=0,
        ci_low=interval.low if interval else None,
        ci_high=interval.high if interval else None,
        chance=chance.value,
        chance_error=chance.standard_error,
        mean_margin=None,
        outcomes=[TRUE if value else FALSE for value in held],
        margins=[None] * total,
        close=[False] * total,
    )


def evaluate_predictions(document: SuiteDocument, grid: Grid, error_bits: float) -> list[PredictionOutcome]:
    """Every prediction of the document over all items."""
    return [
        evaluate_prediction(number, one, grid, error_bits) for number, one in enumerate(document.predictions)
    ]


def evaluate_prediction(
    position: int, prediction: PredictionDoc, grid: Grid, error_bits: float = ASSUMED_ERROR_BITS
) -> PredictionOutcome:
    """Outcome of one formula for every item."""
    n_items = len(grid.items)
    formula = parse(prediction.formula)
    outcomes, margins, close = outcomes_of(formula, grid, error_bits)
    passed = int((outcomes == TRUE).sum())
    interval = wilson(passed, n_items)
    chance = formula.chance_level()
    known = margins[np.isfinite(margins)]
    return PredictionOutcome(
        position=position,
        name=prediction.name,
        formula=prediction.formula,
        total=n_items,
        passed=passed,
        ties=int((outcomes == TIE).sum()),
        not_evaluable=int((outcomes == NOT_EVALUABLE).sum()),
        too_close=int(close.sum()),
        ci_low=interval.low if interval else None,
        ci_high=interval.high if interval else None,
        chance=chance.value,
        chance_error=chance.standard_error,
        mean_margin=float(known.mean()) if known.size else None,
        outcomes=outcomes.tolist(),
        margins=listed(margins),
        close=close.tolist(),
    )


def outcomes_of(
    formula: Formula, grid: Grid, error_bits: float
) -> tuple[NDArray[np.uint8], Floats, NDArray[np.bool_]]:
    """Outcome code, margin and "too close to call" per item: whether errors inside the bound could change the outcome.
    Sides that differ by rounding alone, as sums of the same bits in another grouping do, are equal: a tie."""
    n_items = len(grid.items)
    if not formula.references:
        held = TRUE if formula.evaluate({}) else FALSE
        return np.full(n_items, held, dtype=np.uint8), np.full(n_items, math.nan), np.zeros(n_items, np.bool_)
    bits = {reference: grid.bits[reference] for reference in formula.references}
    judged = formula.evaluate_items(bits)
    evaluable = judged.outcome != NOT_EVALUABLE
    size = np.abs(judged.margin)
    outcomes = np.where((size < ROUNDING_BITS) & evaluable, np.uint8(TIE), judged.outcome)
    doubtful = formula.doubtful_items(bits, lambda slopes: margin_bounds(error_bits, grid.tokens, slopes))
    return outcomes, judged.margin, doubtful & evaluable & (outcomes != TIE)


def margin_bounds(error_bits: float, tokens: Mapping[Reference, Ints], slopes: Slopes) -> Floats:
    """`engine.margin_bound` for every item at once, in bits. A margin has `tokens[reference]` token values of each
    reference, and each of them `slopes[reference]` times."""
    weight, count = np.zeros(()), np.zeros(())
    for reference, slope in slopes.items():
        weight = weight + slope**2 * tokens[reference]
        count = count + (slope != 0) * tokens[reference]
        whole = slopes.get((reference[0], "*"))
        if whole is not None and reference[1] != "*":  # the sentence has the region's tokens once more
            weight = weight + np.maximum(2 * slope * whole, 0) * tokens[reference]
    return error_bits * np.where(count > 1, 2, 1) * np.sqrt(weight)


def listed(values: Floats) -> list[Any]:
    """Plain lists with None for what is no number."""
    plain = values.astype(object)
    plain[~np.isfinite(values)] = None
    found: list[Any] = plain.tolist()
    return found
