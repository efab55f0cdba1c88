"""Formula references follow renames, moves and deletions: the text around them stays as typed.

Works on formulas that do not parse as well. A reference to a region that is gone becomes `(?;%condition%)`, which
does not parse, so that it is seen and mended; one to a condition that is gone keeps its name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

_REFERENCE = re.compile(r"(\(\s*)(\*|\?|[0-9]+)(\s*;\s*%\s*)([^%]*?)(\s*%\s*\))")


def _rewrite(formula: str, region: Callable[[str], str], condition: Callable[[str], str]) -> str:
    return _REFERENCE.sub(
        lambda m: f"{m[1]}{region(m[2])}{m[3]}{condition(m[4])}{m[5]}",
        formula,
    )


def rename_condition_in(formula: str, name: str, to: str) -> str:
    """The formula with every reference to the condition `name` spelled `to`."""
    return _rewrite(formula, lambda region: region, lambda given: to if given == name else given)


def move_regions(formula: str, places: Mapping[int, int | None]) -> str:
    """The formula after regions moved: `places` maps old to new numbers, None for a deleted one."""

    def region(text: str) -> str:
        if not text.isdigit():
            return text
        number = int(text)
        new = places.get(number, number)
        return "?" if new is None else text if new == number else str(new)

    return _rewrite(formula, region, lambda given: given)


def without_region(formula: str, region: int, count: int) -> str:
    """The formula after region `region` of `count` was deleted."""
    later = {number: number - 1 for number in range(region + 1, count + 1)}
    return move_regions(formula, {region: None, **later})
