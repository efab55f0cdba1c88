"""Contents of a user's home page: their own objects and those shared with them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from gym.accounts.models import User
from gym.jobs.selectors import note_silence
from gym.people.models import HumanData
from gym.people.selectors import HEAVY
from gym.people.selectors import visible_to as visible_human_data
from gym.runs.models import SuiteRun
from gym.runs.read.selectors import known_runs
from gym.sharing.models import Collaborator, Invitation, Offer
from gym.sharing.selectors import invitations_of, shares_of
from models_registry.models import RegisteredModel
from suites.models import Suite

SHOWN = 20


@dataclass(frozen=True)
class Dashboard:
    """All open invitations, and at most SHOWN objects of each other kind; `more_…` is True if others exist. The newest
    human data come first."""

    invitations: list[Invitation]
    suites: list[Suite]
    more_suites: bool
    shares: list[Collaborator]
    more_shares: bool
    runs: list[SuiteRun]
    more_runs: bool
    models: list[RegisteredModel]
    more_models: bool
    human_data: list[HumanData]

    @property
    def inviters(self) -> list[tuple[User, int]]:
        """Accounts with several invitations that can be accepted together, and their number."""
        senders = [row.inviter for row in self.invitations if row.role != Offer.OWNER]
        return [(user, n) for user, n in Counter(senders).items() if n > 1]

    @property
    def is_empty(self) -> bool:
        return not (self.suites or self.shares or self.runs or self.models or self.human_data)


def dashboard_of(user: User) -> Dashboard:
    """Collect the dashboard. Recently changed suites and newest runs come first; shares are sorted by app and title."""
    suites = list(Suite.objects.filter(owner=user).order_by("-updated")[: SHOWN + 1])
    models = list(RegisteredModel.objects.filter(owner=user)[: SHOWN + 1])
    runs = list(known_runs(user).filter(owner=user).prefetch_related("scores")[: SHOWN + 1])
    shares = shares_of(user)
    note_silence(run.job for run in runs)
    return Dashboard(
        invitations=invitations_of(user),
        suites=suites[:SHOWN],
        more_suites=len(suites) > SHOWN,
        shares=shares[:SHOWN],
        more_shares=len(shares) > SHOWN,
        runs=runs[:SHOWN],
        more_runs=len(runs) > SHOWN,
        models=models[:SHOWN],
        more_models=len(models) > SHOWN,
        human_data=list(
            visible_human_data(user).filter(owner=user).defer(*HEAVY).order_by("-created")[:SHOWN]
        ),
    )
