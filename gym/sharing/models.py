"""Visibility, collaborators and invitations. Each app defines its own table of collaborators; this module imports no
app."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.contrib.contenttypes.fields import GenericForeignKey
from django.contrib.contenttypes.models import ContentType
from django.db import models

from gym.page_cache.reads import never_keep


class Visibility(models.TextChoices):
    """Visibility of an object: to its owner, collaborators and staff, to anyone with the address, or to
    everyone."""

    PRIVATE = "private", "private"
    UNLISTED = "unlisted", "unlisted"
    PUBLIC = "public", "public"


if TYPE_CHECKING:
    TextColumn = models.CharField[str, str]
else:
    TextColumn = models.CharField


class VisibilityField(TextColumn):
    """The visibility of an object. Pages that read one that is not public are not kept for others."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        defaults: dict[str, Any] = {
            "max_length": 10,
            "default": Visibility.PRIVATE,
            "choices": Visibility.choices,
        }
        super().__init__(*args, **(defaults | kwargs))

    def from_db_value(self, value: str | None, expression: Any, connection: Any) -> str | None:
        if value not in (Visibility.PUBLIC, None):
            never_keep()
        return value

    def deconstruct(self) -> Any:
        name, _, args, kwargs = super().deconstruct()
        return name, "django.db.models.CharField", args, kwargs


PRIVATE_OR_PUBLIC = [choice for choice in Visibility.choices if choice[0] != Visibility.UNLISTED]
"""Choices for objects without secret addresses."""


class Role(models.TextChoices):
    EDIT = "edit", "Can edit"
    VIEW = "view", "Can view"


class Offer(models.TextChoices):
    """Role that an invitation offers."""

    EDIT = "edit", "Can edit"
    VIEW = "view", "Can view"
    OWNER = "owner", "Owner"


class Collaborator(models.Model):
    """A user's role on another user's object. An app adds the foreign key `thing`, with the related name
    `collaborations`:

    class CorpusCollaborator(Collaborator):
        thing = models.ForeignKey(Corpus, on_delete=models.CASCADE, related_name="collaborations")
    """

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    role = models.CharField(max_length=4, choices=Role.choices, default=Role.EDIT)
    thing: Any
    accepted = True

    class Meta:
        abstract = True
        constraints = [
            models.UniqueConstraint(fields=["thing", "user"], name="%(class)s_once_per_person"),
        ]

    def __str__(self) -> str:
        return f"{self.user} {self.get_role_display().lower()} {self.thing}"

    @property
    def noun(self) -> str:
        return str(self.thing._meta.verbose_name)


class Invitation(models.Model):
    """An offer to work on an object or to own it. It gives no rights until it is accepted, which deletes it.

    Objects declare `invitations = GenericRelation(Invitation)`, which deletes the rows with the object. Declined rows
    are kept to enforce the pause before the next invitation."""

    invited = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    inviter = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.CASCADE,
        related_name="+",
        help_text="owner when the invitation was sent",
    )
    role = models.CharField(max_length=5, choices=Offer.choices)
    content_type = models.ForeignKey(ContentType, on_delete=models.CASCADE)
    object_id = models.PositiveBigIntegerField()
    thing = GenericForeignKey()
    created = models.DateTimeField(auto_now_add=True)
    declined = models.DateTimeField(null=True, blank=True)
    accepted = False

    class Meta:
        ordering = ["-created", "-pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["content_type", "object_id", "invited"], name="one_invitation_per_thing_and_person"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.inviter} invites {self.invited}: {self.get_role_display().lower()}"

    @property
    def user(self) -> Any:
        """The invited user, named as in Collaborator."""
        return self.invited

    @property
    def noun(self) -> str:
        return str(self.content_type.model_class()._meta.verbose_name)  # type: ignore[union-attr]
