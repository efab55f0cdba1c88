"""Presentation of predictions, designs, owners and authors."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gym.accounts.models import AnyUser
from lmgym.suites.authors import Author, read_authors
from lmgym.suites.diff import diff
from lmgym.suites.formats import designs
from lmgym.suites.formats.designs import Design
from lmgym.suites.formulas import FormulaError, parse
from suites.models import Prediction, Suite, SuiteRevision
from suites.permissions import may_know_owner
from suites.selectors import document_of, without_author

if TYPE_CHECKING:
    from lmgym.suites.formats import SuiteDocument
    from suites.history import State

SHOWN_CELLS = 200
ANONYMOUS = "Anonymous (under review)"
"""Shown in place of the owner of an unlisted suite."""


def owner_name(suite: Suite, user: AnyUser) -> str:
    """Return the owner's name, or ANONYMOUS if this user may not know it."""
    return suite.owner.display_name if may_know_owner(user, suite) else ANONYMOUS


def author_name(suite: Suite, user: AnyUser) -> str:
    """Return the suite's author; "" if there is none or if this user may not know it."""
    return suite.author if may_know_owner(user, suite) else ""


def authors_of(suite: Suite, user: AnyUser) -> list[Author]:
    """Return the suite's authors in citation order; empty if this user may not know them."""
    return read_authors(author_name(suite, user))


def document_for(revision: SuiteRevision, user: AnyUser) -> SuiteDocument:
    """Return the revision's document, without the author if this user may not know them."""
    document = document_of(revision)
    return document if may_know_owner(user, revision.suite) else without_author(document)


@dataclass(frozen=True)
class ShownPrediction:
    """A prediction to display: `pieces` concatenate to the formula as typed; `error` if it cannot be parsed."""

    prediction: Prediction
    pieces: list[Any]
    prose: str
    chance: Any
    error: str = ""


def shown_prediction(prediction: Prediction, regions: dict[int, str], metric: str = "sum") -> ShownPrediction:
    """Explain a prediction. `metric`: how a region's value is computed from its tokens."""
    try:
        formula = parse(prediction.formula)
    except FormulaError as error:
        return ShownPrediction(prediction, [], "", None, str(error))
    return ShownPrediction(
        prediction,
        formula.pieces(regions),
        formula.describe(regions, metric),
        formula.chance_level(n_regions=len(regions)),
    )


@dataclass(frozen=True)
class DesignTable:
    """A factorial design to display. `rows`: each condition with its levels, () outside the design; `empty`:
    combinations of levels without a condition."""

    factors: Design
    rows: list[tuple[str, tuple[str, ...]]]
    empty: list[str]

    @property
    def shape(self) -> str:
        return " × ".join(str(len(factor.levels)) for factor in self.factors)


def design_table(design: Design, conditions: Sequence[str]) -> DesignTable | None:
    if not design:
        return None
    rows = [(name, designs.cell_of(design, name) or ()) for name in conditions]
    return DesignTable(design, rows, [" × ".join(cell) for cell in designs.empty_cells(design)])


def critical_regions(revision: SuiteRevision) -> set[int]:
    """Return the numbers of the regions that formulas refer to, ignoring "*"."""
    numbers: set[int] = set()
    for prediction in revision.predictions.all():
        with suppress(FormulaError):
            numbers |= parse(prediction.formula).regions
    return numbers


def diff_context(old: State, new: State) -> dict[str, Any]:
    """Return the context of suites/_diff.html: diff, cells, more_cells, data, more_data, conditions."""
    changes = diff(old[0], new[0], (old[1], new[1]))
    return {
        "diff": changes,
        "cells": changes.cells[:SHOWN_CELLS],
        "more_cells": max(0, len(changes.cells) - SHOWN_CELLS),
        "data": changes.data[:SHOWN_CELLS],
        "more_data": max(0, len(changes.data) - SHOWN_CELLS),
        "conditions": new[0].conditions,
    }
