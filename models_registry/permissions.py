"""Permissions on registered models."""

from __future__ import annotations

from gym.accounts.models import AnyUser
from gym.sharing.models import Visibility
from gym.sharing.permissions import may_edit, may_read, owns
from models_registry.models import UPLOADED, RegisteredModel


def can_view(user: AnyUser, model: RegisteredModel) -> bool:
    return model.visibility == Visibility.PUBLIC or may_read(user, model)


def can_edit(user: AnyUser, model: RegisteredModel) -> bool:
    """Return True for owner, staff and editing collaborators, who may edit the card and queue a check."""
    return may_edit(user, model)


def can_manage(user: AnyUser, model: RegisteredModel) -> bool:
    """Return True for owner and staff, who may delete the model and change its visibility, source and secrets."""
    return owns(user, model)


def can_approve(user: AnyUser) -> bool:
    """Return True for staff only, since loading a model downloads or reads files on the worker's machine."""
    return user.is_authenticated and user.is_staff


def can_run(user: AnyUser, model: RegisteredModel) -> bool:
    return user.is_authenticated and can_view(user, model)


def can_upload_to(user: AnyUser, model: RegisteredModel) -> bool:
    """Return True if the model was registered for uploaded results, and the user may edit it."""
    return model.backend == UPLOADED and can_edit(user, model)
