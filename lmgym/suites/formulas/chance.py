"""Chance level: the probability that a formula is true of random surprisals.

The model: all distinct ``(condition, region)`` values are independent draws from one continuous distribution over
positive numbers of bits. ``(*;%c%)`` is the sum of all regions of ``c``, both those named in the formula and the
rest. Two different quantities are then equal with probability 0, so the tolerance of ``=`` does not matter.

Exact results follow from four facts: parts that share no value are independent; a difference whose coefficients are
the same with all signs flipped is positive half of the time; a sum of positive values is positive; and if only the
order of the values matters, all orders are equally likely and are counted (up to 8 values). The second and fourth
require identically distributed values, which a region and the rest of a sentence are not. All other formulas are
simulated with gamma-distributed surprisals (shape 2, mean 8 bits; the rest of m regions has shape 2m).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .evaluation import ABSOLUTE_TOLERANCE, TRUE, evaluate
from .nodes import (
    AnyNode,
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
    references,
    walk,
)

MAX_COUNTED_VALUES = 8
SAMPLES = 100_000
GAMMA_SHAPE, GAMMA_SCALE = 2.0, 4.0
_MAX_DRAWS = 2_000_000
_MAX_BITS = 2_000
_YES = Comparison("<", Number(0.0), Number(1.0))
_NO = Comparison("<", Number(1.0), Number(0.0))
_Key = tuple[str, Region]


@dataclass(frozen=True, slots=True)
class ChanceLevel:
    """Probability that a formula is true by chance.

    Attributes:
        exact: computed, not simulated.
        standard_error: of the simulation; 0 if exact.
        assumed_bits: mean of the simulated surprisals if the level depends on it, because the formula compares bits
            with a constant; None if the level does not depend on the scale.
        assumed_regions: number of regions of a sentence used to simulate ``*``; None if not needed.
        assumes_independence: the formula joins comparisons, and the level changes if these correlate beyond the values
            they share.
    """

    value: float
    exact: bool
    standard_error: float = 0.0
    assumed_bits: float | None = None
    assumed_regions: int | None = None
    assumes_independence: bool = False


@dataclass(frozen=True, slots=True)
class _Ideal:
    """Settings of a draw. ``rest`` maps a condition to the number of regions that ``*`` represents in the tree."""

    seed: int
    rest: Mapping[str, int]

    def regions(self, key: _Key) -> int:
        return self.rest[key[0]] if key[1] == "*" else 1


@lru_cache(maxsize=512)
def chance_level(root: Boolean, seed: int = 0, n_regions: int | None = None) -> ChanceLevel:
    """Compute the chance level of a formula. Deterministic for a tree and a seed.

    Args:
        n_regions: number of regions of the suite, which matters only for ``*``. The default is the smallest number
            consistent with the formula: at least its highest region number, and one more than the regions it names of
            any condition.
    """
    tree, ideal, regions = _spell_out(root, seed, n_regions)
    level = _level_of(tree, ideal)
    comparisons = sum(isinstance(node, Comparison) for node, _ in walk(root))
    return replace(
        level,
        assumed_regions=None if level.exact else regions,
        assumes_independence=comparisons > 1 and 0 < level.value < 1,
    )


def _spell_out(root: Boolean, seed: int, n_regions: int | None) -> tuple[Boolean, _Ideal, int | None]:
    """Replace each sentence by the sum of its named regions and of the rest, which ``*`` represents in the result.

    Returns:
        The tree, the sampling of values, and the number of regions of a sentence (None without ``*``).
    """
    keys = {reference.key for reference in references(root)}
    sentences = {condition for condition, region in keys if region == "*"}
    if not sentences:
        return root, _Ideal(seed, {}), None
    named = {
        condition: sorted(region for one, region in keys if one == condition and not isinstance(region, str))
        for condition in sentences
    }
    if n_regions is None:
        highest = max((region for _, region in keys if not isinstance(region, str)), default=1)
        n_regions = max(highest, *(len(regions) + 1 for regions in named.values()))
    rest = {condition: max(0, n_regions - len(regions)) for condition, regions in named.items()}

    def sentence(reference: Reference) -> Numeric:
        terms = [Reference(reference.condition, region) for region in named[reference.condition]]
        if rest[reference.condition]:
            terms.append(Reference(reference.condition, "*"))
        first, *others = terms
        return Arithmetic(first, tuple(("+", term) for term in others)) if others else first

    return _with_sentences(root, sentence), _Ideal(seed, rest), n_regions


def _with_sentences(node: AnyNode, sentence: Callable[[Reference], Numeric]) -> Any:
    """Replace every ``*`` by ``sentence``."""

    def spelled(part: AnyNode) -> Any:
        return _with_sentences(part, sentence)

    match node:
        case Number():
            return node
        case Reference():
            return sentence(node) if node.region == "*" else node
        case Negative() | Not():
            return replace(node, operand=spelled(node.operand))
        case Arithmetic():
            rest = tuple((operator, spelled(term)) for operator, term in node.rest)
            return replace(node, first=spelled(node.first), rest=rest)
        case Call():
            return replace(node, arguments=tuple(spelled(part) for part in node.arguments))
        case Comparison():
            return replace(node, left=spelled(node.left), right=spelled(node.right))
        case Logic():
            return replace(node, operands=tuple(spelled(part) for part in node.operands))


def _level_of(root: Boolean, ideal: _Ideal) -> ChanceLevel:
    divisors = [term for term in _divisors(root) if not isinstance(term, Number) or term.value == 0]
    if not divisors:
        return _level(_simplify(root), ideal)
    for divisor in divisors:
        form = _linear(divisor)
        if form is not None and not form.coefficients and form.constant == 0:
            return ChanceLevel(0.0, True)  # never evaluable
    return _simulate(root, ideal)


def _divisors(root: Boolean) -> list[Numeric]:
    terms = [term for node, _ in walk(root) if isinstance(node, Arithmetic) for term in node.rest]
    return [term for operator, term in terms if operator == "/"]


# --- independent parts


def _level(node: Boolean, ideal: _Ideal) -> ChanceLevel:
    if isinstance(node, Not):
        inner = _level(node.operand, ideal)
        return replace(inner, value=1.0 - inner.value)
    if isinstance(node, Logic):
        parts = [_part(node, members) for members in _connected(node.operands)]
        if len(parts) > 1:
            return _combine(node.operator, [_level(part, ideal) for part in parts])
    return _single(node, ideal)


def _part(node: Logic, operands: Sequence[Boolean]) -> Boolean:
    return operands[0] if len(operands) == 1 else Logic(node.operator, tuple(operands))


def _connected(operands: Iterable[Boolean]) -> list[list[Boolean]]:
    """Group operands so that different groups share no value."""
    groups: list[tuple[set[_Key], list[Boolean]]] = []
    for operand in operands:
        keys = {reference.key for reference in references(operand)}
        members = [operand]
        apart = []
        for other_keys, other_members in groups:
            if keys & other_keys:
                keys |= other_keys
                members = other_members + members
            else:
                apart.append((other_keys, other_members))
        groups = [*apart, (keys, members)]
    return [members for _, members in groups]


def _combine(operator: str, parts: Sequence[ChanceLevel]) -> ChanceLevel:
    """Combine independent events: all of them (``&``), or at least one (``|``)."""
    values = [part.value if operator == "&" else 1.0 - part.value for part in parts]
    product = math.prod(values)
    value = product if operator == "&" else 1.0 - product
    decided = any(part.exact and share == 0 for part, share in zip(parts, values, strict=True))
    if decided or all(part.exact for part in parts):
        return ChanceLevel(value, True)
    assumed = next((part.assumed_bits for part in parts if part.assumed_bits is not None), None)
    mean, variance = 1.0, 0.0  # of the product; computed factor by factor to avoid cancellation
    for part, share in zip(parts, values, strict=True):
        error = part.standard_error**2
        variance = variance * (share * share + error) + mean * mean * error
        mean *= share
    return ChanceLevel(value, False, math.sqrt(variance), assumed)


# --- one connected part


def _single(node: Comparison | Logic, ideal: _Ideal) -> ChanceLevel:
    keys = _keys(node)
    if not keys:
        return ChanceLevel(float(evaluate(node, {}, 1).outcome[0] == TRUE), True)
    if isinstance(node, Comparison):
        known = _compared(node, ideal)
        if known is not None:
            return ChanceLevel(float(known), True)
    are_alike = len({ideal.regions(key) for key in keys}) == 1
    if len(keys) <= MAX_COUNTED_VALUES and are_alike and _is_about_order(node):
        return _count_orders(node, keys)
    return _simulate(node, ideal)


def _keys(node: Boolean) -> list[_Key]:
    """List distinct references in the order of the text, so that renaming a condition changes nothing."""
    return list(dict.fromkeys(reference.key for reference in references(node)))


def _compared(node: Comparison, ideal: _Ideal) -> float | None:
    """Return the chance level of a single comparison if it follows from symmetry, else None."""
    form = _linear(Arithmetic(node.left, (("-", node.right),)))
    if form is None or not form.coefficients or form.constant != 0:
        return None
    alike: dict[int, list[Fraction]] = {}
    for key, value in form.coefficients.items():
        alike.setdefault(ideal.regions(key), []).append(value)
    is_symmetric = all(sorted(values) == sorted(-value for value in values) for values in alike.values())
    return 0.5 if is_symmetric else None


def _is_about_order(node: Boolean) -> bool:
    comparisons = [part for part, _ in walk(node) if isinstance(part, Comparison)]
    return all(part in (_YES, _NO) or (_is_rank(part.left) and _is_rank(part.right)) for part in comparisons)


def _is_rank(node: Numeric) -> bool:
    """Return whether a node always takes the value of one of its references: a reference, or a min or max of such
    nodes."""
    if isinstance(node, Call) and (node.function in ("min", "max") or len(node.arguments) == 1):
        return node.function != "abs" and all(_is_rank(argument) for argument in node.arguments)
    return isinstance(node, Reference)


def _count_orders(node: Boolean, keys: Sequence[_Key]) -> ChanceLevel:
    orders = _orders(len(keys))
    outcome = evaluate(node, dict(zip(keys, orders, strict=True)), orders.shape[1])
    return ChanceLevel(outcome.passed / outcome.total, True)


@lru_cache(maxsize=MAX_COUNTED_VALUES)
def _orders(count: int) -> NDArray[np.float64]:
    """Return all orders of ``count`` values, float64[count, count!]."""
    orders = np.array(list(permutations(range(count))), dtype=np.float64).T.copy()
    orders.setflags(write=False)
    return orders


def _simulate(node: Boolean, ideal: _Ideal) -> ChanceLevel:
    keys = _keys(node)
    if not keys:
        return ChanceLevel(float(evaluate(node, {}, 1).passed), True)
    count = min(SAMPLES, _MAX_DRAWS // len(keys))
    shapes = GAMMA_SHAPE * np.array([[ideal.regions(key)] for key in keys])  # a sum of gammas is a gamma
    draws = np.random.default_rng(ideal.seed).gamma(shapes, GAMMA_SCALE, size=(len(keys), count))
    passed = evaluate(node, dict(zip(keys, draws, strict=True)), count).passed
    smoothed = (passed + 1) / (count + 2)  # 0 of n must not claim certainty
    assumed = None if _is_scale_free(node) else GAMMA_SHAPE * GAMMA_SCALE
    return ChanceLevel(passed / count, False, math.sqrt(smoothed * (1 - smoothed) / count), assumed)


# --- formulas that do not depend on the unit


_ANY = object()
"""Power of the constant 0, which is 0 in every unit."""


def _is_scale_free(root: Boolean) -> bool:
    """Return whether the formula is invariant when all surprisals are multiplied by one number.

    This is so if both sides of every comparison scale with the same power. The tolerance of ``=`` is ignored.
    """
    for node, _ in walk(root):
        if isinstance(node, Comparison):
            left, right = _power(node.left), _power(node.right)
            if left is None or right is None or _common([left, right]) is None:
                return False
    return True


def _power(node: Numeric) -> object | None:
    """Return the power of the unit with which a node scales (0 for a constant); None if its terms scale
    differently."""
    match node:
        case Number():
            return _ANY if node.value == 0 else 0
        case Reference():
            return 1
        case Negative():
            return _power(node.operand)
        case Call():
            return _common([_power(argument) for argument in node.arguments])
        case Arithmetic():
            power = _power(node.first)
            for operator, term in node.rest:
                other = _power(term)
                if operator in "+-":
                    power = _common([power, other])
                elif isinstance(power, int) and isinstance(other, int):
                    power = power + other if operator == "*" else power - other
                elif power is not None and other is not None:
                    power = _ANY
                else:
                    power = None
            return power


def _common(powers: Sequence[object | None]) -> object | None:
    known = {power for power in powers if power is not _ANY}
    if not known:
        return _ANY
    return known.pop() if len(known) == 1 else None


# --- comparisons of linear forms


@dataclass(frozen=True, slots=True)
class _Linear:
    """A linear form of values plus a constant; no coefficient is 0."""

    coefficients: dict[_Key, Fraction]
    constant: Fraction

    def plus(self, other: _Linear, factor: Fraction) -> _Linear | None:
        total = dict(self.coefficients)
        for key, value in other.coefficients.items():
            total[key] = total.get(key, Fraction(0)) + factor * value
        return _bounded({k: v for k, v in total.items() if v}, self.constant + factor * other.constant)


def _bounded(coefficients: dict[_Key, Fraction], constant: Fraction) -> _Linear | None:
    numbers = [constant, *coefficients.values()]
    if any(max(n.numerator.bit_length(), n.denominator.bit_length()) > _MAX_BITS for n in numbers):
        return None
    return _Linear(coefficients, constant)


def _linear(node: Numeric) -> _Linear | None:
    """Convert a node to a linear form in exact arithmetic; None if it is not linear or its numbers become huge."""
    zero = _Linear({}, Fraction(0))
    match node:
        case Number():
            return _bounded({}, Fraction(repr(node.value)))
        case Reference():
            return _Linear({node.key: Fraction(1)}, Fraction(0))
        case Negative():
            inner = _linear(node.operand)
            return None if inner is None else zero.plus(inner, Fraction(-1))
        case Call():
            return _linear_call(node)
        case Arithmetic():
            total = _linear(node.first)
            for operator, term in node.rest:
                other = _linear(term)
                if total is None or other is None:
                    return None
                total = _linear_step(operator, total, other)
            return total


def _linear_step(operator: str, total: _Linear, other: _Linear) -> _Linear | None:
    zero = _Linear({}, Fraction(0))
    if operator in "+-":
        return total.plus(other, Fraction(1 if operator == "+" else -1))
    if operator == "/":
        if other.coefficients or other.constant == 0:
            return None
        return zero.plus(total, 1 / other.constant)
    if other.coefficients:
        total, other = other, total
    return None if other.coefficients else zero.plus(total, other.constant)


def _linear_call(node: Call) -> _Linear | None:
    if node.function in ("abs", "min", "max") and len(node.arguments) > 1:
        return None
    forms = [_linear(argument) for argument in node.arguments]
    total: _Linear | None = _Linear({}, Fraction(0))
    weight = Fraction(1, len(forms)) if node.function == "mean" else Fraction(1)
    for form in forms:
        total = None if total is None or form is None else total.plus(form, weight)
    if node.function != "abs" or total is None:
        return total
    signs = {value > 0 for value in [*total.coefficients.values(), total.constant] if value}
    if len(signs) > 1:
        return None
    return total if signs != {False} else _Linear({}, Fraction(0)).plus(total, Fraction(-1))


def _simplify(node: Boolean) -> Boolean:
    """Simplify comparisons by their linear forms; truth values under the model stay the same."""
    match node:
        case Not():
            return Not(_simplify(node.operand))
        case Logic():
            return Logic(node.operator, tuple(_simplify(part) for part in node.operands))
        case Comparison():
            return _simplify_comparison(node)


def _simplify_comparison(node: Comparison) -> Comparison:
    form = _linear(Arithmetic(node.left, (("-", node.right),)))
    if form is None:
        return node
    if not form.coefficients:
        return _YES if _constant_truth(node.operator, form.constant) else _NO
    if node.operator in ("=", "!="):
        return _YES if node.operator == "!=" else _NO
    signs = {value > 0 for value in [*form.coefficients.values(), form.constant] if value}
    if len(signs) == 1:
        return _YES if signs == {node.operator in (">", ">=")} else _NO
    values = list(form.coefficients.items())
    if len(values) == 2 and form.constant == 0 and values[0][1] == -values[1][1]:
        (first, weight), (second, _) = values
        upper, lower = (first, second) if weight > 0 else (second, first)
        return Comparison(node.operator, Reference(*upper), Reference(*lower))
    return node


def _constant_truth(operator: str, difference: Fraction) -> bool:
    if operator in ("=", "!="):
        return (abs(difference) <= Fraction(repr(ABSOLUTE_TOLERANCE))) == (operator == "=")
    if difference == 0:
        return operator in ("<=", ">=")
    return (difference > 0) == (operator in (">", ">="))
