"""Cancel, retry or delete many runs at once. Each run is handled separately, under the actor's rights."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from time import monotonic

from django.core.exceptions import PermissionDenied, ValidationError
from django.db import Error as DatabaseError
from django.db.models import Q, QuerySet

from gym.accounts.errors import LimitReached
from gym.accounts.models import User
from gym.conflicts import MESSAGE, is_conflict
from gym.jobs.errors import WrongState
from gym.jobs.models import ACTIVE_STATES, State
from gym.runs.models import SuiteRun
from gym.runs.work import services
from lmgym.text import count
from lmgym.text.columns import described

MAX_RUNS = 500
"""Maximum number of runs that one request changes. Refused runs do not count, so they do not block later ones."""
PAGE = 500  # runs read at a time
SECONDS = 20.0
"""Time after which a request tries no further runs."""


@dataclass(frozen=True)
class Action:
    """An action on many runs.

    Attributes:
        past: participle for reports, such as "cancelled".
        use_case: service called with (run, actor=…).
        applies_to: condition on runs; the others are left unchanged.
        by_suite_owner: whether the owner of the suite may do this to runs of other accounts.
    """

    past: str
    use_case: Callable[..., None]
    applies_to: Q
    by_suite_owner: bool = True


ACTIONS = {
    "cancel": Action("cancelled", services.cancel_run, Q(completed_at=None, job__state__in=ACTIVE_STATES)),
    "retry": Action(
        "queued again",
        services.retry_run,
        Q(completed_at=None, job__state__in=[State.FAILED, State.CANCELLED]),
    ),
    "delete": Action(
        "deleted",
        services.delete_run,
        Q(job=None) | ~Q(job__state__in=ACTIVE_STATES),
        by_suite_owner=False,
    ),
}


@dataclass(frozen=True)
class RunsChanged:
    """Outcome of an action on many runs."""

    done: int = described("runs that were cancelled, queued again or deleted")
    refused: Mapping[str, int] = described("number of runs that were refused, by reason")
    left: int = described("matching runs beyond the limit of one request; repeat the request")

    def sentence(self, action: str) -> str:
        """Describe the outcome for a message on a page."""
        text = f"{count(self.done, 'run')} {ACTIONS[action].past}."
        for reason, n in self.refused.items():
            text += f" {count(n, 'run')} refused: {reason.rstrip('.')}."
        return text + (f" {self.left} more match: repeat this for them." if self.left else "")


def affected(runs: QuerySet[SuiteRun], action: str, *, actor: User) -> QuerySet[SuiteRun]:
    """Return the runs to which the action applies and that the actor may change in this way, oldest first."""
    rule = ACTIONS[action]
    matching = runs.filter(rule.applies_to).order_by("pk")
    if actor.is_staff:
        return matching
    owned = Q(owner=actor)
    if rule.by_suite_owner:
        owned |= Q(revision__suite__owner=actor)
    return matching.filter(owned)


def act_on_runs(runs: QuerySet[SuiteRun], action: str, *, actor: User) -> RunsChanged:
    """Cancel, retry or delete runs that `affected` selects, until MAX_RUNS are changed or SECONDS are over."""
    if not actor.is_authenticated:
        raise PermissionDenied("sign in to change runs")
    matching = affected(runs, action, actor=actor).select_related(
        "job", "model", "owner", "revision__suite__owner"
    )
    total, end = matching.count(), monotonic() + SECONDS
    done, refused = 0, Counter[str]()
    for run in _in_pages(matching):
        if done == MAX_RUNS or monotonic() >= end:
            break
        try:
            ACTIONS[action].use_case(run, actor=actor)
        except ValidationError as error:
            refused[" ".join(error.messages)] += 1
        except (PermissionDenied, LimitReached, WrongState) as error:
            refused[str(error)] += 1
        except DatabaseError as error:
            if not is_conflict(error, changes=True):
                raise
            refused[MESSAGE] += 1
        else:
            done += 1
    return RunsChanged(done, dict(refused), max(0, total - done - refused.total()))


def _in_pages(runs: QuerySet[SuiteRun]) -> Iterator[SuiteRun]:
    """Yield runs by primary key. A page is read when it is needed, as earlier runs may be changed by then."""
    last = 0
    while page := list(runs.filter(pk__gt=last)[:PAGE]):
        yield from page
        last = page[-1].pk
