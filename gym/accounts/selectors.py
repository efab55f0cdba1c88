"""Reads for the profile: what is mine, and how much of my allowances is used."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import QuerySet

from gym.accounts.models import ApiToken, User
from gym.accounts.tokens import live_tokens
from gym.evaluations import limits
from gym.evaluations.models import SuiteRun
from gym.evaluations.selectors import known_runs
from gym.jobs.services import active_limit
from gym.sharing.models import Collaborator, Invitation
from gym.sharing.selectors import invitations_of, shares_of
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
    """At most SHOWN of each; `more_…` says that there are others."""

    suites: list[Suite]
    more_suites: bool
    invitations: list[Invitation]
    shares: list[Collaborator]
    models: list[RegisteredModel]
    more_models: bool
    runs: list[SuiteRun]
    n_runs: int
    tokens: QuerySet[ApiToken]
    allowances: list[Allowance]


def profile_of(user: User) -> Profile:
    suites = list(Suite.objects.filter(owner=user).order_by("-updated")[: SHOWN + 1])
    models = list(RegisteredModel.objects.filter(owner=user)[: SHOWN + 1])
    runs = known_runs(user).filter(owner=user).prefetch_related("scores")
    used = limits.used_by(user)
    return Profile(
        suites=suites[:SHOWN],
        more_suites=len(suites) > SHOWN,
        invitations=invitations_of(user),
        shares=shares_of(user),
        models=models[:SHOWN],
        more_models=len(models) > SHOWN,
        runs=list(runs[:SHOWN]),
        n_runs=used.runs,
        tokens=live_tokens(user),
        allowances=_allowances(user, used),
    )


def allowances_of(user: User) -> list[Allowance]:
    """What this account has used of what it may use."""
    return _allowances(user, limits.used_by(user))


def _allowances(user: User, used: limits.Used) -> list[Allowance]:
    """What this account may still do. Staff has no limits but that of active jobs."""
    sentences, runs = limits.sentence_limit(user), limits.run_limit(user)
    if user.is_staff:
        sentences = runs = 0
    return [
        Allowance("jobs queued or running", used.jobs, active_limit(user)),
        Allowance("sentences queued in the last 24 hours", used.sentences, sentences),
        Allowance("runs kept", used.runs, runs),
    ]
