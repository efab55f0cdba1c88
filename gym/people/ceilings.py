"""People on the leaderboard: public data of the shown revisions, without simulated data; of several, those with most
participants."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.dispatch import receiver

from gym.accounts.models import AnyUser
from gym.people.results import scored_people
from gym.people.selectors import visible_to
from gym.runs.read.leaderboard.ceilings import Ceiling
from gym.runs.signals import ceilings_requested
from gym.sharing.models import Visibility
from lmgym.runs.rules import Rule
from suites.models import SuiteRevision


@receiver(ceilings_requested, dispatch_uid="gym.people.ceilings")
def ceilings(
    user: AnyUser, revisions: Sequence[SuiteRevision], rule: Rule, **kwargs: Any
) -> dict[int, Ceiling]:
    public = visible_to(user).filter(visibility=Visibility.PUBLIC, revision__in=revisions, is_simulated=False)
    rows = list(public.defer("provenance", "demographics").order_by("n_participants", "-pk"))
    return {
        row.data.revision_id: Ceiling(
            row.score.rate, row.score.low, row.score.high, row.data.title, row.data.get_absolute_url()
        )
        for row in scored_people(rows, rule)
        if row.score.rate is not None
    }
