"""Find items whose outcome could change within the error of their surprisals. Vectorised over items.

The slope of a margin with respect to a region's value is the factor by which the value enters the margin.
Margins are piecewise linear in the values unless regions are multiplied or divided; then the local slope is used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from . import evaluation
from .evaluation import RELATIVE_TOLERANCE, Floats, Truths, Values
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
)

Slopes = Mapping[tuple[str, Region], Floats]
"""Derivative of a number with respect to each reference: float64[n], or one number for all items. A missing reference
has slope 0."""

Bound = Callable[[Slopes], Floats]
"""Function from the slopes of a margin to its maximum error in bits."""

_Dual = tuple[Floats, Slopes]


def doubtful(root: Boolean, values: Values, count: int, bound: Bound) -> NDArray[np.bool_]:
    """Find items whose outcome depends on comparisons with a margin below its error bound.

    A comparison with equal sides is never doubtful. One that does not decide the outcome, such as the left side of
    `… & false`, does not make an item doubtful.

    Returns:
        bool[count].
    """
    with np.errstate(all="ignore"):
        return np.broadcast_to(_doubt(root, values, bound)[1], (count,)).copy()


def _doubt(node: Boolean, values: Values, bound: Bound) -> tuple[Truths, Truths]:
    """Return truth values and a mask of doubtful ones."""
    match node:
        case Comparison():
            truth, margin = evaluation.compare(node, values)
            return truth, (margin != 0) & (np.abs(margin) < bound(margin_slopes(node, values)))
        case Not():
            truth, doubt = _doubt(node.operand, values, bound)
            return ~truth, doubt
        case Logic():
            parts = [_doubt(part, values, bound) for part in node.operands]
            any_doubtful = reduce(np.logical_or, [doubt for _, doubt in parts])
            decisive = node.operator == "|"
            settled = reduce(np.logical_or, [(truth == decisive) & ~doubt for truth, doubt in parts])
            join = np.logical_or if decisive else np.logical_and
            return reduce(join, [truth for truth, _ in parts]), any_doubtful & ~settled


def margin_slopes(node: Comparison, values: Values) -> Slopes:
    """Return the slopes of a comparison's margin; at a jump, the slopes on one side."""
    (a, da), (b, db) = _dual(node.left, values), _dual(node.right, values)
    if node.operator in ("=", "!="):
        sign, apart = (1.0 if node.operator == "=" else -1.0), _sign(a - b)
        return _mixed([da, db], [-sign * apart, sign * (RELATIVE_TOLERANCE * _sign(b) + apart)])
    upper = 1.0 if node.operator in (">", ">=") else -1.0
    return _mixed([da, db], [np.float64(upper), np.float64(-upper)])


def _dual(node: Numeric, values: Values) -> _Dual:
    """Evaluate a number with its slopes."""
    match node:
        case Number():
            return np.asarray(node.value, dtype=np.float64), {}
        case Reference():
            return values[node.key], {node.key: np.ones(())}
        case Negative():
            value, slopes = _dual(node.operand, values)
            return -value, _mixed([slopes], [-np.ones(())])
        case Call():
            return _call(node, values)
        case Arithmetic():
            parts = [_dual(node.first, values), *(_dual(term, values) for _, term in node.rest)]
            operators = [operator for operator, _ in node.rest]
            return _sum(parts, operators) if operators[0] in "+-" else _product(parts, operators)


def _sum(parts: Sequence[_Dual], operators: Sequence[str]) -> _Dual:
    signs = [np.float64(-1.0 if operator == "-" else 1.0) for operator in ("+", *operators)]
    value = reduce(np.add, [sign * value for sign, (value, _) in zip(signs, parts, strict=True)])
    return np.asarray(value), _mixed([slopes for _, slopes in parts], signs)


def _product(parts: Sequence[_Dual], operators: Sequence[str]) -> _Dual:
    total, slopes = parts[0]
    for operator, (value, more) in zip(operators, parts[1:], strict=True):
        if operator == "*":
            slopes, total = _mixed([slopes, more], [value, total]), np.asarray(total * value)
        else:
            value = np.where(value == 0, np.nan, value)
            total = np.asarray(total / value)
            slopes = _mixed([slopes, more], [1 / value, -total / value])
    return total, slopes


def _call(node: Call, values: Values) -> _Dual:
    parts = [_dual(argument, values) for argument in node.arguments]
    values_of, slopes = [value for value, _ in parts], [part_slopes for _, part_slopes in parts]
    match node.function:
        case "abs":
            return np.asarray(np.abs(values_of[0])), _mixed(slopes, [_sign(values_of[0])])
        case "min" | "max":
            rows = np.stack(np.broadcast_arrays(*values_of))
            chosen = rows.argmin(axis=0) if node.function == "min" else rows.argmax(axis=0)
            value = rows.min(axis=0) if node.function == "min" else rows.max(axis=0)
            return value, _mixed(
                slopes, [(chosen == number).astype(np.float64) for number in range(len(parts))]
            )
        case "sum" | "mean":
            share = np.float64(1 / len(parts) if node.function == "mean" else 1)
            return np.asarray(share * reduce(np.add, values_of)), _mixed(slopes, [share] * len(parts))


def _mixed(parts: Sequence[Slopes], factors: Sequence[Floats | np.float64]) -> Slopes:
    """Return the slopes of a weighted sum of parts."""
    mixed: dict[tuple[str, Region], Floats] = {}
    for slopes, factor in zip(parts, factors, strict=True):
        for key, slope in slopes.items():
            mixed[key] = np.asarray(mixed.get(key, 0.0) + factor * slope)
    return mixed


def _sign(values: Floats) -> Floats:
    """Return -1 below 0, else 1."""
    return np.where(values < 0, -1.0, 1.0)
