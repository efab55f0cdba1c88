"""Parsed formulas: ``parse`` and ``Formula``."""

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
    """A span of a formula's text, for rendering.

    Attributes:
        kind: "op" includes commas and function names.
        condition, region, label: only for kind "ref"; the label reads "Verb in mismatch".
        start: offset from 0.
    """

    kind: PieceKind
    text: str
    condition: str | None
    region: Region | None
    start: int
    label: str = ""


@dataclass(frozen=True, slots=True)
class ComparedSides:
    """Both sides of a comparison for one item, in words and in bits (NaN = no value)."""

    left: str
    operator: str
    right: str
    left_bits: float
    right_bits: float


@dataclass(frozen=True)
class Formula:
    """A well-formed formula. Created by ``parse``.

    Attributes:
        text: the formula as typed.
        ast: its syntax tree.
        warnings: sentences about accepted but questionable parts.
        tokens: its tokens, ignored in comparisons.
    """

    text: str
    ast: Boolean = field(repr=False)
    warnings: tuple[str, ...] = ()
    tokens: tuple[Token, ...] = field(default=(), repr=False, compare=False)

    @cached_property
    def references(self) -> frozenset[tuple[str, Region]]:
        """All ``(condition, region)`` pairs; a region is an int or ``"*"``."""
        return frozenset(reference.key for reference in references(self.ast))

    @cached_property
    def conditions(self) -> frozenset[str]:
        """Names of all conditions that the formula refers to."""
        return frozenset(condition for condition, _ in self.references)

    @cached_property
    def regions(self) -> frozenset[int]:
        """All region numbers, without ``"*"``."""
        return frozenset(region for _, region in self.references if not isinstance(region, str))

    def canonical(self) -> str:
        """Return the formula in standard form: single spaces, round brackets around every compound part.

        Parsing it gives an equal ``ast``, provided it is not longer than MAX_LENGTH.
        """
        return canonical(self.ast)

    def renamed(self, regions: Mapping[int, int], conditions: Mapping[str, str]) -> Formula | None:
        """Replace region numbers and condition names.

        Args:
            regions: old to new region number.
            conditions: old to new condition.

        Returns:
            The formula; None if a region or condition has no new name.

        Raises:
            FormulaError: the new formula is too long.
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
        """Evaluate the formula for one item.

        A tie is false, and so is a formula with NaN or division by 0.

        Args:
            values: surprisal in bits by (condition, region). A missing ``(condition, "*")`` is the sum of the
                condition's regions.

        Raises:
            FormulaError: a reference has no value.
        """
        items = {key: np.asarray([value], dtype=np.float64) for key, value in values.items()}
        gathered = evaluation.gather(self.ast, items, 1)
        return bool(evaluation.evaluate(self.ast, gathered, 1).outcome[0] == TRUE)

    def evaluate_items(self, values: Mapping[tuple[str, Region], ArrayLike]) -> ItemOutcomes:
        """Evaluate the formula for n items at once.

        Args:
            values: float64[n] in bits by (condition, region).

        Returns:
            Outcomes and margins. An item is NOT_EVALUABLE if a side of any comparison is NaN: a value is missing,
            division by 0, or infinities cancel; even if the other half of an ``|`` would decide.

        Raises:
            FormulaError: a reference has no values, or shapes differ.
        """
        count = _count(values)
        return evaluation.evaluate(self.ast, evaluation.gather(self.ast, values, count), count)

    def compared(
        self, values: Mapping[tuple[str, Region], float], regions: Mapping[int, str]
    ) -> list[ComparedSides]:
        """Evaluate both sides of every comparison for one item, in the order of the text.

        Values and errors are as for `evaluate`.
        """
        items = {key: np.asarray([value], dtype=np.float64) for key, value in values.items()}
        gathered = evaluation.gather(self.ast, items, 1)
        compared_sides = []
        for node, _ in walk(self.ast):
            if isinstance(node, Comparison):
                left, right = (
                    float(np.broadcast_to(side, (1,))[0]) for side in evaluation.sides(node, gathered)
                )
                names = prose.side_label(node.left, regions), prose.side_label(node.right, regions)
                compared_sides.append(ComparedSides(names[0], node.operator, names[1], left, right))
        return compared_sides

    def doubtful_items(
        self, values: Mapping[tuple[str, Region], ArrayLike], bound: certainty.Bound
    ) -> NDArray[np.bool_]:
        """Find items whose outcome could change within the error of their values.

        Args:
            values: as for `evaluate_items`.
            bound: maps the slopes of a comparison's margin to the maximum error of that margin in bits.

        Returns:
            bool[n].

        Raises:
            FormulaError: as `evaluate_items`.
        """
        count = _count(values)
        return certainty.doubtful(self.ast, evaluation.gather(self.ast, values, count), count, bound)

    def check(self, regions: Mapping[int, str], conditions: Sequence[str]) -> list[FormulaError]:
        """List references to regions and conditions that the suite lacks, one error per name in text order."""
        problems: dict[tuple[str, Region], FormulaError] = {}
        for reference in references(self.ast):
            region, condition = reference.region, reference.condition
            if not isinstance(region, str) and region not in regions:
                problems.setdefault(("region", region), _unknown_region(reference, regions))
            if condition not in conditions:
                problems.setdefault((condition, "*"), _unknown_condition(reference, conditions))
        return list(problems.values())

    def chance_level(self, seed: int = 0, *, n_regions: int | None = None) -> chance.ChanceLevel:
        """Compute how often the formula is true by chance; see ``lmgym.suites.formulas.chance``.

        Args:
            n_regions: number of regions of the suite, which matters only for ``*``. The default is the smallest number
                consistent with the formula.
        """
        return chance.chance_level(self.ast, seed, n_regions if self._names_a_sentence else None)

    @cached_property
    def _names_a_sentence(self) -> bool:
        return any(region == "*" for _, region in self.references)

    def describe(self, regions: Mapping[int, str], metric: str = "sum") -> str:
        """Describe the formula in plain English: "surprisal at Verb is higher in mismatch than in match".

        Args:
            regions: region number to name.
            metric: how a region's value is computed from its tokens; a sentence (`*`) is a sum under every metric.
        """
        return prose.describe(self.ast, regions, metric)

    def pieces(self, regions: Mapping[int, str]) -> list[Piece]:
        """Split the text into pieces for rendering; joined, they give the text."""
        return [_piece(token, regions) for token in self.tokens if token.kind != "end"]


def _count(values: Mapping[tuple[str, Region], ArrayLike]) -> int:
    """Return the number of items of these values."""
    shapes = [np.shape(value) for value in values.values()]
    if any(len(shape) != 1 for shape in shapes):
        raise FormulaError("Values for several items must be one-dimensional arrays.")
    return int(shapes[0][0]) if shapes else 0


def parse(text: str) -> Formula:
    """Parse a formula.

    ``&`` binds more tightly than ``|``. syntaxgym-core 0.8a1 gives both the same precedence. A warning is added if the
    two are combined without brackets, with syntaxgym-core's reading if that differs, and if the formula refers to no
    region.

    Raises:
        FormulaError: invalid syntax (with position and hint), or MAX_LENGTH, MAX_DEPTH or MAX_NODES is exceeded.
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
        unknown = reference.region
        nearest = min(sorted(regions), key=lambda number: abs(number - unknown))
        hint = f"The nearest is region {nearest} ({regions[nearest]})."
    length = reference.end - reference.start
    return FormulaError(f"There is no region {reference.region}.", reference.start, hint, length)


def _unknown_condition(reference: Reference, conditions: Sequence[str]) -> FormulaError:
    folded = {condition.casefold(): condition for condition in conditions}
    near = nearest_name(reference.condition.casefold(), folded, alike=0.5)
    hint = f'Did you mean "{folded[near]}"?' if near else f"Conditions: {', '.join(conditions)}."
    length = reference.end - reference.start
    return FormulaError(f'There is no condition "{reference.condition}".', reference.start, hint, length)
