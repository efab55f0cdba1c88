"""Reads for the profile: what is mine, and how much of my allowances is used."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db.models import QuerySet

from gym.accounts.models import ApiToken, User
from gym.accounts.tokens import live_tokens
from gym.evaluations import limits
from gym.evaluations.selectors import visible_to as visible_runs
from gym.jobs.models import ACTIVE_STATES, Job
from models_registry.models import RegisteredModel
from suites.models import Suite

SHOWN = 20


@dataclass(frozen=True)
class Allowance:
    name: str
    used: int
    limit: int  # 0 = none


@dataclass(frozen=True)
class Profile:
    suites: list[Suite]
    n_suites: int
    collaborations: QuerySet[Any]
    models: list[RegisteredModel]
    n_models: int
    runs: list[Any]
    n_runs: int
    tokens: QuerySet[ApiToken]
    allowances: list[Allowance]


def profile_of(user: User) -> Profile:
    suites = Suite.objects.filter(owner=user).order_by("-updated")
    models = RegisteredModel.objects.filter(owner=user)
    runs = visible_runs(user).filter(owner=user).prefetch_related("prediction_results")
    return Profile(
        suites=list(suites[:SHOWN]),
        n_suites=suites.count(),
        collaborations=user.collaborations.select_related("suite__owner").order_by("suite__title"),
        models=list(models[:SHOWN]),
        n_models=models.count(),
        runs=list(runs[:SHOWN]),
        n_runs=runs.count(),
        tokens=live_tokens(user),
        allowances=allowances_of(user),
    )


def allowances_of(user: User) -> list[Allowance]:
    """What this account may still do. Staff has no limits but that of active jobs."""
    active = Job.objects.filter(owner=user, state__in=ACTIVE_STATES).count()
    free = user.is_staff
    return [
        Allowance("jobs queued or running", active, settings.GYM_MAX_ACTIVE_JOBS_PER_USER),
        Allowance(
            "sentences queued in the last 24 hours",
            limits.sentences_today(user),
            0 if free else settings.GYM_MAX_SENTENCES_PER_DAY,
        ),
        Allowance("runs kept", limits.stored_runs(user), 0 if free else settings.GYM_MAX_RUNS_PER_USER),
    ]
