"""Factorial designs: ordered factors with ordered levels, crossed into conditions. Pure.

A design is kept in a document's meta block under `factors`, a list of

    {"name": "number", "levels": ["sing", "plural"], "conditions": {"match_sing": "sing", "match_plural": "plural"}}

A condition has a level of every factor, or of none: then it is outside the design.
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
    """`where` is a path into the list of factors (`[0].levels`), `message` a sentence."""

    def __init__(self, message: str, where: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.where = where


@dataclass(frozen=True, slots=True)
class Factor:
    """`conditions`: the level of every condition that is in the design."""

    name: str
    levels: tuple[str, ...]
    conditions: Mapping[str, str] = field(default_factory=dict)


Design = tuple[Factor, ...]


# ---- reading and writing ----


def read_factors(value: object, conditions: Sequence[str] | None = None) -> Design:
    """A list of factors as meta, API and editor write it. Raises DesignError. Where `conditions` is given, the design
    must name no others, and factors written without `conditions` take those that are called after their levels."""
    if not isinstance(value, list):
        raise DesignError("Factors are a list of {name, levels, conditions}.")
    if len(value) > MAX_FACTORS:
        raise DesignError(f"{len(value)} factors; a design has at most {MAX_FACTORS}.")
    design = tuple(_factor(one, f"[{place}]") for place, one in enumerate(value))
    _check_names(design)
    _check_conditions(design, conditions)
    if conditions is not None and not any("conditions" in one for one in value):
        return named_after_levels(design, conditions)
    return design


def _factor(given: object, where: str) -> Factor:
    if not isinstance(given, dict):
        raise DesignError("A factor is written {name, levels, conditions}.", where)
    name = _name(given.get("name"), "factor", f"{where}.name")
    levels = given.get("levels")
    if not isinstance(levels, list):
        raise DesignError(f"The levels of “{name}” must be a list.", f"{where}.levels")
    named = tuple(_name(level, "level", f"{where}.levels") for level in levels)
    if doubled := _doubled(named):
        raise DesignError(f"“{name}” has the level “{doubled}” twice.", f"{where}.levels")
    if not 2 <= len(named) <= MAX_LEVELS:
        wrong = f"“{name}” has {len(named)} level{'' if len(named) == 1 else 's'}"
        raise DesignError(f"{wrong}; a factor has 2 to {MAX_LEVELS}.", f"{where}.levels")
    of = given.get("conditions", {})
    if not isinstance(of, dict):
        raise DesignError("Conditions are written {condition: level}.", f"{where}.conditions")
    placed = {tidy(str(condition)): tidy(str(level)) for condition, level in of.items()}
    unknown = next((level for level in placed.values() if level not in named), None)
    if unknown is not None:
        raise DesignError(f"“{name}” has no level “{unknown:.60}”.", f"{where}.conditions")
    return Factor(name, named, placed)


def _name(value: object, what: str, where: str) -> str:
    name = tidy(SURROGATE.sub("", CONTROL.sub("", value))) if isinstance(value, str) else ""
    if not name:
        raise DesignError(f"Every {what} needs a name.", where)
    if len(name) > MAX_NAME_CHARACTERS:
        raise DesignError(f"The {what}'s name has more than {MAX_NAME_CHARACTERS} characters.", where)
    if what == "level" and "%" in name:
        raise DesignError(f"The level “{name}” contains a % sign; conditions are named after levels.", where)
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
    """The design of a meta block, as far as its conditions are there; () where there is none that can be read."""
    given = meta.get(KEY, [])
    try:
        design = read_factors(given)
    except DesignError:
        return ()
    if not any("conditions" in one for one in given):
        return named_after_levels(design, conditions)
    for name in {name for factor in design for name in factor.conditions} - set(conditions):
        design = without(design, name)
    return design


def kept(meta: Mapping[str, Any], conditions: Sequence[str]) -> dict[str, Any]:
    """The meta block for these conditions: a design forgets those that are gone."""
    design = factors_in(meta, conditions)
    return in_meta(meta, design) if design else dict(meta)


def check_meta(meta: Mapping[str, Any], conditions: Sequence[str], report: Report) -> None:
    """A notice where a file's factors cannot be used. They are kept all the same."""
    if KEY not in meta:
        return
    try:
        read_factors(meta[KEY], conditions)
    except DesignError as error:
        message = f"not used as a factorial design: {error.message.rstrip('.')}"
        report.notice(f"$.meta.{KEY}{error.where}", message)


def written(design: Iterable[Factor]) -> list[dict[str, Any]]:
    """The design as JSON."""
    return [
        {"name": factor.name, "levels": list(factor.levels), "conditions": dict(factor.conditions)}
        for factor in design
    ]


def in_meta(meta: Mapping[str, Any], design: Design) -> dict[str, Any]:
    """The meta block with this design."""
    rest = {key: value for key, value in meta.items() if key != KEY}
    return {**rest, KEY: written(design)} if design else rest


def with_factors(document: SuiteDocument, factors: object) -> SuiteDocument:
    """The document with these factors, written as in its meta block. Raises DesignError."""
    design = read_factors(factors, document.conditions)
    return replace(document, meta=in_meta(document.meta, design))


def read_lines(text: str) -> Design:
    """Factors as people type them, one a line: `number: sing, plural`. Raises DesignError."""
    given = []
    for line in filter(str.strip, text.splitlines()):
        name, colon, levels = line.partition(":")
        if not colon:
            raise DesignError(f"“{tidy(line):.60}”: write a factor as name: level, level.")
        given.append({"name": name, "levels": [level for level in levels.split(",") if level.strip()]})
    return read_factors(given)


# ---- cells of the crossing ----


def cells(design: Design) -> list[Cell]:
    """All combinations of levels; the last factor changes fastest."""
    return list(product(*(factor.levels for factor in design))) if design else []


def condition_name(cell: Cell) -> str:
    """What a condition is called after its levels: match_sing."""
    return "_".join(cell)


def cell_of(design: Design, condition: str) -> Cell | None:
    """The condition's level of each factor; None when it is outside the design."""
    if not design or any(condition not in factor.conditions for factor in design):
        return None
    return tuple(factor.conditions[condition] for factor in design)


def placed(design: Design, names: Mapping[Cell, str]) -> Design:
    """The design with these conditions in its cells."""
    return tuple(
        replace(factor, conditions={name: cell[place] for cell, name in names.items()})
        for place, factor in enumerate(design)
    )


def named_after_levels(design: Design, conditions: Sequence[str]) -> Design:
    """The design with those of the conditions whose names are made of its levels, in any order: sing_match, too."""
    by_parts = {tuple(sorted(re.split(r"[_\W]+", name.casefold()))): name for name in reversed(conditions)}
    found: dict[Cell, str] = {}
    for cell in cells(design):
        parts = [part for level in cell for part in re.split(r"[_\W]+", level.casefold()) if part]
        name = (
            condition_name(cell) if condition_name(cell) in conditions else by_parts.get(tuple(sorted(parts)))
        )
        if name is not None and name not in found.values():
            found[cell] = name
    return placed(design, found)


def outside(design: Design, conditions: Iterable[str]) -> list[str]:
    """Conditions without levels."""
    return [name for name in conditions if cell_of(design, name) is None] if design else []


def empty_cells(design: Design) -> list[Cell]:
    """Combinations of levels that no condition has."""
    names = dict.fromkeys(name for factor in design for name in factor.conditions)
    taken = {cell_of(design, name) for name in names}
    return [cell for cell in cells(design) if cell not in taken]


# ---- what edits do to it ----


def renamed(design: Design, name: str, to: str) -> Design:
    """The design after a condition got another name."""
    return tuple(
        replace(
            factor,
            conditions={(to if key == name else key): level for key, level in factor.conditions.items()},
        )
        for factor in design
    )


def without(design: Design, name: str) -> Design:
    """The design after a condition was deleted."""
    return tuple(
        replace(factor, conditions={key: level for key, level in factor.conditions.items() if key != name})
        for factor in design
    )


def column_of(name: str) -> str:
    """The column of a factor in tables: factor_number."""
    plain = re.sub(r"\W+", "_", name).strip("_")
    return f"factor_{plain or 'unnamed'}"
