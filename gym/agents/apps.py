from __future__ import annotations

from django.apps import AppConfig


class AgentsConfig(AppConfig):
    name = "gym.agents"
    label = "agents"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from gym.agents import actors, notices, quotas, schedules  # noqa: F401  register handlers and receivers
