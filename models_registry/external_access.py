"""What models that answer from elsewhere may use: the network, stored secrets, the administrator's commands."""

from __future__ import annotations

from django.conf import settings

from gym.secrets import SecretError, reveal
from gym.way_out import net_policy
from models_registry.backends import BackendError, ExternalAccess
from models_registry.models import RegisteredModel


def external_access_of(model: RegisteredModel) -> ExternalAccess:
    """For the worker that loads `model`. Raises BackendError when a stored secret cannot be read."""
    try:
        secrets = {name: reveal(model.secrets, name) for name in model.secrets}
    except SecretError as error:
        raise BackendError(str(error)) from error
    return ExternalAccess(net=net_policy(), secrets=secrets, commands=settings.GYM_LMZOO_COMMANDS)
