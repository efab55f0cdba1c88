"""Results of people on the suites of a leaderboard: a ceiling, which is not ranked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gym.accounts.models import AnyUser
from gym.runs.signals import ceilings_requested
from lmgym.runs.rules import Rule
from suites.models import SuiteRevision


@dataclass(frozen=True)
class Ceiling:
    """The pass rate of people on a revision. `address`: page of their data."""

    rate: float
    low: float | None
    high: float | None
    title: str
    address: str


def ceilings_of(user: AnyUser, revisions: Sequence[SuiteRevision], rule: Rule) -> list[Ceiling | None]:
    """Return the public result of people on each revision, or None; empty if no revision has one."""
    by_revision: dict[int, Ceiling] = {}
    answers: Any = ceilings_requested.send(sender=SuiteRevision, user=user, revisions=revisions, rule=rule)
    for _, ceilings in answers:
        by_revision |= ceilings
    return [by_revision.get(revision.pk) for revision in revisions] if by_revision else []
