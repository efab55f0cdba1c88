"""Who may do what with a registered model."""

from __future__ import annotations

from gym.accounts.models import AnyUser
from gym.sharing.models import Visibility
from gym.sharing.permissions import may_edit, may_read, owns
from models_registry.models import UPLOADED, RegisteredModel


def can_view(user: AnyUser, model: RegisteredModel) -> bool:
    return model.visibility == Visibility.PUBLIC or may_read(user, model)


def can_edit(user: AnyUser, model: RegisteredModel) -> bool:
    """Its card, and checking it again: the owner, staff and collaborators who may edit."""
    return may_edit(user, model)


def can_manage(user: AnyUser, model: RegisteredModel) -> bool:
    """Who sees it, where its requests go, its secrets and its end: the owner and staff."""
    return owns(user, model)


def can_approve(user: AnyUser) -> bool:
    """Loading a model downloads or reads weights on the worker's machine: staff decides."""
    return user.is_authenticated and user.is_staff


def can_run(user: AnyUser, model: RegisteredModel) -> bool:
    return user.is_authenticated and can_view(user, model)


def can_upload_to(user: AnyUser, model: RegisteredModel) -> bool:
    """Results that were computed elsewhere belong to models that this site does not host, and to their people."""
    return model.backend == UPLOADED and can_edit(user, model)
