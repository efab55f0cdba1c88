"""Factorial designs: ordered factors with ordered levels, crossed into conditions.

A document stores its design in the meta block under `factors`, a list of

    {"name": "number", "levels": ["sing", "plural"], "conditions": {"match_sing": "sing", "match_plural": "plural"}}

A condition has a level of every factor, or of none if it is outside the design.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise, product
from math import prod
from typing import Any

from lmgym.suites.formats.documents import MAX_CONDITIONS, MAX_NAME_CHARACTERS, SuiteDocument
from lmgym.text import CONTROL, SURROGATE, tidy
from lmgym.text.problems import Report

KEY = "factors"
MAX_FACTORS = 6
MAX_LEVELS = 20
Cell = tuple[str, ...]


class DesignError(ValueError):
    """An invalid design.

    Attributes:
        message: the reason, as a sentence.
        where: path into the list of factors, such as "[0].levels".
    """

    def __init__(self, message: str, where: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.where = where


@dataclass(frozen=True, slots=True)
class Factor:
    """A factor. `conditions` maps each condition in the design to its level."""

    name: str
    levels: tuple[str, ...]
    conditions: Mapping[str, str] = field(default_factory=dict)


Design = tuple[Factor, ...]


# ---- reading and writing ----


def read_factors(value: object, conditions: Sequence[str] | None = None) -> Design:
    """Parse a list of factors as stored in the meta block.

    Args:
        value: the list.
        conditions: conditions of the suite. The design may name no others, and factors without `conditions` are matched
            to conditions named after their levels.

    Raises:
        DesignError: the list is invalid.
    """
    if not isinstance(value, list):
        raise DesignError("Factors must be a list of {name, levels, conditions}.")
    if len(value) > MAX_FACTORS:
        raise DesignError(f"{len(value)} factors; a design has at most {MAX_FACTORS}.")
    design = tuple(_factor(entry, f"[{k}]") for k, entry in enumerate(value))
    _check_names(design)
    _check_conditions(design, conditions)
    if conditions is not None and not any("conditions" in entry for entry in value):
        return named_after_levels(design, conditions)
    return design


def _factor(entry: object, where: str) -> Factor:
    if not isinstance(entry, dict):
        raise DesignError("A factor must have the form {name, levels, conditions}.", where)
    name = _name(entry.get("name"), "factor", f"{where}.name")
    raw_levels = entry.get("levels")
    if not isinstance(raw_levels, list):
        raise DesignError(f"The levels of “{name}” must be a list.", f"{where}.levels")
    levels = tuple(_name(level, "level", f"{where}.levels") for level in raw_levels)
    if doubled := _doubled(levels):
        raise DesignError(f"“{name}” has the level “{doubled}” twice.", f"{where}.levels")
    if not 2 <= len(levels) <= MAX_LEVELS:
        number = f"“{name}” has {len(levels)} level{'' if len(levels) == 1 else 's'}"
        raise DesignError(f"{number}; a factor has 2 to {MAX_LEVELS}.", f"{where}.levels")
    raw_conditions = entry.get("conditions", {})
    if not isinstance(raw_conditions, dict):
        raise DesignError("Conditions must have the form {condition: level}.", f"{where}.conditions")
    conditions = {tidy(str(condition)): tidy(str(level)) for condition, level in raw_conditions.items()}
    unknown = next((level for level in conditions.values() if level not in levels), None)
    if unknown is not None:
        raise DesignError(f"“{name}” has no level “{unknown:.60}”.", f"{where}.conditions")
    return Factor(name, levels, conditions)


def _name(value: object, what: str, where: str) -> str:
    name = tidy(SURROGATE.sub("", CONTROL.sub("", value))) if isinstance(value, str) else ""
    if not name:
        raise DesignError(f"Every {what} needs a name.", where)
    if len(name) > MAX_NAME_CHARACTERS:
        raise DesignError(f"The {what}'s name has more than {MAX_NAME_CHARACTERS} characters.", where)
    if what == "level" and "%" in name:
        raise DesignError(
            f"The level “{name}” contains a % sign; formulas cannot name its conditions.", where
        )
    return name


def _doubled(names: Iterable[str]) -> str | None:
    return next((one for one, other in pairwise(sorted(names)) if one == other), None)


def _check_names(design: Design) -> None:
    columns: dict[str, str] = {}
    for place, factor in enumerate(design):
        other = columns.setdefault(column_of(factor.name).casefold(), factor.name)
        if other is not factor.name:
            message = f"The factors “{other}” and “{factor.name}” would share a column in tables. Rename one."
            raise DesignError(message, f"[{place}].name")
    n = prod(len(factor.levels) for factor in design)
    if n > MAX_CONDITIONS:
        raise DesignError(f"These factors make {n:,} conditions; a suite has at most {MAX_CONDITIONS}.")


def _check_conditions(design: Design, conditions: Sequence[str] | None) -> None:
    cells: dict[Cell, str] = {}
    for condition in dict.fromkeys(name for factor in design for name in factor.conditions):
        if conditions is not None and condition not in conditions:
            raise DesignError(f"There is no condition “{condition:.60}”.")
        cell = cell_of(design, condition)
        if cell is None:
            lacking = next(factor.name for factor in design if condition not in factor.conditions)
            raise DesignError(f"The condition “{condition}” has no level of “{lacking}”.")
        other = cells.setdefault(cell, condition)
        if other != condition:
            raise DesignError(f"“{other}” and “{condition}” have the same levels: {' × '.join(cell)}.")


def factors_in(meta: Mapping[str, Any], conditions: Sequence[str]) -> Design:
    """Return the design in a meta block, restricted to existing conditions; () if there is no valid
    design."""
    factors = meta.get(KEY, [])
    try:
        design = read_factors(factors)
    except DesignError:
        return ()
    if not any("conditions" in factor for factor in factors):
        return named_after_levels(design, conditions)
    for name in {name for factor in design for name in factor.conditions} - set(conditions):
        design = without(design, name)
    return design


def kept(meta: Mapping[str, Any], conditions: Sequence[str]) -> dict[str, Any]:
    """Return the meta block with its design restricted to these conditions."""
    design = factors_in(meta, conditions)
    return in_meta(meta, design) if design else dict(meta)


def check_meta(meta: Mapping[str, Any], conditions: Sequence[str], report: Report) -> None:
    """Add a notice if the factors of a file are invalid. They are kept but not used."""
    if KEY not in meta:
        return
    try:
        read_factors(meta[KEY], conditions)
    except DesignError as error:
        message = f"not used as a factorial design: {error.message.rstrip('.')}"
        report.notice(f"$.meta.{KEY}{error.where}", message)


def written(design: Iterable[Factor]) -> list[dict[str, Any]]:
    """Convert a design to JSON values."""
    return [
        {"name": factor.name, "levels": list(factor.levels), "conditions": dict(factor.conditions)}
        for factor in design
    ]


def in_meta(meta: Mapping[str, Any], design: Design) -> dict[str, Any]:
    """Return the meta block with this design."""
    rest = {key: value for key, value in meta.items() if key != KEY}
    return {**rest, KEY: written(design)} if design else rest


def with_factors(document: SuiteDocument, factors: object) -> SuiteDocument:
    """Return the document with its factors replaced. `factors`: a list as stored in the meta block. Raises
    DesignError."""
    design = read_factors(factors, document.conditions)
    return replace(document, meta=in_meta(document.meta, design))


def read_lines(text: str) -> Design:
    """Parse factors from text, one per line: `number: sing, plural`. Raises DesignError."""
    factors = []
    for line in filter(str.strip, text.splitlines()):
        name, colon, levels = line.partition(":")
        if not colon:
            raise DesignError(f"“{tidy(line):.60}”: write a factor as name: level, level.")
        factors.append({"name": name, "levels": [level for level in levels.split(",") if level.strip()]})
    return read_factors(factors)


# ---- cells of the crossing ----


def cells(design: Design) -> list[Cell]:
    """List all combinations of levels; the last factor varies fastest."""
    return list(product(*(factor.levels for factor in design))) if design else []


def condition_name(cell: Cell) -> str:
    """Build the name of a condition from its levels: match_sing."""
    return "_".join(cell)


def cell_of(design: Design, condition: str) -> Cell | None:
    """Return the level of each factor for a condition; None if it is outside the design."""
    if not design or any(condition not in factor.conditions for factor in design):
        return None
    return tuple(factor.conditions[condition] for factor in design)


def looks(design: Design, conditions: Iterable[str]) -> dict[str, tuple[int, int]]:
    """Return numbers for the colour and the marker of each condition in charts: the levels of the first and the second
    of two factors. Empty for other designs, and if a condition is outside the design."""
    cells_by_name = {name: cell_of(design, name) for name in conditions}
    if len(design) != 2 or not all(cells_by_name.values()):
        return {}
    colour, shape = design
    return {
        name: (colour.levels.index(cell[0]), shape.levels.index(cell[1]))
        for name, cell in cells_by_name.items()
        if cell
    }


def placed(design: Design, names: Mapping[Cell, str]) -> Design:
    """Return the design with its cells assigned to conditions. `names`: cell to condition."""
    return tuple(
        replace(factor, conditions={name: cell[place] for cell, name in names.items()})
        for place, factor in enumerate(design)
    )


def named_after_levels(design: Design, conditions: Sequence[str]) -> Design:
    """Match conditions to cells by name: names consist of the levels in any order (match_sing, sing_match)."""
    by_parts = {tuple(sorted(re.split(r"[_\W]+", name.casefold()))): name for name in reversed(conditions)}
    names: dict[Cell, str] = {}
    for cell in cells(design):
        parts = [part for level in cell for part in re.split(r"[_\W]+", level.casefold()) if part]
        name = (
            condition_name(cell) if condition_name(cell) in conditions else by_parts.get(tuple(sorted(parts)))
        )
        if name is not None and name not in names.values():
            names[cell] = name
    return placed(design, names)


def outside(design: Design, conditions: Iterable[str]) -> list[str]:
    """List conditions outside the design."""
    return [name for name in conditions if cell_of(design, name) is None] if design else []


def empty_cells(design: Design) -> list[Cell]:
    """List combinations of levels that no condition has."""
    names = dict.fromkeys(name for factor in design for name in factor.conditions)
    taken = {cell_of(design, name) for name in names}
    return [cell for cell in cells(design) if cell not in taken]


# ---- edits ----


def renamed(design: Design, name: str, to: str) -> Design:
    """Return the design after a condition was renamed."""
    return tuple(
        replace(
            factor,
            conditions={(to if key == name else key): level for key, level in factor.conditions.items()},
        )
        for factor in design
    )


def without(design: Design, name: str) -> Design:
    """Return the design with a condition deleted."""
    return tuple(
        replace(factor, conditions={key: level for key, level in factor.conditions.items() if key != name})
        for factor in design
    )


def column_of(name: str) -> str:
    """Return the name of a factor's column in tables: factor_number."""
    plain = re.sub(r"\W+", "_", name).strip("_")
    return f"factor_{plain or 'unnamed'}"
