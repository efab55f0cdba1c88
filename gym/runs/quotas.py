"""Quota for runs per account. Only their number counts: their bytes are spread over too many rows to sum up, and the
daily cap on queued sentences limits their growth."""

from __future__ import annotations

from django.conf import settings

from gym.accounts.models import User
from gym.accounts.quotas import Limit, Part, register
from gym.runs.models import SuiteRun


def _limit_of(user: User) -> Limit:
    return Limit(settings.GYM_MAX_RUNS_PER_USER if user.max_runs is None else user.max_runs)


RUNS = register("runs", "run", "runs", Part(SuiteRun), limit_of=_limit_of)
