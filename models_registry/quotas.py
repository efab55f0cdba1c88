"""Quota for models, including agent servers."""

from __future__ import annotations

from gym.accounts.quotas import Part, register, stored
from models_registry.models import RegisteredModel

MODELS = register(
    "models",
    "model",
    "models",
    Part(
        RegisteredModel,
        size=stored("config", "secrets", "tags", "status_reason", "facts", "description", "bibtex"),
    ),
    setting="GYM_QUOTA_MODELS",
)
