"""Small tables cut from the leaderboard: the front page's, and how the field fares on each suite of a list."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.db.models import Exists, OuterRef

from gym.runs.core.rules import Rule
from gym.runs.read.leaderboard.build import leaderboard, newest_revisions
from gym.runs.read.leaderboard.model import Board, Cell, Column, Row
from gym.runs.read.leaderboard.options import Options
from models_registry.models import RegisteredModel
from suites.models import Prediction, Suite, SuiteRevision
from suites.selectors import listed_for

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser

    from gym.accounts.models import User


@dataclass(frozen=True)
class HomeTable:
    """Suites x models, cut to a page's size; `n_suites` and `n_models` say how many there are."""

    columns: tuple[Column, ...]
    models: tuple[Row, ...]
    n_suites: int
    n_models: int

    @property
    def is_cut(self) -> bool:
        return len(self.columns) < self.n_suites or len(self.models) < self.n_models

    @property
    def other_policies(self) -> bool:
        """Is any cell not of the default policy?"""
        return any(cell is not None and cell.policy for _, cells in self.rows() for cell in cells)

    def rows(self) -> list[tuple[Column, list[Cell | None]]]:
        return [(column, [row.cells[k] for row in self.models]) for k, column in enumerate(self.columns)]


def home_table(user: User | AnonymousUser, rule: Rule, *, most_suites: int, most_models: int) -> HomeTable:
    """The suites changed last, and the models that ran on most of those."""
    judged = Prediction.objects.filter(revision=OuterRef("pk"))
    frozen = SuiteRevision.objects.filter(Exists(judged), suite=OuterRef("pk"), state="frozen")
    suites = listed_for(user).filter(Exists(frozen))
    newest = list(suites.order_by("-updated", "-pk")[:most_suites])
    board = _board(user, rule, newest)
    often = sorted(board.rows, key=lambda row: (row.missing, row.name.lower()))[:most_models]
    return HomeTable(
        board.columns,
        tuple(sorted(often, key=lambda row: row.name.lower())),
        suites.count() if len(newest) == most_suites else len(board.columns),
        len(board.rows),
    )


@dataclass(frozen=True)
class FieldScores:
    """How the models that have run a suite fare: the best one's cell, the mean of their rates, how many they are."""

    best: Cell
    model: RegisteredModel
    mean: float
    n: int


def field_scores(user: User | AnonymousUser, suites: Sequence[Suite], rule: Rule) -> dict[int, FieldScores]:
    """By suite id, over the newest frozen revision; suites without a finished run are missing."""
    board = _board(user, rule, suites)
    found = {}
    for k, column in enumerate(board.columns):
        cells = [(cell, row.model) for row in board.rows if (cell := row.cells[k])]
        if cells:
            best, model = max(cells, key=lambda pair: pair[0].rate)
            mean = sum(cell.rate for cell, _ in cells) / len(cells)
            found[column.revision.suite_id] = FieldScores(best, model, mean, len(cells))
    return found


def _board(user: User | AnonymousUser, rule: Rule, suites: Sequence[Suite]) -> Board:
    """The leaderboard of these suites, which the user may see."""
    return leaderboard(user, Options(rule=rule), newest_revisions(suites))
