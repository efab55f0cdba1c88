from __future__ import annotations

from django.apps import AppConfig


class ConversationsConfig(AppConfig):
    name = "gym.conversations"
    label = "conversations"
    default_auto_field = "django.db.models.BigAutoField"
