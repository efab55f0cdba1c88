"""Predictions for the effects of a factorial design: main effects, simple effects and interactions.

Each is stated in words and as a formula. Every level of a factor is compared with its first level.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product

from lmgym.suites.formats.designs import Cell, Design, Factor, cell_of
from lmgym.suites.formulas import MAX_LENGTH

Contrast = tuple[str, str]
"""Two levels of a factor: its first level (the baseline), and another."""


@dataclass(frozen=True, slots=True)
class Offer:
    """A prediction in words and as a formula. `direction` is the short form shown next to the effect's name."""

    direction: str
    words: str
    formula: str


@dataclass(frozen=True, slots=True)
class Effect:
    """An effect that a suite can predict.

    Attributes:
        kind: "main", "simple" or "interaction".
        greater, less: predictions of its two directions; both None if the conditions cannot express it.
        reason: why the effect has no predictions, or "".
    """

    kind: str
    name: str
    factors: tuple[str, ...]
    greater: Offer | None
    less: Offer | None
    reason: str = ""


class _Missing(Exception):
    """Raised if no condition has a combination of levels."""


def effects(design: Design, regions: Sequence[str], region: int | str) -> list[Effect]:
    """List all effects that can be predicted at one region.

    Args:
        regions: names of all regions.
        region: number from 1, or "*" for the whole sentence.

    Returns:
        Main effects, two-way and three-way interactions, and simple effects of each factor within the levels of the
        others.
    """
    builder = _EffectBuilder(design, region, _place(regions, region))
    listed = [builder.main(f, contrast) for f in design for contrast in contrasts(f)]
    for size in (2, 3):
        for factors in combinations(design, size):
            listed += [builder.interaction(factors, pairs) for pairs in product(*map(contrasts, factors))]
    if len(design) > 1:
        listed += [
            builder.simple(f, contrast, rest)
            for f in design
            for contrast in contrasts(f)
            for rest in builder.others(f)
        ]
    return listed


def contrasts(factor: Factor) -> list[Contrast]:
    """Pair the first level of a factor with each other level."""
    return [(factor.levels[0], level) for level in factor.levels[1:]]


def _place(regions: Sequence[str], region: int | str) -> str:
    return "over the whole sentence" if region == "*" else f"at region {region} ({regions[int(region) - 1]})"


class _EffectBuilder:
    """Builder of effects of a design at one region."""

    def __init__(self, design: Design, region: int | str, place: str) -> None:
        self.design, self.region, self.place = design, region, place
        self.measure = "total surprisal" if region == "*" else "surprisal"
        names = dict.fromkeys(name for factor in design for name in factor.conditions)
        self.conditions: Mapping[Cell | None, str] = {cell_of(design, name): name for name in names}

    def main(self, factor: Factor, contrast: Contrast) -> Effect:
        low, high = contrast
        others = [other.name for other in self.design if other is not factor]
        over = f", summed over {_listed(others)}" if others else ""
        name = (
            f"Main effect of {factor.name}{_which(factor, contrast)}"
            if others
            else self._named(factor, contrast)
        )
        return self._effect(
            "main" if others else "simple",
            name,
            (factor.name,),
            [{factor.name: high}, {factor.name: low}],
            f"{self.measure.capitalize()} {self.place} is",
            ("higher", "lower"),
            f"in {high} than in {low}",
            over,
        )

    def _named(self, factor: Factor, contrast: Contrast) -> str:
        return f"Effect of {factor.name}{_which(factor, contrast)}"

    def simple(self, factor: Factor, contrast: Contrast, rest: Mapping[str, str]) -> Effect:
        low, high = contrast
        within = _listed(list(rest.values()))
        return self._effect(
            "simple",
            f"{self._named(factor, contrast)} within {within}",
            (factor.name,),
            [{factor.name: high, **rest}, {factor.name: low, **rest}],
            f"Within {within}, {self.measure} {self.place} is",
            ("higher", "lower"),
            f"in {high} than in {low}",
        )

    def interaction(self, factors: Sequence[Factor], pairs: Sequence[Contrast]) -> Effect:
        *inner, last = factors
        low, high = pairs[-1]
        what = _listed([factor.name for factor in inner])
        minus = "; ".join(
            f"{factor.name + ': ' if len(inner) > 1 else ''}{pair[1]} − {pair[0]}"
            for factor, pair in zip(inner, pairs[:-1], strict=True)
        )
        effect = f"The {'effect' if len(inner) == 1 else 'interaction'} of {what} ({minus})"
        which = [f"{factor.name}{_which(factor, pair)}" for factor, pair in zip(factors, pairs, strict=True)]
        levels = {factor.name: pair for factor, pair in zip(factors, pairs, strict=True)}
        return self._effect(
            "interaction",
            f"Interaction of {' × '.join(which)}",
            tuple(factor.name for factor in factors),
            [levels | {last.name: high}, levels | {last.name: low}],
            f"{effect} is",
            ("larger", "smaller"),
            f"in {high} than in {low}",
            f" {self.place}",
        )

    def others(self, factor: Factor) -> list[dict[str, str]]:
        """List all combinations of levels of the other factors."""
        rest = [other for other in self.design if other is not factor]
        return [
            dict(zip((other.name for other in rest), levels, strict=True))
            for levels in product(*(other.levels for other in rest))
        ]

    def _effect(
        self,
        kind: str,
        name: str,
        factors: tuple[str, ...],
        sides: Sequence[Mapping[str, str | Contrast]],
        subject: str,
        degrees: tuple[str, str],
        levels: str,
        rest: str = "",
    ) -> Effect:
        try:
            high, low = (self._term(side) for side in sides)
        except _Missing as missing:
            return Effect(kind, name, factors, None, None, f"No condition has {missing}.")
        if len(high) + len(low) + 3 > MAX_LENGTH:
            return Effect(kind, name, factors, None, None, "The formula would be too long.")
        greater, less = (
            Offer(f"{degree} {levels}", f"{subject} {degree} {levels}{rest}.", f"{high} {sign} {low}")
            for degree, sign in zip(degrees, "><", strict=True)
        )
        return Effect(kind, name, factors, greater, less)

    def _term(self, chosen: Mapping[str, str | Contrast]) -> str:
        """Write the sum over the cells with the chosen levels, or the difference between the levels of a contrast."""
        contrast = next(((name, level) for name, level in chosen.items() if isinstance(level, tuple)), None)
        if contrast is not None:
            name, (low, high) = contrast
            return f"[{self._term({**chosen, name: high})} - {self._term({**chosen, name: low})}]"
        levels: list[Sequence[str]] = [
            (level,) if isinstance(level := chosen.get(factor.name), str) else factor.levels
            for factor in self.design
        ]
        parts = [self._reference(cell) for cell in product(*levels)]
        return parts[0] if len(parts) == 1 else f"[{' + '.join(parts)}]"

    def _reference(self, cell: Cell) -> str:
        if cell not in self.conditions:
            raise _Missing(" × ".join(cell))
        return f"({self.region};%{self.conditions[cell]}%)"


def _which(factor: Factor, contrast: Contrast) -> str:
    return f" ({contrast[1]} vs. {contrast[0]})" if len(factor.levels) > 2 else ""


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
