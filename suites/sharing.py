"""Use cases of collaboration: who may edit or view a suite besides its owner."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.contrib.auth import get_user_model
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import IntegrityError, transaction

from suites import permissions
from suites.models import Suite, SuiteCollaborator

if TYPE_CHECKING:
    from gym.accounts.models import User

MAX_COLLABORATORS = 100
Role = SuiteCollaborator.Role


def add_collaborator(suite: Suite, username: str, role: str, *, actor: User) -> SuiteCollaborator:
    """Let the account of this name edit or view the suite."""
    _require_share(actor, suite)
    _require_role(role)
    user = get_user_model().objects.filter(username=username.strip(), is_active=True).first()
    if user is None:
        raise ValidationError(f"There is no account called {username.strip()}.")
    if user.pk == suite.owner_id:
        raise ValidationError(f"{user.username} owns this suite.")
    if suite.collaborations.count() >= MAX_COLLABORATORS:
        raise ValidationError(f"A suite has at most {MAX_COLLABORATORS} collaborators.")
    try:
        with transaction.atomic():
            return SuiteCollaborator.objects.create(suite=suite, user=user, role=role)
    except IntegrityError as error:
        raise ValidationError(f"{user.username} is a collaborator already.") from error


def set_role(collaboration: SuiteCollaborator, role: str, *, actor: User) -> None:
    _require_share(actor, collaboration.suite)
    _require_role(role)
    collaboration.role = role
    collaboration.save(update_fields=["role"])


def remove_collaborator(collaboration: SuiteCollaborator, *, actor: User) -> None:
    """The owner and staff remove anybody; everybody may remove themselves."""
    if collaboration.user_id != actor.pk:
        _require_share(actor, collaboration.suite)
    collaboration.delete()


def hand_over(collaboration: SuiteCollaborator, *, actor: User) -> None:
    """Make an editing collaborator the owner. The owner of before stays as somebody who may edit."""
    suite = collaboration.suite
    _require_share(actor, suite)
    if collaboration.role != Role.EDIT:
        raise ValidationError("Only somebody who may edit the suite can become its owner.")
    with transaction.atomic():
        before, suite.owner = suite.owner, collaboration.user
        collaboration.delete()
        suite.save(update_fields=["owner", "updated"])
        if before.is_active:
            SuiteCollaborator.objects.create(suite=suite, user=before, role=Role.EDIT)


def _require_share(actor: User, suite: Suite) -> None:
    if not permissions.can_share(actor, suite):
        raise PermissionDenied("only its owner decides who works on a suite")


def _require_role(role: str) -> None:
    if role not in Role.values:
        raise ValidationError(f"Choose one of {', '.join(Role.values)}.")
