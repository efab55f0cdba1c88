"""``parse`` and what it returns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lmgym.text.near_names import nearest_name

from . import certainty, chance, evaluation, prose
from .errors import FormulaError
from .evaluation import TRUE, ItemOutcomes
from .nodes import Boolean, Comparison, Reference, Region, canonical, references, walk
from .parser import Kind, Token, parse_tree

PieceKind: TypeAlias = Literal["ref", "op", "bracket", "number", "blank"]
_PIECE_KINDS: dict[Kind, PieceKind] = {
    "reference": "ref",
    "number": "number",
    "bracket": "bracket",
    "blank": "blank",
    "operator": "op",
    "comma": "op",
    "word": "op",
}


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of a formula's text, for rendering.

    ``kind`` "op" includes commas and function names. ``condition``, ``region`` and ``label`` ("Verb in
    mismatch") belong to kind "ref"; ``start`` is the 0-based offset.
    """

    kind: PieceKind
    text: str
    condition: str | None
    region: Region | None
    start: int
    label: str = ""


@dataclass(frozen=True, slots=True)
class ComparedSides:
    """A comparison with both sides of one item, in words and in bits (NaN = no value)."""

    left: str
    operator: str
    right: str
    left_bits: float
    right_bits: float


@dataclass(frozen=True)
class Formula:
    """A formula that has been read and found well-formed. Made by ``parse``.

    ``text`` is the formula as typed, ``ast`` its tree, ``warnings`` what was accepted but is worth a look.
    Two formulas are equal when they were typed alike and read alike.
    """

    text: str
    ast: Boolean = field(repr=False)
    warnings: tuple[str, ...] = ()
    tokens: tuple[Token, ...] = field(default=(), repr=False, compare=False)

    @cached_property
    def references(self) -> frozenset[tuple[str, Region]]:
        """The ``(condition, region)`` pairs it names; region is an int or ``"*"``."""
        return frozenset(reference.key for reference in references(self.ast))

    @cached_property
    def conditions(self) -> frozenset[str]:
        """The conditions it names."""
        return frozenset(condition for condition, _ in self.references)

    @cached_property
    def regions(self) -> frozenset[int]:
        """The region numbers it names, without ``"*"``."""
        return frozenset(region for _, region in self.references if not isinstance(region, str))

    def canonical(self) -> str:
        """The formula in one standard spelling: single blanks, round brackets around every compound part.

        Parsing it gives an equal ``ast`` under every reading, provided that it is not over MAX_LENGTH.
        """
        return canonical(self.ast)

    def renamed(self, regions: Mapping[int, int], conditions: Mapping[str, str]) -> Formula | None:
        """The same formula in other region numbers and condition names; None where one of its own has no new one.

        Raises FormulaError where the new names make it too long.
        """
        pieces = []
        for token in self.tokens:
            if token.kind != "reference":
                pieces.append(token.text)
                continue
            region = token.region if isinstance(token.region, str) else regions.get(token.region)
            condition = conditions.get(token.condition)
            if region is None or condition is None:
                return None
            pieces.append(f"({region};%{condition}%)")
        return parse("".join(pieces))

    def evaluate(self, values: Mapping[tuple[str, Region], float]) -> bool:
        """Whether the formula is true of one item, given surprisals in bits.

        Without a ``(condition, "*")`` key that is the sum of the condition's regions. A tie is false, and so
        is a formula that meets NaN or divides by 0. Raises FormulaError for a reference without a value.
        """
        items = {key: np.asarray([value], dtype=np.float64) for key, value in values.items()}
        gathered = evaluation.gather(self.ast, items, 1)
        return bool(evaluation.evaluate(self.ast, gathered, 1).outcome[0] == TRUE)

    def evaluate_items(self, values: Mapping[tuple[str, Region], ArrayLike]) -> ItemOutcomes:
        """Outcome and margin of n items at once; each value is an array of shape (n,), in bits.

        An item is NOT_EVALUABLE when a side of any comparison is not a number there: a referenced value is
        NaN, something is divided by 0, or infinities cancel. This holds even where the other half of an ``|``
        would decide. Raises FormulaError for a reference without values and for shapes that differ.
        """
        count = _count(values)
        return evaluation.evaluate(self.ast, evaluation.gather(self.ast, values, count), count)

    def compared(
        self, values: Mapping[tuple[str, Region], float], regions: Mapping[int, str]
    ) -> list[ComparedSides]:
        """Every comparison of the formula with the values of one item, in the order of the text; values and errors as
        for `evaluate`."""
        items = {key: np.asarray([value], dtype=np.float64) for key, value in values.items()}
        gathered = evaluation.gather(self.ast, items, 1)
        found = []
        for node, _ in walk(self.ast):
            if isinstance(node, Comparison):
                left, right = (
                    float(np.broadcast_to(side, (1,))[0]) for side in evaluation.sides(node, gathered)
                )
                names = prose.side_label(node.left, regions), prose.side_label(node.right, regions)
                found.append(ComparedSides(names[0], node.operator, names[1], left, right))
        return found

    def doubtful_items(
        self, values: Mapping[tuple[str, Region], ArrayLike], bound: certainty.Bound
    ) -> NDArray[np.bool_]:
        """bool[n]: items whose answer might be another, values as for `evaluate_items`.

        ``bound`` gets the slopes of a comparison's margin by the values it is made of, and says how far that margin
        may be off, in bits. Raises FormulaError as `evaluate_items` does.
        """
        count = _count(values)
        return certainty.doubtful(self.ast, evaluation.gather(self.ast, values, count), count, bound)

    def check(self, regions: Mapping[int, str], conditions: Sequence[str]) -> list[FormulaError]:
        """What the formula names and a suite lacks: one error per unknown name, in text order."""
        problems: dict[tuple[str, Region], FormulaError] = {}
        for reference in references(self.ast):
            region, condition = reference.region, reference.condition
            if not isinstance(region, str) and region not in regions:
                problems.setdefault(("region", region), _unknown_region(reference, regions))
            if condition not in conditions:
                problems.setdefault((condition, "*"), _unknown_condition(reference, conditions))
        return list(problems.values())

    def chance_level(self, seed: int = 0, *, n_regions: int | None = None) -> chance.ChanceLevel:
        """How often the formula would be true by chance: see ``lmgym.suites.formulas.chance``. ``n_regions``: of the
        suite; it matters for ``*``, and without it the least number that fits the formula is taken."""
        return chance.chance_level(self.ast, seed, n_regions if self._names_a_sentence else None)

    @cached_property
    def _names_a_sentence(self) -> bool:
        return any(region == "*" for _, region in self.references)

    def describe(self, regions: Mapping[int, str]) -> str:
        """The formula in plain English, such as "surprisal at Verb is higher in mismatch than in match"."""
        return prose.describe(self.ast, regions)

    def pieces(self, regions: Mapping[int, str]) -> list[Piece]:
        """The text cut into pieces; joined together they are the text again."""
        return [_piece(token, regions) for token in self.tokens if token.kind != "end"]


def _count(values: Mapping[tuple[str, Region], ArrayLike]) -> int:
    """How many items these are values of."""
    shapes = [np.shape(value) for value in values.values()]
    if any(len(shape) != 1 for shape in shapes):
        raise FormulaError("Values for several items are arrays of one dimension.")
    return int(shapes[0][0]) if shapes else 0


def parse(text: str) -> Formula:
    """Read a formula.

    Without brackets ``&`` binds before ``|``. Where syntaxgym-core 0.8a1, which gives both the same weight, would read
    something else, a warning says so.

    Raises FormulaError with position and hint; limits are MAX_LENGTH, MAX_DEPTH and MAX_NODES.
    """
    tree, tokens, warnings = parse_tree(text)
    return Formula(text, tree, warnings, tokens)


def _piece(token: Token, regions: Mapping[int, str]) -> Piece:
    kind = _PIECE_KINDS[token.kind]
    if kind != "ref":
        return Piece(kind, token.text, None, None, token.start)
    label = prose.reference_label(Reference(token.condition, token.region), regions)
    return Piece(kind, token.text, token.condition, token.region, token.start, label)


def _unknown_region(reference: Reference, regions: Mapping[int, str]) -> FormulaError:
    hint = "The suite has no regions."
    if regions and isinstance(reference.region, int):
        wanted = reference.region
        nearest = min(sorted(regions), key=lambda number: abs(number - wanted))
        hint = f"The nearest is region {nearest} ({regions[nearest]})."
    length = reference.end - reference.start
    return FormulaError(f"There is no region {reference.region}.", reference.start, hint, length)


def _unknown_condition(reference: Reference, conditions: Sequence[str]) -> FormulaError:
    folded = {condition.casefold(): condition for condition in conditions}
    near = nearest_name(reference.condition.casefold(), folded, alike=0.5)
    hint = f'Did you mean "{folded[near]}"?' if near else f"Conditions: {', '.join(conditions)}."
    length = reference.end - reference.start
    return FormulaError(f'There is no condition "{reference.condition}".', reference.start, hint, length)
