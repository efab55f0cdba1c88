from __future__ import annotations

from django.apps import AppConfig


class ConversationsConfig(AppConfig):
    name = "gym.conversations"
    label = "conversations"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from gym.conversations import actors  # noqa: F401  registers the job handlers
