"""What happens to agents, tests and runs when their owner's account is deleted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.db.models import Q

from gym.agents.models import AgentRun, AgentServer, AgentSuite
from gym.sharing.models import Visibility
from gym.sharing.selectors import shared_by
from models_registry.models import AGENT, RegisteredModel

if TYPE_CHECKING:
    from gym.accounts.models import User


def kept_suites(user: User) -> Any:
    """Suites that others use: public ones, and those with collaborators or other people's runs."""
    others = AgentRun.objects.exclude(owner=user).values("suite")
    relied_on = Q(visibility=Visibility.PUBLIC) | Q(pk__in=others) | shared_by(user, AgentSuite)
    return AgentSuite.objects.filter(owner=user).filter(relied_on)


def doomed_suites(user: User) -> Any:
    return AgentSuite.objects.filter(owner=user).exclude(pk__in=kept_suites(user).values("pk"))


def doomed_agents(user: User) -> Any:
    """Agents that nobody else can use: private ones without collaborators, and those of a private model of the
    owner."""
    private = Q(visibility=Visibility.PRIVATE) & ~shared_by(user, RegisteredModel)
    mute = Q(agent_server__wraps__visibility=Visibility.PRIVATE, agent_server__wraps__owner=user)
    return RegisteredModel.objects.filter(private | mute, owner=user, backend=AGENT)


def delete_or_hand_over(user: User, heir: User) -> None:
    """Delete what only the owner could see; hand over the rest without its secrets. Call in a transaction, before the
    models are deleted."""
    kept = list(kept_suites(user).values_list("pk", flat=True))
    agents = list(doomed_agents(user).values_list("pk", flat=True))
    doomed_suites(user).delete()
    AgentRun.objects.filter(server__model__in=agents).delete()
    RegisteredModel.objects.filter(pk__in=agents).delete()
    AgentServer.objects.filter(model__owner=user).update(secrets={})
    AgentSuite.objects.filter(pk__in=kept).update(owner=heir, variables={})
