"""Use cases and queries for collections.

An unpublished collection is visible to its owner, collaborators and staff. Publishing requires all its suites to be
public, and cannot be undone: the list and the address then never change.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from hashlib import sha256

from django.core.exceptions import PermissionDenied, ValidationError
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from gym.accounts.models import AnyUser, User
from gym.collections.models import Collection, CollectionEntry, CollectionHumanData
from gym.collections.quotas import COLLECTIONS
from gym.people.models import HumanData
from gym.people.selectors import listed as listed_data
from gym.sharing.models import Role, Visibility
from gym.sharing.permissions import may_edit, owns
from gym.sharing.selectors import worked_on_by
from suites.models import Suite, SuiteRevision
from suites.selectors import known_to, listed_for, revisions_for
from suites.services import set_visibility

MAX_ENTRIES = 500
RESERVED_SLUGS = frozenset({"new"})
"""Slugs reserved for pages of the site."""


def visible_collections(user: AnyUser) -> QuerySet[Collection]:
    """Return published collections and the user's own or shared ones; all collections for staff."""
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
    """Return the revisions whose suites are listed for this user, in order, with suite and tags. Unlisted
    suites that the user neither owns nor collaborates on are left out, so that their addresses do not leak."""
    rows = listed_revisions(collection, user).select_related("suite__owner")
    return list(rows.prefetch_related("suite__tags"))


def listed_revisions(collection: Collection, user: AnyUser) -> QuerySet[SuiteRevision]:
    rows = SuiteRevision.objects.filter(collection_entries__collection=collection, suite__in=listed_for(user))
    return rows.order_by("collection_entries__position")


def hidden_revisions(collection: Collection, user: AnyUser) -> dict[int, SuiteRevision]:
    """Map position to revision for the entries that `revisions_of` leaves out for this user."""
    entries = collection.entries.select_related("revision__suite").order_by("position")
    listed = {row.pk for row in revisions_of(collection, user)}
    return {k: row.revision for k, row in enumerate(entries) if row.revision_id not in listed}


def can_change(user: AnyUser, collection: Collection) -> bool:
    """Return whether the user may edit the collection: owner, staff and editing collaborators, until it is
    published."""
    return not collection.is_published and may_edit(user, collection)


def changeable_by(user: User) -> QuerySet[Collection]:
    """Return the collections that the user may edit."""
    unpublished = Collection.objects.filter(published_at=None).order_by("title")
    if user.is_staff:
        return unpublished
    return unpublished.filter(worked_on_by(user, Collection, roles=[Role.EDIT]))


def can_manage(user: AnyUser, collection: Collection) -> bool:
    """Return whether the user may publish and delete the collection: owner and staff, until it is published."""
    return not collection.is_published and owns(user, collection)


def create_collection(
    *,
    actor: User,
    slug: str,
    title: str,
    description: str,
    reference: str,
    revisions: Sequence[SuiteRevision],
) -> Collection:
    """Create an unpublished collection. Raises ValidationError, also (as OverQuota) if the quota is exceeded."""
    _require_usable(revisions, actor)
    collection = Collection(slug=slug, title=title, description=description, reference=reference, owner=actor)
    if slug in RESERVED_SLUGS:
        raise ValidationError({"slug": "This name is reserved."})
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
    """Change a collection. `revisions`: the complete new list, in order; None keeps the list. Entries that the actor
    cannot see keep their positions."""
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
            _drop_other_data(collection)


def add_revision(collection: Collection, revision: SuiteRevision, *, actor: User) -> CollectionEntry:
    """Append a revision; a revision that is already in the list keeps its position."""
    _require_change(collection, actor)
    _require_usable([revision], actor)
    with COLLECTIONS.growing(collection.owner, actor=actor):
        locked = _locked(collection)
        entry = locked.entries.filter(revision=revision).first()
        if entry is not None:
            return entry
        if locked.entries.count() >= MAX_ENTRIES:
            raise ValidationError(f"A collection has at most {MAX_ENTRIES} suites.")
        last = locked.entries.order_by("-position").first()
        return CollectionEntry.objects.create(
            collection=locked, revision=revision, position=last.position + 1 if last else 0
        )


def remove_revision(collection: Collection, revision: SuiteRevision, *, actor: User) -> None:
    _require_change(collection, actor)
    with transaction.atomic():
        locked = _locked(collection)
        locked.entries.filter(revision=revision).delete()
        _drop_other_data(locked)


def _drop_other_data(collection: Collection) -> None:
    """Remove human data of revisions that are not in the collection."""
    revisions = collection.entries.values("revision")
    collection.human_data_entries.exclude(human_data__revision__in=revisions).delete()


def human_data_of(collection: Collection, user: AnyUser) -> list[HumanData]:
    """Return the collection's human data that this user may see in lists."""
    return list(listed_data(user).filter(collection_entries__collection=collection).order_by("title", "pk"))


def addable_data(collection: Collection, user: AnyUser) -> QuerySet[HumanData]:
    """Return the human data of the collection's revisions that this user may see in lists."""
    return (
        listed_data(user).filter(revision__collection_entries__collection=collection).order_by("title", "pk")
    )


def set_human_data(collection: Collection, chosen: Sequence[HumanData], *, actor: User) -> None:
    """Replace the collection's human data by these, which must be of its revisions. Data that the actor cannot see are
    kept. Raises ValidationError and PermissionDenied."""
    _require_change(collection, actor)
    with transaction.atomic():
        locked = _locked(collection)
        visible = set(addable_data(locked, actor).values_list("pk", flat=True))
        if any(data.pk not in visible for data in chosen):
            raise ValidationError("Choose human data of the collection’s suites.")
        locked.human_data_entries.filter(human_data__in=visible).delete()
        CollectionHumanData.objects.bulk_create(
            [CollectionHumanData(collection=locked, human_data=data) for data in chosen]
        )


def frozen_revision(user: AnyUser, slug: str, number: int | None = None) -> SuiteRevision | None:
    """Return a frozen revision of a suite listed for this user; by default the newest."""
    rows = listed_frozen(user).filter(suite__slug=slug)
    if number is not None:
        rows = rows.filter(number=number)
    return rows.order_by("-number").first()


def explain_missing_revision(user: AnyUser, slug: str, number: int | None) -> str:
    """Explain why `frozen_revision` returned None, with alternatives listed for the user."""
    known = frozen_revision(user, slug)
    if known is not None:
        return f"{described(known)} has no frozen revision r{number}."
    others = _by_name(user, [slug]).get(slug, [])
    if others:
        return f"No suite in your lists has the short name “{slug}”. With that name in their files: {_some(others)}."
    if listed_for(user).filter(slug=slug).exists():
        return f"“{slug}” has no frozen revision. Freeze its draft first."
    return f"No suite in your lists has the short name “{slug}”."


def same_name(user: AnyUser, revisions: Sequence[SuiteRevision]) -> dict[int, list[SuiteRevision]]:
    """Map each revision id to the newest frozen revisions of other listed suites whose files have the same name."""
    by_name = _by_name(user, [row.name for row in revisions])
    others_by_pk = {
        row.pk: [o for o in by_name.get(row.name, []) if o.suite_id != row.suite_id] for row in revisions
    }
    return {pk: others for pk, others in others_by_pk.items() if others}


def described(revision: SuiteRevision) -> str:
    """Describe a revision: “Centre embedding” (center_embed r1), by Demo."""
    suite = revision.suite
    return f"“{suite.title}” ({suite.slug} r{revision.number}), by {suite.owner.display_name}"


NAMED = 5
"""Maximum number of suites named in a message."""


def _some(revisions: Sequence[SuiteRevision]) -> str:
    more = f" and {len(revisions) - NAMED} more" if len(revisions) > NAMED else ""
    return "; ".join(described(row) for row in revisions[:NAMED]) + more


def _by_name(user: AnyUser, names: Sequence[str]) -> dict[str, list[SuiteRevision]]:
    """Map each suite name (the name in the file, not the slug) to the newest frozen revision of every listed
    suite with that name."""
    newest: dict[tuple[str, int], SuiteRevision] = {}
    for row in listed_frozen(user).filter(name__in=set(names)).order_by("suite_id", "number"):
        newest[row.name, row.suite_id] = row
    by_name: dict[str, list[SuiteRevision]] = {}
    for (name, _), row in newest.items():
        by_name.setdefault(name, []).append(row)
    return by_name


def listed_frozen(user: AnyUser) -> QuerySet[SuiteRevision]:
    """Return the revisions that this user can add to a collection, with suite and owner."""
    rows = revisions_for(user).filter(suite__in=listed_for(user), state=SuiteRevision.State.FROZEN)
    return rows.select_related("suite__owner")


def hidden_suites(collection: Collection, user: User) -> tuple[list[Suite], list[Suite]]:
    """Return the suites of a collection that are not public, among those that the user may know of: those that they may
    make public, and the others."""
    hidden = Suite.objects.filter(revisions__collection_entries__collection=collection)
    hidden = hidden.exclude(visibility=Visibility.PUBLIC).filter(pk__in=known_to(user)).distinct()
    rows = list(hidden.select_related("owner").order_by("title"))
    mine = {row.pk for row in rows}
    if not user.is_staff:
        editable = Suite.objects.filter(worked_on_by(user, Suite, roles=[Role.EDIT]), pk__in=mine)
        mine = set(editable.values_list("pk", flat=True))
    return [row for row in rows if row.pk in mine], [row for row in rows if row.pk not in mine]


def publish_collection(collection: Collection, *, actor: User, make_public: Container[int] = ()) -> None:
    """Make the collection public and immutable. `make_public`: primary keys of suites to make public as well, if the
    actor may do so."""
    require_manage(collection, actor)
    with transaction.atomic():
        locked = Collection.objects.select_for_update().get(pk=collection.pk)
        if locked.is_published:
            return
        suites = Suite.objects.filter(revisions__collection_entries__collection=locked)
        list(suites.order_by("pk").select_for_update())  # so that none is made private in the meantime
        for suite in hidden_suites(locked, actor)[0]:
            if suite.pk in make_public:
                set_visibility(suite, Visibility.PUBLIC, actor=actor)
        rows = [entry.revision for entry in locked.entries.select_related("revision__suite__owner")]
        if not rows:
            raise ValidationError("An empty collection cannot be published.")
        _require_public([row.suite for row in rows], actor)
        data = [row.human_data for row in locked.human_data_entries.select_related("human_data")]
        if any(
            one.visibility != Visibility.PUBLIC or one.revision_id not in {row.pk for row in rows}
            for one in data
        ):
            raise ValidationError("Publish the collection’s human data first, or remove them.")
        locked.sha256 = digest(rows, data)
        locked.published_at = timezone.now()
        locked.save(update_fields=["sha256", "published_at"])


def _require_public(suites: Sequence[Suite], actor: User) -> None:
    """Raise ValidationError unless all suites are public. The message names the suites that the actor may know of, and
    counts the others."""
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
    these = "This suite is" if len(hidden) == 1 else "These suites are"
    raise ValidationError(f"{these} not public: {'; '.join(named)}.")


def delete_collection(collection: Collection, *, actor: User) -> None:
    require_manage(collection, actor)
    with transaction.atomic():
        _locked(collection).delete()


def digest(revisions: Sequence[SuiteRevision], data: Sequence[HumanData] = ()) -> str:
    """Return the sha256 over one line per revision (slug, number, hash), and one per human data set (slug, hash of its
    file)."""
    lines = [f"{row.suite.slug} r{row.number} {row.sha256}\n" for row in revisions]
    lines += [f"human data {one.slug} {one.provenance.get('sha256', '')}\n" for one in data]
    return sha256("".join(lines).encode()).hexdigest()


def _fill(collection: Collection, revisions: Sequence[SuiteRevision]) -> None:
    CollectionEntry.objects.bulk_create(
        [CollectionEntry(collection=collection, revision=row, position=k) for k, row in enumerate(revisions)]
    )


def _with_hidden(
    collection: Collection, revisions: Sequence[SuiteRevision], actor: User
) -> list[SuiteRevision]:
    """Return `revisions` with the collection's hidden revisions at their old positions, or at the end if the
    list is shorter."""
    hidden = hidden_revisions(collection, actor)
    kept = {row.pk for row in hidden.values()}
    merged = [row for row in revisions if row.pk not in kept]
    for place, row in hidden.items():
        merged.insert(place, row)
    if len(merged) > MAX_ENTRIES:
        raise ValidationError(
            f"A collection has at most {MAX_ENTRIES} suites, including those you cannot see."
        )
    return merged


def _locked(collection: Collection) -> Collection:
    """Lock and re-read the collection. Raises PermissionDenied if it was published in the meantime."""
    locked = Collection.objects.select_for_update().get(pk=collection.pk)
    if locked.is_published:
        raise PermissionDenied("a published collection cannot be changed")
    return locked


def _require_change(collection: Collection, actor: User) -> None:
    if not can_change(actor, collection):
        raise PermissionDenied("you may not change this collection, or it is published and cannot be changed")


def require_manage(collection: Collection, actor: User) -> None:
    if not can_manage(actor, collection):
        raise PermissionDenied(
            "only its owner and staff may publish or delete a collection, and only before it is published"
        )


def _require_usable(revisions: Sequence[SuiteRevision], actor: User) -> None:
    if len(revisions) > MAX_ENTRIES:
        raise ValidationError(f"A collection has at most {MAX_ENTRIES} suites.")
    allowed = set(
        listed_for(actor).filter(pk__in=[row.suite_id for row in revisions]).values_list("pk", flat=True)
    )
    if any(not row.is_frozen or row.suite_id not in allowed for row in revisions):
        raise ValidationError("A collection can only contain frozen revisions of suites in your lists.")
