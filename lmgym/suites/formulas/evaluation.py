"""Evaluate a formula over many items at once, vectorised with numpy.

Equality is numpy's ``isclose(a, b, rtol=1e-5, atol=1e-3)`` as in syntaxgym-core 0.8a1:
``|a - b| <= 1e-3 + 1e-5 * |b|`` bits, which is not symmetric.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .errors import FormulaError
from .nodes import (
    Arithmetic,
    Boolean,
    Call,
    Comparison,
    Logic,
    Negative,
    Not,
    Number,
    Numeric,
    Reference,
    Region,
    canonical,
    references,
)

FALSE, TRUE, TIE, NOT_EVALUABLE = 0, 1, 2, 3
OUTCOME_NAMES = ("failed", "held", "tie", "not evaluable")
"""Names by outcome code, as in files, API and pages."""

ABSOLUTE_TOLERANCE = 1e-3
RELATIVE_TOLERANCE = 1e-5
ROUNDING_BITS = 1e-9
"""Smaller differences are float64 rounding, such as that of the same bits summed in another order: sides are equal."""

Floats = NDArray[np.float64]
Truths = NDArray[np.bool_]
Values = Mapping[tuple[str, Region], Floats]


@dataclass(frozen=True, eq=False)
class ItemOutcomes:
    """Outcomes of a formula on n items.

    Attributes:
        outcome: uint8[n], FALSE, TRUE, TIE or NOT_EVALUABLE.
        margin: float64[n], distance in bits from the opposite outcome: positive if true, negative if false, 0 for a tie
            (and for an inclusive comparison with equal sides), NaN if not evaluable.
    """

    outcome: NDArray[np.uint8]
    margin: Floats

    @property
    def total(self) -> int:
        """Number of items."""
        return int(self.outcome.size)

    @property
    def passed(self) -> int:
        """Number of items for which the formula is true."""
        return self._count(TRUE)

    @property
    def failed(self) -> int:
        """Number of items for which the formula is false, excluding ties; the four counts add up to ``total``."""
        return self._count(FALSE)

    @property
    def ties(self) -> int:
        """Number of items for which the formula is false with a margin of exactly 0 bits."""
        return self._count(TIE)

    @property
    def not_evaluable(self) -> int:
        """Number of items with a missing or undefined value (NaN)."""
        return self._count(NOT_EVALUABLE)

    def _count(self, code: int) -> int:
        return int(np.count_nonzero(self.outcome == code))


def gather(root: Boolean, mapping: Mapping[tuple[str, Region], ArrayLike], count: int) -> Values:
    """Collect the values that a formula refers to, each float64[count] in bits.

    A missing ``(condition, "*")`` is the sum of the condition's regions.

    Raises:
        FormulaError: a reference has no value, or values of a different shape.
    """
    values: dict[tuple[str, Region], Floats] = {}
    for reference in references(root):
        if reference.key in values:
            continue
        if reference.key in mapping:
            array = np.asarray(mapping[reference.key], dtype=np.float64)
        else:
            array = _sentence_total(reference, mapping)
        if array.shape != (count,):
            raise FormulaError(
                f"{canonical(reference)} has values of shape {array.shape}, not ({count},).",
                reference.start,
                "",
                reference.end - reference.start,
            )
        values[reference.key] = array
    return values


def _sentence_total(reference: Reference, mapping: Mapping[tuple[str, Region], ArrayLike]) -> Floats:
    regions = sorted(
        region
        for condition, region in mapping
        if condition == reference.condition and not isinstance(region, str)
    )
    if reference.region != "*" or not regions:
        raise FormulaError(
            f"No value for {canonical(reference)}.",
            reference.start,
            "",
            reference.end - reference.start,
        )
    parts = [np.asarray(mapping[reference.condition, region], dtype=np.float64) for region in regions]
    if len({part.shape for part in parts}) > 1:
        raise FormulaError(
            f'The regions of condition "{reference.condition}" differ in their number of items.',
            reference.start,
        )
    return reduce(np.add, parts)


def evaluate(root: Boolean, values: Values, count: int) -> ItemOutcomes:
    """Compute outcomes and margins of ``count`` items.

    Args:
        values: float64[count] for every reference, from `gather`.
    """
    with np.errstate(all="ignore"):
        truth, margin = _boolean(root, values)
    truth = np.broadcast_to(truth, (count,))
    margin = np.broadcast_to(margin, (count,)) + 0.0  # also turns -0.0 into 0.0
    outcome = truth.astype(np.uint8)
    outcome[~truth & (margin == 0)] = TIE
    outcome[np.isnan(margin)] = NOT_EVALUABLE
    outcome.setflags(write=False)
    margin.setflags(write=False)
    return ItemOutcomes(outcome, margin)


def _boolean(node: Boolean, values: Values) -> tuple[Truths, Floats]:
    """Return truth and margin; the margin is NaN if a side of any comparison below is NaN."""
    match node:
        case Comparison():
            return compare(node, values)
        case Not():
            truth, margin = _boolean(node.operand, values)
            return ~truth, -margin
        case Logic():
            parts = [_boolean(part, values) for part in node.operands]
            truths, margins = [part[0] for part in parts], [part[1] for part in parts]
            if node.operator == "&":
                return reduce(np.logical_and, truths), reduce(np.minimum, margins)
            return reduce(np.logical_or, truths), reduce(np.maximum, margins)


def compare(node: Comparison, values: Values) -> tuple[Truths, Floats]:
    """Return truth and margin of one comparison."""
    a, b = _numeric(node.left, values), _numeric(node.right, values)
    missing = np.isnan(a) | np.isnan(b)
    truth: Truths
    if node.operator in ("=", "!="):
        truth, margin = _close(a, b)
        if node.operator == "!=":
            truth, margin = ~truth, -margin
    else:
        upper, lower = (a, b) if node.operator in (">", ">=") else (b, a)
        margin = _without_rounding(np.where(upper == lower, 0.0, upper - lower))
        truth = np.asarray(margin > 0 if node.operator in ("<", ">") else margin >= 0)
    return truth, np.where(missing, np.nan, margin)


def sides(node: Comparison, values: Values) -> tuple[Floats, Floats]:
    """Return both sides of a comparison in bits; NaN = no value."""
    with np.errstate(all="ignore"):
        return _numeric(node.left, values), _numeric(node.right, values)


def _close(a: Floats, b: Floats) -> tuple[Truths, Floats]:
    margin = ABSOLUTE_TOLERANCE + RELATIVE_TOLERANCE * np.abs(b) - np.where(a == b, 0.0, np.abs(a - b))
    margin = np.where(np.isnan(margin) | (np.isinf(b) & (a != b)), -np.inf, _without_rounding(margin))
    return margin >= 0, margin


def _without_rounding(margin: Floats) -> Floats:
    return np.where(np.abs(margin) < ROUNDING_BITS, 0.0, margin)


def _numeric(node: Numeric, values: Values) -> Floats:
    match node:
        case Number():
            return np.asarray(node.value, dtype=np.float64)
        case Reference():
            return values[node.key]
        case Negative():
            return -_numeric(node.operand, values)
        case Call():
            return _call(node, values)
        case Arithmetic():
            total = _numeric(node.first, values)
            for operator, term in node.rest:
                total = _apply(operator, total, _numeric(term, values))
            return total


def _apply(operator: str, a: Floats, b: Floats) -> Floats:
    if operator == "+":
        return np.asarray(a + b)
    if operator == "-":
        return np.asarray(a - b)
    if operator == "*":
        return np.asarray(a * b)
    return np.asarray(a / np.where(b == 0, np.nan, b))


def _call(node: Call, values: Values) -> Floats:
    arguments = [_numeric(argument, values) for argument in node.arguments]
    match node.function:
        case "abs":
            return np.asarray(np.abs(arguments[0]))
        case "min":
            return reduce(np.minimum, arguments)
        case "max":
            return reduce(np.maximum, arguments)
        case "sum":
            return reduce(np.add, arguments)
        case "mean":
            return np.asarray(reduce(np.add, arguments) / len(arguments))
