"""Who may do what with a registered model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gym.sharing.models import Visibility
from gym.sharing.permissions import may_edit, may_read, owns
from models_registry.models import UPLOADED, RegisteredModel

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser

    from gym.accounts.models import User


def can_view(user: User | AnonymousUser, model: RegisteredModel) -> bool:
    return model.visibility == Visibility.PUBLIC or may_read(user, model)


def can_edit(user: User | AnonymousUser, model: RegisteredModel) -> bool:
    """Its card, and checking it again: the owner, staff and collaborators who may edit."""
    return may_edit(user, model)


def can_manage(user: User | AnonymousUser, model: RegisteredModel) -> bool:
    """Who sees it, where its requests go, its secrets and its end: the owner and staff."""
    return owns(user, model)


def can_approve(user: User | AnonymousUser) -> bool:
    """Loading a model downloads or reads weights on the worker's machine: staff decides."""
    return user.is_authenticated and user.is_staff


def can_run(user: User | AnonymousUser, model: RegisteredModel) -> bool:
    return user.is_authenticated and can_view(user, model)


def can_upload_to(user: User | AnonymousUser, model: RegisteredModel) -> bool:
    """Results that were computed elsewhere belong to models that this site does not host, and to their people."""
    return model.backend == UPLOADED and can_edit(user, model)
