"""Which items' answers small errors of the values could change. Vectorised over items, like `evaluation`.

The slope of a margin by a region's value says how often, and with what factor, that region enters it. Margins are
piecewise linear in the values, except where regions are multiplied or divided; there the slope is that at the point.
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
"""By reference: the derivative of a number by that value, float64[n] or one number for all items. A reference that is
not there has 0."""

Bound = Callable[[Slopes], Floats]
"""How far a margin with these slopes may be off, in bits."""

_Dual = tuple[Floats, Slopes]


def doubtful(root: Boolean, values: Values, count: int, bound: Bound) -> NDArray[np.bool_]:
    """bool[count]: items for which other answers of comparisons inside their bound would give another answer.

    A comparison with equal sides is never in doubt. One that decides nothing, such as the left of `… & false`, puts
    nothing in doubt."""
    with np.errstate(all="ignore"):
        return np.broadcast_to(_doubt(root, values, bound)[1], (count,)).copy()


def _doubt(node: Boolean, values: Values, bound: Bound) -> tuple[Truths, Truths]:
    """Truth, and whether it is in doubt."""
    match node:
        case Comparison():
            truth, margin = evaluation.compare(node, values)
            return truth, (margin != 0) & (np.abs(margin) < bound(margin_slopes(node, values)))
        case Not():
            truth, doubt = _doubt(node.operand, values, bound)
            return ~truth, doubt
        case Logic():
            parts = [_doubt(part, values, bound) for part in node.operands]
            some = reduce(np.logical_or, [doubt for _, doubt in parts])
            decides = node.operator == "|"
            settled = reduce(np.logical_or, [(truth == decides) & ~doubt for truth, doubt in parts])
            join = np.logical_or if decides else np.logical_and
            return reduce(join, [truth for truth, _ in parts]), some & ~settled


def margin_slopes(node: Comparison, values: Values) -> Slopes:
    """The slopes of a comparison's margin; where they jump, those of one side."""
    (a, da), (b, db) = _dual(node.left, values), _dual(node.right, values)
    if node.operator in ("=", "!="):
        sign, apart = (1.0 if node.operator == "=" else -1.0), _sign(a - b)
        return _mixed([da, db], [-sign * apart, sign * (RELATIVE_TOLERANCE * _sign(b) + apart)])
    upper = 1.0 if node.operator in (">", ">=") else -1.0
    return _mixed([da, db], [np.float64(upper), np.float64(-upper)])


def _dual(node: Numeric, values: Values) -> _Dual:
    """The value with its slopes."""
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
    given, slopes = [value for value, _ in parts], [own for _, own in parts]
    match node.function:
        case "abs":
            return np.asarray(np.abs(given[0])), _mixed(slopes, [_sign(given[0])])
        case "min" | "max":
            rows = np.stack(np.broadcast_arrays(*given))
            chosen = rows.argmin(axis=0) if node.function == "min" else rows.argmax(axis=0)
            value = rows.min(axis=0) if node.function == "min" else rows.max(axis=0)
            return value, _mixed(
                slopes, [(chosen == number).astype(np.float64) for number in range(len(parts))]
            )
        case "sum" | "mean":
            share = np.float64(1 / len(parts) if node.function == "mean" else 1)
            return np.asarray(share * reduce(np.add, given)), _mixed(slopes, [share] * len(parts))


def _mixed(parts: Sequence[Slopes], factors: Sequence[Floats | np.float64]) -> Slopes:
    """The slopes of a sum of parts, each times its factor."""
    mixed: dict[tuple[str, Region], Floats] = {}
    for slopes, factor in zip(parts, factors, strict=True):
        for key, slope in slopes.items():
            mixed[key] = np.asarray(mixed.get(key, 0.0) + factor * slope)
    return mixed


def _sign(values: Floats) -> Floats:
    """-1 below 0, else 1."""
    return np.where(values < 0, -1.0, 1.0)
