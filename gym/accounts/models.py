"""The user model. Own from the first migration, so that it can grow without surgery."""

from __future__ import annotations

from django.contrib.auth.models import AbstractUser


class User(AbstractUser):
    """Somebody with an account. Reading needs none."""

    @property
    def display_name(self) -> str:
        return self.get_full_name() or self.username
