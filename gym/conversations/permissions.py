"""Who may do what with suites of agent tests and their runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gym.conversations.models import AgentRun, AgentSuite, Visibility

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser

    from gym.accounts.models import User


def can_view(user: User | AnonymousUser, suite: AgentSuite) -> bool:
    return suite.visibility == Visibility.PUBLIC or can_edit(user, suite)


def can_edit(user: User | AnonymousUser, suite: AgentSuite) -> bool:
    return user.is_authenticated and (user.is_staff or suite.owner_id == user.pk)


def can_steer(user: User | AnonymousUser, run: AgentRun) -> bool:
    """Cancel, retry, score again: the person who queued it, the suite's owner and staff."""
    return user.is_authenticated and (user.is_staff or user.pk in {run.owner_id, run.suite.owner_id})
