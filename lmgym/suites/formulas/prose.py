"""Describe formulas in plain English, for readers who know the suite but not the formula language."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

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

_WORDS = {
    ">": ("higher", "than"),
    "<": ("lower", "than"),
    ">=": ("at least as high", "as"),
    "<=": ("at most as high", "as"),
    "=": ("about the same", "as"),
    "!=": ("not about the same", "as"),
}
_BY = {
    ">": "by more than",
    "<": "by less than",
    ">=": "by at least as much as",
    "<=": "by at most as much as",
    "=": "by about as much as",
    "!=": "by clearly more or less than",
}
_FLIPPED = {">": "<", "<": ">", ">=": "<=", "<=": ">=", "=": "=", "!=": "!="}
_MEASURES = {
    "mean": "mean surprisal per token",
    "median": "median surprisal of tokens",
    "range": "range of the surprisals of tokens",
    "max": "highest surprisal of a token",
    "min": "lowest surprisal of a token",
}
"""Values of a region under metrics other than the sum."""
_GROUPS = {"min": "the smallest of", "max": "the largest of", "sum": "the sum of", "mean": "the mean of"}


@dataclass(frozen=True, slots=True)
class _Total:
    """Total surprisal of one or more regions of one condition."""

    condition: str
    places: tuple[Region, ...]


def describe(root: Boolean, regions: Mapping[int, str], metric: str = "sum") -> str:
    """Describe a formula as a phrase without capital letter or full stop.

    Args:
        regions: region number to name.
        metric: of the values of regions.
    """
    return _Writer(regions, metric).boolean(root)


def reference_label(reference: Reference, regions: Mapping[int, str]) -> str:
    """Name a reference: "Verb in mismatch"."""
    writer = _Writer(regions)
    return f"{writer.names((reference.region,))} in {_quote(reference.condition)}"


def side_label(node: Numeric, regions: Mapping[int, str]) -> str:
    """Name a side of a comparison: "Verb in mismatch" for regions of one condition, else as in `describe`."""
    writer, total = _Writer(regions), _total(node)
    return f"{writer.names(total.places)} in {_quote(total.condition)}" if total else writer.phrase(node)


class _Writer:
    def __init__(self, regions: Mapping[int, str], metric: str = "sum") -> None:
        self.regions = regions
        self.measure = _MEASURES.get(metric, "surprisal")

    # --- true or false

    def boolean(self, node: Boolean) -> str:
        match node:
            case Comparison():
                return " ".join(part for part in self.clause(node) if part)
            case Not():
                return f"it is not the case that {self.inner(node.operand)}"
            case Logic():
                return self.logic(node)

    def inner(self, node: Boolean) -> str:
        return f"({self.boolean(node)})" if isinstance(node, Logic) else self.boolean(node)

    def logic(self, node: Logic) -> str:
        word = "and" if node.operator == "&" else "or"
        clauses: list[str] = []
        previous = ""
        for part in node.operands:
            stem, tail = self.clause(part) if isinstance(part, Comparison) else (self.inner(part), "")
            clauses.append(tail if tail and stem == previous else f"{stem} {tail}".rstrip())
            previous = stem
        return f", {word} ".join(clauses)

    def clause(self, node: Comparison) -> tuple[str, str]:
        """Split a comparison into stem and tail; consecutive clauses with the same stem state it once."""
        operator, left, right = _turned(node)
        word, than = _WORDS[operator]
        a, b = _total(left), _total(right)
        if a and b and a.places == b.places:
            tail = f"in {_quote(a.condition)} {than} in {_quote(b.condition)}"
            return f"{self.subject(a)} is {word}", tail
        if a and b and a.condition == b.condition and _is_whole(a) == _is_whole(b):
            tail = f"{self.place(a.places)} {than} {self.place(b.places)}"
            return f"in {_quote(a.condition)}, {self.measure} is {word}", tail
        interaction = self.interaction(operator, left, right)
        return interaction or (f"{self.phrase(left)} is {word} {than} {self.phrase(right)}", "")

    def interaction(self, operator: str, left: Numeric, right: Numeric) -> tuple[str, str] | None:
        first, second = _difference(left), _difference(right)
        if not first or not second or len({total.places for total in (*first, *second)}) > 1:
            return None
        (a, b), (c, d) = first, second
        stem = f"{self.place(a.places)}, {_quote(a.condition)} exceeds {_quote(b.condition)}"
        return f"{stem} {_BY[operator]} {_quote(c.condition)} exceeds {_quote(d.condition)}", ""

    # --- numbers

    def phrase(self, node: Numeric) -> str:
        total = _total(node)
        if total:
            return f"{self.subject(total)} in {_quote(total.condition)}"
        match node:
            case Number():
                return f"{node.value:g} bit" if node.value == 1 else f"{node.value:g} bits"
            case Negative():
                return f"minus {self.term(node.operand)}"
            case Call():
                return self.call(node)
            case Arithmetic():
                return self.arithmetic(node)
            case Reference():  # always a total
                return ""

    def term(self, node: Numeric) -> str:
        """Return a phrase that is unambiguous inside a longer one."""
        closed = _total(node) or not isinstance(node, Arithmetic)
        return self.phrase(node) if closed else f"({self.phrase(node)})"

    def addend(self, node: Numeric) -> str:
        return self.phrase(node) if _sides(node) else self.term(node)

    def call(self, node: Call) -> str:
        first = node.arguments[0]
        if node.function != "abs":
            return f"{_GROUPS[node.function]} {_list([self.term(argument) for argument in node.arguments])}"
        sides = _sides(first)
        if sides:
            return f"the absolute difference between {self.term(sides[0])} and {self.term(sides[1])}"
        return f"the absolute value of {self.term(first)}"

    def arithmetic(self, node: Arithmetic) -> str:
        operators = {operator for operator, _ in node.rest}
        if operators <= {"*", "/"}:
            return self.product(node)
        difference, sides = _difference(node), _sides(node)
        if difference and difference[0].places == difference[1].places:
            a, b = difference
            return f"the excess of {self.subject(a)} in {_quote(a.condition)} over {_quote(b.condition)}"
        if sides:
            return f"the excess of {self.term(sides[0])} over {self.term(sides[1])}"
        if operators == {"+"}:
            return f"the sum of {_list([self.addend(t) for t in (node.first, *(t for _, t in node.rest))])}"
        words = {"+": "plus", "-": "minus"}
        return self.term(node.first) + "".join(f" {words[o]} {self.term(term)}" for o, term in node.rest)

    def product(self, node: Arithmetic) -> str:
        words = {"*": "times", "/": "divided by"}
        rest = "".join(f" {words[operator]} {self.factor(term)}" for operator, term in node.rest)
        return self.factor(node.first) + rest

    def factor(self, node: Numeric) -> str:
        return f"{node.value:g}" if isinstance(node, Number) else self.term(node)

    # --- names

    def subject(self, total: _Total) -> str:
        measure = "surprisal" if _is_whole(total) else self.measure
        summed = len(total.places) > 1 or _is_whole(total)
        return f"{'total ' if summed else ''}{measure} {self.place(total.places)}"

    def place(self, places: Sequence[Region]) -> str:
        return f"{'over' if '*' in places else 'at'} {self.names(places)}"

    def names(self, places: Sequence[Region]) -> str:
        return _list([self.name(region) for region in places])

    def name(self, region: Region) -> str:
        if isinstance(region, str):
            return "the whole sentence"
        return _quote(self.regions[region]) if self.regions.get(region) else f"region {region}"


def _is_whole(total: _Total) -> bool:
    """Whether the total is that of a whole sentence, a sum whatever the metric."""
    return total.places == ("*",)


def _total(node: Numeric) -> _Total | None:
    """Return a node as the total of regions of one condition, or None."""
    if isinstance(node, Reference):
        return _Total(node.condition, (node.region,))
    terms: tuple[Numeric, ...] = ()
    if isinstance(node, Arithmetic) and all(operator == "+" for operator, _ in node.rest):
        terms = (node.first, *(term for _, term in node.rest))
    elif isinstance(node, Call) and node.function == "sum":
        terms = node.arguments
    totals = [_total(term) for term in terms]
    known = [total for total in totals if total]
    if not known or len(known) < len(totals) or len({total.condition for total in known}) > 1:
        return None
    places = tuple(place for total in known for place in total.places)
    return _Total(known[0].condition, places) if len(set(places)) == len(places) else None


def _sides(node: Numeric) -> tuple[Numeric, Numeric] | None:
    """Return the two sides of a plain difference, or None."""
    if isinstance(node, Arithmetic) and len(node.rest) == 1 and node.rest[0][0] == "-":
        return node.first, node.rest[0][1]
    return None


def _difference(node: Numeric) -> tuple[_Total, _Total] | None:
    sides = _sides(node)
    totals = [_total(side) for side in sides] if sides else []
    return (totals[0], totals[1]) if totals and totals[0] and totals[1] else None


def _turned(node: Comparison) -> tuple[str, Numeric, Numeric]:
    """Normalise a comparison for prose: ``a - b > 0`` to ``a > b``, and a single number to the right."""
    if node.right == Number(0.0) and (sides := _sides(node.left)):
        return node.operator, *sides
    if node.left == Number(0.0) and (sides := _sides(node.right)):
        return _FLIPPED[node.operator], *sides
    if isinstance(node.left, Number) and not isinstance(node.right, Number):
        return _FLIPPED[node.operator], node.right, node.left
    return node.operator, node.left, node.right


def _list(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def _quote(name: str) -> str:
    return f"“{name}”" if any(character.isspace() for character in name) else name
