"""Use cases and reads of collections.

An unpublished collection is its owner's and staff's alone. Publishing asks that everybody may see every suite in it;
from then on list and address stay, and neither can be taken back.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import TYPE_CHECKING

from django.core.exceptions import PermissionDenied, ValidationError
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from gym.results.models import Collection, CollectionEntry
from suites.models import SuiteRevision, Visibility
from suites.selectors import visible_to as visible_suites

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser

    from gym.accounts.models import User

MAX_ENTRIES = 500


def visible_collections(user: User | AnonymousUser) -> QuerySet[Collection]:
    """Published ones, and one's own."""
    collections = Collection.objects.select_related("owner")
    if user.is_authenticated and user.is_staff:
        return collections
    mine = Q(owner=user) if user.is_authenticated else Q()
    return (
        collections.filter(Q(published_at__isnull=False) | mine)
        if mine
        else collections.exclude(published_at=None)
    )


def revisions_of(collection: Collection, user: User | AnonymousUser) -> list[SuiteRevision]:
    """The collection's revisions that this user may see, in its order, with suite and tags."""
    rows = SuiteRevision.objects.filter(
        collection_entries__collection=collection, suite__in=visible_suites(user)
    )
    ordered = rows.select_related("suite").order_by("collection_entries__position")
    return list(ordered.prefetch_related("suite__tags"))


def can_change(user: User | AnonymousUser, collection: Collection) -> bool:
    """Owner and staff, until it is published."""
    mine = user.is_authenticated and (user.is_staff or collection.owner_id == user.pk)
    return bool(mine and not collection.is_published)


def make_collection(
    *,
    actor: User,
    slug: str,
    title: str,
    description: str,
    reference: str,
    revisions: Sequence[SuiteRevision],
) -> Collection:
    """A draft of a collection."""
    _require_usable(revisions, actor)
    with transaction.atomic():
        collection = Collection.objects.create(
            slug=slug, title=title, description=description, reference=reference, owner=actor
        )
        _fill(collection, revisions)
    return collection


def change_collection(
    collection: Collection,
    *,
    actor: User,
    title: str,
    description: str,
    reference: str,
    revisions: Sequence[SuiteRevision],
) -> None:
    _require_change(collection, actor)
    _require_usable(revisions, actor)
    with transaction.atomic():
        collection.title, collection.description, collection.reference = title, description, reference
        collection.save(update_fields=["title", "description", "reference"])
        collection.entries.all().delete()
        _fill(collection, revisions)


def publish_collection(collection: Collection, *, actor: User) -> None:
    """Make it public and unchangeable."""
    _require_change(collection, actor)
    with transaction.atomic():
        locked = Collection.objects.select_for_update().get(pk=collection.pk)
        if locked.is_published:
            return
        rows = [entry.revision for entry in locked.entries.select_related("revision__suite")]
        if not rows:
            raise ValidationError("An empty collection cannot be published.")
        hidden = [row.suite.slug for row in rows if row.suite.visibility != Visibility.PUBLIC]
        if hidden:
            raise ValidationError(
                f"These suites are not public, so that others could not see them: {', '.join(hidden)}."
            )
        locked.sha256 = digest(rows)
        locked.published_at = timezone.now()
        locked.save(update_fields=["sha256", "published_at"])


def delete_collection(collection: Collection, *, actor: User) -> None:
    _require_change(collection, actor)
    collection.delete()


def digest(revisions: Sequence[SuiteRevision]) -> str:
    """sha256 of a line per revision: address, number, hash."""
    lines = (f"{row.suite.slug} r{row.number} {row.sha256}\n" for row in revisions)
    return sha256("".join(lines).encode()).hexdigest()


def _fill(collection: Collection, revisions: Sequence[SuiteRevision]) -> None:
    CollectionEntry.objects.bulk_create(
        [CollectionEntry(collection=collection, revision=row, position=k) for k, row in enumerate(revisions)]
    )


def _require_change(collection: Collection, actor: User) -> None:
    if not can_change(actor, collection):
        raise PermissionDenied("a published collection stays as it is; others are their owner's")


def _require_usable(revisions: Sequence[SuiteRevision], actor: User) -> None:
    if len(revisions) > MAX_ENTRIES:
        raise ValidationError(f"A collection has at most {MAX_ENTRIES} suites.")
    allowed = set(
        visible_suites(actor).filter(pk__in=[row.suite_id for row in revisions]).values_list("pk", flat=True)
    )
    if any(not row.is_frozen or row.suite_id not in allowed for row in revisions):
        raise ValidationError("Collections hold frozen revisions of suites that you may see.")
