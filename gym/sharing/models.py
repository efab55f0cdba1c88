"""Who works on something besides its owner. Suites have a table of their own (suites.SuiteCollaborator); everything
else shares this one. It names the other rooms and imports none of them."""

from __future__ import annotations

from functools import reduce
from operator import or_

from django.conf import settings
from django.db import models
from django.db.models import Q

THINGS = ("agent_suite", "answer_set", "corpus", "collection", "model")


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


def _one_thing() -> Q:
    """Exactly one of THINGS is filled."""
    return reduce(or_, (Q(**{f"{name}__isnull": name != here for name in THINGS}) for here in THINGS))


class Collaboration(models.Model):
    """What somebody may do with one thing of somebody else: one of THINGS is filled, the others are empty."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="shares")
    role = models.CharField(max_length=4, choices=Role.choices, default=Role.EDIT)
    agent_suite = models.ForeignKey(
        "agents.AgentSuite", on_delete=models.CASCADE, null=True, related_name="collaborations"
    )
    answer_set = models.ForeignKey(
        "propara.AnswerSet", on_delete=models.CASCADE, null=True, related_name="collaborations"
    )
    corpus = models.ForeignKey(
        "lmchallenge.Corpus", on_delete=models.CASCADE, null=True, related_name="collaborations"
    )
    collection = models.ForeignKey(
        "collections.Collection", on_delete=models.CASCADE, null=True, related_name="collaborations"
    )
    model = models.ForeignKey(
        "models_registry.RegisteredModel", on_delete=models.CASCADE, null=True, related_name="collaborations"
    )

    class Meta:
        constraints = [
            models.CheckConstraint(condition=_one_thing(), name="collaboration_on_one_thing"),
            *(
                models.UniqueConstraint(fields=[name, "user"], name=f"one_role_per_{name}_and_person")
                for name in THINGS
            ),
        ]

    def __str__(self) -> str:
        return f"{self.user} {self.get_role_display()} {self.thing}"

    @property
    def thing(self) -> models.Model:
        return next(thing for name in THINGS if (thing := getattr(self, name)) is not None)

    @property
    def noun(self) -> str:
        return str(self.thing._meta.verbose_name)
