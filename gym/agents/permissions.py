"""Permissions on suites of agent tests and their runs."""

from __future__ import annotations

from gym.accounts.models import AnyUser
from gym.agents.models import AgentRun, AgentSuite
from gym.sharing.models import Visibility
from gym.sharing.permissions import may_edit, may_read, owns
from models_registry.permissions import can_run


def can_view(user: AnyUser, suite: AgentSuite) -> bool:
    return suite.visibility == Visibility.PUBLIC or may_read(user, suite)


def can_edit(user: AnyUser, suite: AgentSuite) -> bool:
    """Settings, judge, cases and failure modes: the owner, staff and collaborators with edit rights."""
    return may_edit(user, suite)


def can_manage(user: AnyUser, suite: AgentSuite) -> bool:
    """Visibility, secrets and deletion: the owner and staff."""
    return owns(user, suite)


def can_run_suite(user: AnyUser, suite: AgentSuite) -> bool:
    """Users who can view the suite and may send its secrets."""
    return user.is_authenticated and can_view(user, suite) and can_send_secrets(user, suite)


def can_send_secrets(user: AnyUser, suite: AgentSuite) -> bool:
    """A case can send the secrets of its suite anywhere, so only the owner and staff can run a suite with secrets."""
    return not suite.variables or owns(user, suite)


def can_judge(user: AnyUser, suite: AgentSuite) -> bool:
    """Return whether this user may use the suite's judge. Its owner pays for requests with secret keys, so a judge with
    secrets is for its owner and staff, and a private one for users who may run it."""
    judge = suite.judge
    if judge is None or (user.is_authenticated and (user.is_staff or judge.owner_id == user.pk)):
        return True
    agent = getattr(judge, "agent_server", None)
    return can_run(user, judge) and not (agent is not None and agent.secrets)


def can_steer(user: AnyUser, run: AgentRun) -> bool:
    """Cancel, resume, score again: the user who queued the run, the owner of the suite, and staff."""
    return user.is_authenticated and (user.is_staff or user.pk in {run.owner_id, run.suite.owner_id})
