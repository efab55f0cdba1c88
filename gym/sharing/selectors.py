"""Queries for collaborators and invitations."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.contrib.contenttypes.models import ContentType
from django.db import models
from django.db.models import Q, QuerySet, Value

from gym.accounts.models import AnyUser, User
from gym.sharing.models import Collaborator, Invitation, Role
from gym.sharing.permissions import owns

HEAVY = (models.BinaryField, models.JSONField, models.TextField)
"""Classes of fields that may be large; they are not loaded when only titles are listed."""


def tables() -> list[type[Collaborator]]:
    """Return the collaborator tables of all apps."""
    return Collaborator.__subclasses__()


def table_of(kind: type[models.Model]) -> Any:
    """Return the collaborator table of this kind of object."""
    return kind._meta.get_field("collaborations").related_model


def worked_on_by(
    user: User, kind: type[models.Model], at: str = "", *, roles: Iterable[str] = Role.values
) -> Q:
    """Return a filter for rows that the user owns or collaborates on in one of `roles`. `at` is the lookup from a row
    to the object, e.g. "corpus__"."""
    shared = table_of(kind).objects.filter(user=user, role__in=roles).values("thing")
    return Q(**{f"{at}owner": user}) | Q(**{f"{at}pk__in": shared})


def shared_by(owner: User, kind: type[models.Model]) -> Q:
    """Return a filter for this owner's objects of a kind that have collaborators."""
    return Q(pk__in=table_of(kind).objects.filter(thing__owner=owner).values("thing"))


def shares_of(user: User) -> list[Collaborator]:
    """Return this user's collaborations, with objects and owners, sorted by app and title. One query, plus one for
    every app with matches."""
    rows: list[Any] = [
        table._default_manager.filter(user=user).order_by().values_list(Value(place), "pk")
        for place, table in enumerate(tables())
    ]
    keys: dict[int, list[int]] = {}
    for place, key in rows[0].union(*rows[1:], all=True):
        keys.setdefault(place, []).append(key)
    result: list[Collaborator] = []
    for place, table in enumerate(tables()):
        if place in keys:
            shares = rows_with_objects(table).filter(pk__in=keys[place])
            result += sorted(shares, key=lambda row: (str(row.thing).casefold(), row.pk))
    return result


def shared_model(table: type[Collaborator]) -> Any:
    """Return the model of the objects that this table shares."""
    fields: Any = table._meta
    return fields.get_field("thing").related_model


def rows_with_objects(table: type[Collaborator]) -> QuerySet[Any]:
    """Return the rows with their objects and owners, without HEAVY fields."""
    model = shared_model(table)
    rows: QuerySet[Any] = table._default_manager.all()
    return rows.select_related("thing__owner").defer(*_heavy(model, "thing__"))


def _heavy(kind: Any, before: str = "") -> list[str]:
    return [f"{before}{column.name}" for column in kind._meta.concrete_fields if isinstance(column, HEAVY)]


# --- invitations ---


def invited_to(obj: Any) -> QuerySet[Invitation]:
    """Return the open invitations to an object."""
    rows: QuerySet[Invitation] = obj.invitations.filter(declined=None, owner=obj.owner_id)
    return rows.select_related("invited").order_by("invited__username")


def invitations_of(user: AnyUser) -> list[Invitation]:
    """Return the open invitations to this user, newest first, with their objects."""
    if not user.is_authenticated:
        return []
    invitations = Invitation.objects.filter(invited=user, declined=None).select_related("inviter", "owner")
    rows = list(invitations)
    for place in {row.content_type_id for row in rows}:
        here = [row for row in rows if row.content_type_id == place]
        kind: Any = ContentType.objects.get_for_id(place).model_class()
        objects = kind._base_manager.defer(*_heavy(kind)).in_bulk([row.object_id for row in here])
        for row in here:
            if (obj := objects.get(row.object_id)) is not None:
                row.thing = obj
    return [row for row in rows if row.thing is not None and is_valid(row, row.thing)]


def is_valid(invitation: Invitation, obj: Any) -> bool:
    """Return True if the invitation is still valid: its sender is active and may share, and the owner is the same."""
    inviter = invitation.inviter
    return obj.owner_id == invitation.owner_id and inviter.is_active and owns(inviter, obj)
