"""Who works on something besides its owner. Every room keeps its collaborators in a table of its own; this one imports
no room and names none."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db import models


class Visibility(models.TextChoices):
    """Who sees a thing: its people, everybody who has its address, or everybody."""

    PRIVATE = "private", "private"
    UNLISTED = "unlisted", "unlisted"
    PUBLIC = "public", "public"


PRIVATE_OR_PUBLIC = [choice for choice in Visibility.choices if choice[0] != Visibility.UNLISTED]
"""For rooms whose things have no secret addresses."""


class Role(models.TextChoices):
    EDIT = "edit", "may edit"
    VIEW = "view", "may view"


class Collaborator(models.Model):
    """What somebody may do with a thing of somebody else. A room adds `thing`, whose rows it calls `collaborations`:

    class CorpusCollaborator(Collaborator):
        thing = models.ForeignKey(Corpus, on_delete=models.CASCADE, related_name="collaborations")
    """

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    role = models.CharField(max_length=4, choices=Role.choices, default=Role.EDIT)
    thing: Any

    class Meta:
        abstract = True
        constraints = [
            models.UniqueConstraint(fields=["thing", "user"], name="%(class)s_once_per_person"),
        ]

    def __str__(self) -> str:
        return f"{self.user} {self.get_role_display()} {self.thing}"

    @property
    def noun(self) -> str:
        return str(self.thing._meta.verbose_name)
