"""Use cases and reads of collections.

An unpublished collection is its people's and staff's alone. Publishing asks that everybody may see every suite in it;
from then on list and address stay, and neither can be taken back.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256

from django.core.exceptions import PermissionDenied, ValidationError
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from gym.accounts.models import AnyUser, User
from gym.collections.models import Collection, CollectionEntry
from gym.collections.quotas import COLLECTIONS
from gym.sharing.models import Visibility
from gym.sharing.permissions import may_edit, owns
from gym.sharing.selectors import worked_on_by
from suites.models import Suite, SuiteRevision
from suites.selectors import known_to, listed_for, revisions_for

MAX_ENTRIES = 500
TAKEN = frozenset({"new"})
"""Short names that are pages of the site."""


def visible_collections(user: AnyUser) -> QuerySet[Collection]:
    """Published ones, and those one works on."""
    collections = Collection.objects.select_related("owner")
    if user.is_authenticated and user.is_staff:
        return collections
    mine = worked_on_by(user, Collection) if user.is_authenticated else Q()
    return (
        collections.filter(Q(published_at__isnull=False) | mine)
        if mine
        else collections.exclude(published_at=None)
    )


def revisions_of(collection: Collection, user: AnyUser) -> list[SuiteRevision]:
    """The collection's revisions whose suites are in this user's lists, in its order, with suite and tags. A list never
    tells the address of somebody else's unlisted suite."""
    rows = listed_revisions(collection, user).select_related("suite__owner")
    return list(rows.prefetch_related("suite__tags"))


def listed_revisions(collection: Collection, user: AnyUser) -> QuerySet[SuiteRevision]:
    rows = SuiteRevision.objects.filter(collection_entries__collection=collection, suite__in=listed_for(user))
    return rows.order_by("collection_entries__position")


def hidden_revisions(collection: Collection, user: AnyUser) -> dict[int, SuiteRevision]:
    """Place in the collection -> revision, of those that `revisions_of` does not list for this user."""
    entries = collection.entries.select_related("revision__suite").order_by("position")
    listed = {row.pk for row in revisions_of(collection, user)}
    return {k: row.revision for k, row in enumerate(entries) if row.revision_id not in listed}


def can_change(user: AnyUser, collection: Collection) -> bool:
    """Owner, staff and collaborators who may edit, until it is published."""
    return not collection.is_published and may_edit(user, collection)


def can_manage(user: AnyUser, collection: Collection) -> bool:
    """Publish and delete: owner and staff, until it is published."""
    return not collection.is_published and owns(user, collection)


def make_collection(
    *,
    actor: User,
    slug: str,
    title: str,
    description: str,
    reference: str,
    revisions: Sequence[SuiteRevision],
) -> Collection:
    """A draft of a collection. Raises OverQuota."""
    _require_usable(revisions, actor)
    collection = Collection(slug=slug, title=title, description=description, reference=reference, owner=actor)
    if slug in TAKEN:
        raise ValidationError({"slug": "This name is taken by a page of the site."})
    collection.full_clean()
    with COLLECTIONS.growing(actor, new=True):
        collection.save()
        _fill(collection, revisions)
    return collection


def change_collection(
    collection: Collection,
    *,
    actor: User,
    title: str,
    description: str,
    reference: str,
    revisions: Sequence[SuiteRevision] | None,
) -> None:
    """`revisions`: all there are to be, in order; None leaves them as they are. Entries of suites that are not in the
    actor's lists now keep their places: nobody takes out what they cannot see."""
    _require_change(collection, actor)
    _require_usable(revisions or [], actor)
    with COLLECTIONS.growing(collection.owner, actor=actor):
        _locked(collection)
        if revisions is not None:
            revisions = _with_hidden(collection, revisions, actor)
        collection.title, collection.description, collection.reference = title, description, reference
        collection.save(update_fields=["title", "description", "reference"])
        if revisions is not None:
            collection.entries.all().delete()
            _fill(collection, revisions)


def add_revision(collection: Collection, revision: SuiteRevision, *, actor: User) -> CollectionEntry:
    """At the end of the list; a revision that is there already stays where it is."""
    _require_change(collection, actor)
    _require_usable([revision], actor)
    with COLLECTIONS.growing(collection.owner, actor=actor):
        locked = _locked(collection)
        there = locked.entries.filter(revision=revision).first()
        if there is not None:
            return there
        if locked.entries.count() >= MAX_ENTRIES:
            raise ValidationError(f"A collection has at most {MAX_ENTRIES} suites.")
        last = locked.entries.order_by("-position").first()
        return CollectionEntry.objects.create(
            collection=locked, revision=revision, position=last.position + 1 if last else 0
        )


def remove_revision(collection: Collection, revision: SuiteRevision, *, actor: User) -> None:
    _require_change(collection, actor)
    with transaction.atomic():
        _locked(collection).entries.filter(revision=revision).delete()


def frozen_revision(user: AnyUser, slug: str, number: int | None = None) -> SuiteRevision | None:
    """A frozen revision of a suite in this user's lists, the newest one without a number."""
    rows = listed_frozen(user).filter(suite__slug=slug)
    if number is not None:
        rows = rows.filter(number=number)
    return rows.order_by("-number").first()


def why_not_found(user: AnyUser, slug: str, number: int | None) -> str:
    """Of a slug that `frozen_revision` finds nothing for: what there is instead, in the user's lists."""
    known = frozen_revision(user, slug)
    if known is not None:
        return f"{described(known)} has no frozen revision r{number}."
    others = _by_name(user, [slug]).get(slug, [])
    if others:
        return f"No suite has the short name “{slug}”. By that name in the file: {_some(others)}."
    if listed_for(user).filter(slug=slug).exists():
        return f"“{slug}” has no frozen revision. Freeze its draft first."
    return f"There is no suite with the short name “{slug}” in your lists."


def same_name(user: AnyUser, revisions: Sequence[SuiteRevision]) -> dict[int, list[SuiteRevision]]:
    """Revision id -> the newest frozen revisions of other listed suites whose files say the same name."""
    by_name = _by_name(user, [row.name for row in revisions])
    found = {
        row.pk: [o for o in by_name.get(row.name, []) if o.suite_id != row.suite_id] for row in revisions
    }
    return {pk: others for pk, others in found.items() if others}


def described(revision: SuiteRevision) -> str:
    """What a slug stands for: “Centre embedding” (center_embed r1), by Demo."""
    suite = revision.suite
    return f"“{suite.title}” ({suite.slug} r{revision.number}), by {suite.owner.display_name}"


NAMED = 5
"""Suites that a sentence names."""


def _some(revisions: Sequence[SuiteRevision]) -> str:
    more = f" and {len(revisions) - NAMED} more" if len(revisions) > NAMED else ""
    return "; ".join(described(row) for row in revisions[:NAMED]) + more


def _by_name(user: AnyUser, names: Sequence[str]) -> dict[str, list[SuiteRevision]]:
    """Name in the file -> the newest frozen revision of each listed suite that has it."""
    newest: dict[tuple[str, int], SuiteRevision] = {}
    for row in listed_frozen(user).filter(name__in=set(names)).order_by("suite_id", "number"):
        newest[row.name, row.suite_id] = row
    found: dict[str, list[SuiteRevision]] = {}
    for (name, _), row in newest.items():
        found.setdefault(name, []).append(row)
    return found


def listed_frozen(user: AnyUser) -> QuerySet[SuiteRevision]:
    """What this user can put into a collection, with suite and owner."""
    rows = revisions_for(user).filter(suite__in=listed_for(user), state=SuiteRevision.State.FROZEN)
    return rows.select_related("suite__owner")


def publish_collection(collection: Collection, *, actor: User) -> None:
    """Make it public and unchangeable."""
    require_manage(collection, actor)
    with transaction.atomic():
        locked = Collection.objects.select_for_update().get(pk=collection.pk)
        if locked.is_published:
            return
        suites = Suite.objects.filter(revisions__collection_entries__collection=locked)
        list(suites.order_by("pk").select_for_update())  # nobody hides one meanwhile
        rows = [entry.revision for entry in locked.entries.select_related("revision__suite__owner")]
        if not rows:
            raise ValidationError("An empty collection cannot be published.")
        _require_public([row.suite for row in rows], actor)
        locked.sha256 = digest(rows)
        locked.published_at = timezone.now()
        locked.save(update_fields=["sha256", "published_at"])


def _require_public(suites: Sequence[Suite], actor: User) -> None:
    """Names the suites that the actor may be told of, and counts the others."""
    hidden = {suite.pk for suite in suites if suite.visibility != Visibility.PUBLIC}
    if not hidden:
        return
    known = set(known_to(actor).filter(pk__in=hidden).values_list("pk", flat=True))
    named = [
        f"“{suite.title}” ({suite.slug}), by {suite.owner.display_name}"
        for suite in sorted(suites, key=lambda suite: suite.title)
        if suite.pk in known
    ]
    if unnamed := len(hidden) - len(known):
        others = "other " if named else ""
        named.append(f"{unnamed} {others}suite{'' if unnamed == 1 else 's'} that you may not see")
    raise ValidationError(
        f"Not everybody can see these suites, because they are not public: {'; '.join(named)}."
    )


def delete_collection(collection: Collection, *, actor: User) -> None:
    require_manage(collection, actor)
    with transaction.atomic():
        _locked(collection).delete()


def digest(revisions: Sequence[SuiteRevision]) -> str:
    """sha256 of a line per revision: address, number, hash."""
    lines = (f"{row.suite.slug} r{row.number} {row.sha256}\n" for row in revisions)
    return sha256("".join(lines).encode()).hexdigest()


def _fill(collection: Collection, revisions: Sequence[SuiteRevision]) -> None:
    CollectionEntry.objects.bulk_create(
        [CollectionEntry(collection=collection, revision=row, position=k) for k, row in enumerate(revisions)]
    )


def _with_hidden(
    collection: Collection, revisions: Sequence[SuiteRevision], actor: User
) -> list[SuiteRevision]:
    """These, and what the actor cannot list where it was, or at the end of a list that became shorter."""
    hidden = hidden_revisions(collection, actor)
    kept = {row.pk for row in hidden.values()}
    found = [row for row in revisions if row.pk not in kept]
    for place, row in hidden.items():
        found.insert(place, row)
    if len(found) > MAX_ENTRIES:
        raise ValidationError(
            f"A collection has at most {MAX_ENTRIES} suites, those you cannot see included."
        )
    return found


def _locked(collection: Collection) -> Collection:
    """The row as it is now, locked; what was published meanwhile is refused."""
    locked = Collection.objects.select_for_update().get(pk=collection.pk)
    if locked.is_published:
        raise PermissionDenied("a published collection stays as it is")
    return locked


def _require_change(collection: Collection, actor: User) -> None:
    if not can_change(actor, collection):
        raise PermissionDenied("a published collection stays as it is; others are their owner's")


def require_manage(collection: Collection, actor: User) -> None:
    if not can_manage(actor, collection):
        raise PermissionDenied(
            "its owner publishes and deletes a collection, and a published one stays as it is"
        )


def _require_usable(revisions: Sequence[SuiteRevision], actor: User) -> None:
    if len(revisions) > MAX_ENTRIES:
        raise ValidationError(f"A collection has at most {MAX_ENTRIES} suites.")
    allowed = set(
        listed_for(actor).filter(pk__in=[row.suite_id for row in revisions]).values_list("pk", flat=True)
    )
    if any(not row.is_frozen or row.suite_id not in allowed for row in revisions):
        raise ValidationError("Collections hold frozen revisions of suites in your lists.")
