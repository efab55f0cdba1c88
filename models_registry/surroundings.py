"""What this site lends to models that answer from elsewhere: the way out, secrets, the administrator's commands."""

from __future__ import annotations

from django.conf import settings

from gym.secrets import SecretError, reveal
from gym.way_out import net_policy
from models_registry.backends import BackendError, Surroundings
from models_registry.models import RegisteredModel


def surroundings_of(model: RegisteredModel) -> Surroundings:
    """For the worker that loads `model`. Raises BackendError when a stored secret cannot be read."""
    try:
        secrets = {name: reveal(model.secrets, name) for name in model.secrets}
    except SecretError as error:
        raise BackendError(str(error)) from error
    return Surroundings(net=net_policy(), secrets=secrets, commands=settings.GYM_LMZOO_COMMANDS)
