"""Predictions and owners as pages show them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gym.accounts.models import AnyUser
from lmgym.suites.authors import Author, read_authors
from lmgym.suites.formats import designs
from lmgym.suites.formats.designs import Design
from lmgym.suites.formulas import FormulaError, parse
from suites.models import Prediction, Suite, SuiteRevision
from suites.permissions import may_know_owner
from suites.selectors import document_of, without_author

if TYPE_CHECKING:
    from lmgym.suites.formats import SuiteDocument

ANONYMOUS = "Anonymous (under review)"
"""Stands for the owner of an unlisted suite."""


def owner_name(suite: Suite, user: AnyUser) -> str:
    """The owner's name, as far as this user may know it."""
    return suite.owner.display_name if may_know_owner(user, suite) else ANONYMOUS


def author_name(suite: Suite, user: AnyUser) -> str:
    """Whom the suite names as its author, as far as this user may know it; "" when nobody."""
    return suite.author if may_know_owner(user, suite) else ""


def authors_of(suite: Suite, user: AnyUser) -> list[Author]:
    """The suite's authors in the order of citation, as far as this user may know them."""
    return read_authors(author_name(suite, user))


def document_for(revision: SuiteRevision, user: AnyUser) -> SuiteDocument:
    """The revision's document, as far as this user may know who made it."""
    document = document_of(revision)
    return document if may_know_owner(user, revision.suite) else without_author(document)


@dataclass(frozen=True)
class ShownPrediction:
    """A prediction for reading: `pieces` concatenate to the formula as typed; `error` when it cannot be read."""

    prediction: Prediction
    pieces: list[Any]
    prose: str
    chance: Any
    error: str = ""


def shown_prediction(prediction: Prediction, regions: dict[int, str]) -> ShownPrediction:
    try:
        formula = parse(prediction.formula)
    except FormulaError as error:
        return ShownPrediction(prediction, [], "", None, str(error))
    return ShownPrediction(
        prediction,
        formula.pieces(regions),
        formula.describe(regions),
        formula.chance_level(n_regions=len(regions)),
    )


@dataclass(frozen=True)
class DesignTable:
    """A factorial design for reading. `rows`: a condition and its level of each factor, () outside the design.
    `empty`: combinations of levels without a condition, in words."""

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
    """Numbers of the regions that some formula looks at; "*" marks none."""
    found: set[int] = set()
    for prediction in revision.predictions.all():
        with suppress(FormulaError):
            found |= parse(prediction.formula).regions
    return found
