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
    """Return True for users who may edit settings (except visibility and secrets), judge, cases and failure modes:
    owner, staff and collaborators who can edit."""
    return may_edit(user, suite)


def can_manage(user: AnyUser, suite: AgentSuite) -> bool:
    """Return True for users who may change visibility and secrets and delete the suite: the owner and staff."""
    return owns(user, suite)


def can_run_suite(user: AnyUser, suite: AgentSuite) -> bool:
    """Return True for signed-in users who can view the suite and send its secrets."""
    return user.is_authenticated and can_view(user, suite) and can_send_secrets(user, suite)


def can_send_secrets(user: AnyUser, suite: AgentSuite) -> bool:
    """Return True if the suite has no secrets, or if the user is its owner or staff: other users could write
    a case that sends the secrets anywhere."""
    return not suite.variables or owns(user, suite)


def can_judge(user: AnyUser, suite: AgentSuite) -> bool:
    """Return True if the suite has no judge, or the user may use it. The judge's owner pays for requests with secret
    keys, so only the owner and staff may use a judge with secrets. Any other judge may be used by signed-in users who
    can see it."""
    judge = suite.judge
    if judge is None or (user.is_authenticated and (user.is_staff or judge.owner_id == user.pk)):
        return True
    agent = getattr(judge, "agent_server", None)
    return can_run(user, judge) and not (agent is not None and agent.secrets)


def can_steer(user: AnyUser, run: AgentRun) -> bool:
    """Return True for users who may cancel, resume and rescore a run: its submitter, the suite's owner and staff."""
    return user.is_authenticated and (user.is_staff or user.pk in {run.owner_id, run.suite.owner_id})
