from __future__ import annotations

from django.apps import AppConfig


class ConversationsConfig(AppConfig):
    name = "gym.conversations"
    label = "conversations"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from gym.conversations import actors, quotas  # noqa: F401  they register job handlers and what is counted
