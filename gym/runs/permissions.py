"""Permissions on runs. A run is visible to everyone who may see both its suite and its model."""

from __future__ import annotations

from gym.accounts.models import AnyUser
from gym.runs.models import SuiteRun
from models_registry import permissions as model_permissions
from suites import permissions as suite_permissions


def can_view(user: AnyUser, run: SuiteRun) -> bool:
    return suite_permissions.can_view(user, run.revision.suite) and model_permissions.can_view(
        user, run.model
    )


def may_know_owner(user: AnyUser, run: SuiteRun) -> bool:
    """Return whether the user may know who queued or uploaded the run. For an unlisted suite, only the suite's owner,
    its collaborators, staff and the run's owner may."""
    mine = user.is_authenticated and run.owner_id == user.pk
    return mine or suite_permissions.may_know_owner(user, run.revision.suite)


def can_steer(user: AnyUser, run: SuiteRun) -> bool:
    """Return whether the user may cancel and retry the run: the person who queued it, the suite's owner, and staff."""
    if not user.is_authenticated:
        return False
    return user.is_staff or user.pk in {run.owner_id, run.revision.suite.owner_id}


def can_delete(user: AnyUser, run: SuiteRun) -> bool:
    """Return whether the user may delete the run: the person who queued or uploaded it, and staff. The suite's owner
    may not, because they could otherwise remove unwelcome results."""
    return user.is_authenticated and (user.is_staff or user.pk == run.owner_id)
