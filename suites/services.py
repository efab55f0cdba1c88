"""Use cases for suites. They take the acting user as `actor` and raise PermissionDenied."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from django.core.exceptions import PermissionDenied, ValidationError
from django.db import IntegrityError, transaction
from django.db.models import ProtectedError
from django.utils import timezone
from django.utils.text import slugify

from gym.accounts.models import User
from gym.addresses import slug_from
from gym.sharing import addresses
from lmgym.suites.formats import SuiteDocument
from lmgym.suites.formats.tables import UNTITLED
from lmgym.suites.formulas import FormulaError, parse
from lmgym.suites.languages import tag_of
from lmgym.suites.lint import CODES
from suites import drafts, history, permissions
from suites.models import FormerAddress, Prediction, Sentence, Suite, SuiteRevision, Tag
from suites.options import DEFAULT, SuiteOptions
from suites.quotas import SUITES, bytes_of
from suites.selectors import (
    authors_in_files,
    document_of,
    fixed_address_reason,
    lint_rows,
    meta_text,
    pairable,
    revisions_for,
)

FROM_META = ("author", "reference", "description", "comment")
"""Fields of the card that are taken from a file's meta block."""
RESERVED_SLUGS = frozenset({"import", "new", "tags"})


class NothingToFreeze(ValidationError):
    """Raised if the suite has no draft."""


def import_suite(document: SuiteDocument, options: SuiteOptions = DEFAULT, *, actor: User) -> Suite:
    """Create a suite with one draft revision that holds the document. The slug is derived from the document's name, or
    from the title if the document has none.

    Raises PermissionDenied without a signed-in actor, and OverQuota."""
    if not actor.is_authenticated:
        raise PermissionDenied("sign in to create a suite")
    document = _named_after(options.title, document)
    meta = document.meta
    with SUITES.growing(actor, new=True):
        suite = _create(
            document.name,
            Suite(
                title=(options.title or document.name)[:200],
                owner=actor,
                visibility=options.visibility,
                language=options.language or tag_of(meta_text(meta.get("language"))) or "",
                **{name: meta_text(meta.get(name)) for name in FROM_META},
            ),
        )
        set_tags(suite, [*options.tags, *_meta_tags(meta)])
        scored = with_metric(document, options.metric)
        _write_revision(suite, scored, number=1, actor=actor, join_policy=options.join_policy)
    return suite


def _named_after(title: str, document: SuiteDocument) -> SuiteDocument:
    """Return the document, named after the title if it has no name of its own."""
    if not title or document.name != UNTITLED:
        return document
    notices = tuple(notice for notice in document.notices if UNTITLED not in notice.message)
    return replace(document, name=slug_from(title, UNTITLED, 200), notices=notices)


def with_metric(document: SuiteDocument, metric: str) -> SuiteDocument:
    """Return the document with this metric, or unchanged if `metric` is empty."""
    return replace(document, metric=metric) if metric else document


def replace_draft(
    suite: Suite, document: SuiteDocument, *, actor: User, join_policy: str | None = None, metric: str = ""
) -> SuiteRevision:
    """Replace the suite's draft with the document, or open a draft with it. Frozen revisions are kept. An author who is
    not in earlier files becomes the author on the suite's card."""
    permissions.require_edit(actor, suite)
    with SUITES.growing(suite.owner, actor=actor):
        lock(suite)
        newest = suite.revisions.order_by("-number").first()
        draft = suite.draft
        policy = join_policy or (newest.join_policy if newest else "space")
        number = draft.number if draft else (newest.number + 1 if newest else 1)
        author = meta_text(document.meta.get("author"))
        if author and author not in authors_in_files(suite):  # the new version names other authors
            suite.author = author
            suite.save(update_fields=["author", "updated"])
        replaced = draft or newest
        before = history.state_of(replaced) if replaced else None
        if draft:
            draft.delete()
        version = history.last_version(suite) + 1
        scored = with_metric(document, metric)
        new = _write_revision(suite, scored, number=number, actor=actor, join_policy=policy, edits=version)
        if before:
            after = history.state_of(new)
            history.log_whole(suite, "replace_draft", version, before, after, actor=actor)
        return new


def open_draft(suite: Suite, *, actor: User) -> SuiteRevision:
    """Return the suite's draft, creating it from the newest frozen revision if needed. Raises ValidationError if there
    is neither, PermissionDenied, and OverQuota."""
    permissions.require_edit(actor, suite)
    with SUITES.growing(suite.owner, actor=actor):
        lock(suite)
        draft, frozen = suite.draft, suite.latest_frozen
        if draft:
            return draft
        if frozen is None:
            raise ValidationError("This suite has no revision to copy.")
        return _write_revision(
            suite,
            document_of(frozen),
            number=frozen.number + 1,
            actor=actor,
            join_policy=frozen.join_policy,
            edits=history.last_version(suite),
        )


def freeze(suite: Suite, *, actor: User, note: str = "") -> SuiteRevision:
    """Make the draft immutable and compute its sha256. Models can then be run on it. Raises NothingToFreeze without a
    draft, ValidationError with the `freeze_problems`, PermissionDenied, and OverQuota."""
    permissions.require_edit(actor, suite)
    with SUITES.growing(suite.owner, actor=actor):
        lock(suite)
        draft = suite.draft
        if draft is None:
            raise NothingToFreeze("There is no draft to freeze: the newest revision is already frozen.")
        document = document_of(draft)
        problems = freeze_problems(document)
        if problems:
            raise ValidationError(problems)
        draft.state = SuiteRevision.State.FROZEN
        draft.sha256 = document.sha256()
        draft.findings = lint_rows(document, draft.join_policy)
        draft.note = note
        draft.frozen_at = timezone.now()
        draft.save()
        return draft


def freeze_problems(document: SuiteDocument) -> list[str]:
    """List problems, as sentences, that must be fixed before freezing."""
    problems = [] if document.sentences else ["The draft has no sentences."]
    for number, prediction in enumerate(document.predictions, start=1):
        label = f"Prediction {number}" + (f" ({prediction.name})" if prediction.name else "")
        if not prediction.formula.strip():
            problems.append(f"{label} is empty.")
            continue
        try:
            errors = parse(prediction.formula).check(document.regions, document.conditions)
        except FormulaError as error:
            errors = [error]
        problems += [f"{label}: {error}" for error in errors]
    return problems


def discard_draft(suite: Suite, *, actor: User) -> None:
    """Delete the draft, if there is one. Raises ValidationError if no revision is frozen, and PermissionDenied."""
    permissions.require_edit(actor, suite)
    with transaction.atomic():
        lock(suite)
        frozen, draft = suite.latest_frozen, suite.draft
        if frozen is None:
            raise ValidationError("This draft is the suite's only revision. Delete the suite instead.")
        if draft:
            before, after = history.state_of(draft), history.state_of(frozen)
            version = history.last_version(suite) + 1
            draft.delete()
            history.log_whole(suite, "discard_draft", version, before, after, actor=actor)


def set_errata(revision: SuiteRevision, text: str, *, actor: User) -> None:
    """Set the errata of a revision, shown with it. Its content does not change."""
    permissions.require_edit(actor, revision.suite)
    with SUITES.growing(revision.suite.owner, actor=actor):
        SuiteRevision.objects.filter(pk=revision.pk).update(errata=text)


def set_visibility(suite: Suite, visibility: str, *, actor: User) -> None:
    """Change who can see a suite, and its address with it (see `gym.sharing.addresses.set_visibility`). Raises
    InUse if a suite in a published collection would no longer be public, and PermissionDenied."""
    permissions.require_edit(actor, suite)
    addresses.set_visibility(suite, visibility, _base(suite))


def set_address(suite: Suite, slug: str, *, actor: User) -> None:
    """Change the address of a suite that has no frozen revision and is not unlisted. If the old address was public, it
    redirects to the new one."""
    permissions.require_edit(actor, suite)
    with transaction.atomic():
        lock(suite)
        if why := fixed_address_reason(suite):
            raise ValidationError({"slug": why})
        is_taken = Suite.objects.exclude(pk=suite.pk).filter(slug=slug).exists()
        was_used = FormerAddress.objects.exclude(suite=suite).filter(slug=slug).exists()
        if is_taken or was_used or slug in RESERVED_SLUGS:
            raise ValidationError({"slug": f"The short name “{slug[:80]}” is taken. Choose another one."})
        suite.slug = slug
        suite.clean_fields(exclude=[field.name for field in Suite._meta.fields if field.name != "slug"])
        suite.save(update_fields=["slug", "visibility", "updated"])


def new_secret_address(suite: Suite, *, actor: User) -> None:
    """Give an unlisted suite and its runs new addresses. The old address of the suite stops working; old
    links to runs work only for users who may know that the suite exists."""
    addresses.new_secret_address(suite, _base(suite), actor=actor)


def _base(suite: Suite) -> str:
    newest = suite.revisions.order_by("-number").first()
    return slug_of(newest.name if newest else suite.title)


def lock(suite: Suite) -> None:
    """Lock the suite. Take this lock before adding, deleting or freezing a revision; call in a transaction."""
    Suite.objects.select_for_update().get(pk=suite.pk)


def copy_suite(revision: SuiteRevision, *, actor: User, title: str, visibility: str) -> Suite:
    """Create a suite that belongs to the actor from a revision they may read."""
    source = revision.suite
    if not actor.is_authenticated or not revisions_for(actor, source).filter(pk=revision.pk).exists():
        raise PermissionDenied("you may not copy this revision")
    with SUITES.growing(actor, new=True):
        document = replace(document_of(revision), name=slug_from(title, revision.name, 200))
        options = SuiteOptions(
            title=title,
            visibility=visibility,
            join_policy=revision.join_policy,
        )
        copy = import_suite(document, options, actor=actor)
        set_tags(copy, [tag.name for tag in source.tags.all()])  # not those in the file, which may be older
        for name in set(CARD) - {"title"}:
            setattr(copy, name, getattr(source, name))
        copy.save()
    return copy


def ignore_finding(suite: Suite, *, actor: User, code: str, where: str, reason: str) -> None:
    """Dismiss a lint finding with a reason; an empty reason restores it."""
    permissions.require_edit(actor, suite)
    if not reason.strip():
        suite.lint_ignores.filter(code=code, where=where).delete()
        return
    if code not in CODES:
        raise ValidationError(f"Unknown finding “{code:.60}”.")
    with SUITES.growing(suite.owner, actor=actor):
        suite.lint_ignores.update_or_create(
            code=code, where=where[:500], defaults={"reason": reason.strip()[:1000], "actor": actor}
        )


CARD = ("title", "author", "language", "licence", "reference", "bibtex", "description", "comment")


def edit_card(suite: Suite, *, actor: User, **changes: Any) -> None:
    """Change a suite's card: any of CARD, `slug`, `tags`, `visibility`, `without_modifier` (a slug or None) and
    `former_address_note` (see addresses.leave_note). Raises ValidationError, PermissionDenied or OverQuota, and then
    saves nothing."""
    permissions.require_edit(actor, suite)
    with SUITES.growing(suite.owner, actor=actor):
        fields = [name for name in CARD if name in changes]
        for name in fields:
            setattr(suite, name, changes[name])
        suite.clean_fields(exclude=[field.name for field in Suite._meta.fields if field.name not in fields])
        suite.save(update_fields=[*fields, "updated"])
        if changes.get("slug", suite.slug) != suite.slug:
            set_address(suite, changes["slug"], actor=actor)
        if "tags" in changes:
            set_tags(suite, changes["tags"])
        if "without_modifier" in changes:
            _set_plain(suite, changes["without_modifier"], actor)
        if changes.get("visibility", suite.visibility) != suite.visibility:
            set_visibility(suite, changes["visibility"], actor=actor)
        if "former_address_note" in changes:
            addresses.leave_note(suite, changes["former_address_note"])


def _set_plain(suite: Suite, slug: str | None, actor: User) -> None:
    """Set `without_modifier` to the suite with this slug; None clears it."""
    plain = pairable(actor, suite).filter(slug=slug).first() if slug else None
    if slug and plain is None:
        raise ValidationError({"without_modifier": f"There is no other suite “{slug[:80]}” in your lists."})
    suite.without_modifier = plain
    suite.save(update_fields=["without_modifier", "updated"])


def delete_suite(suite: Suite, *, actor: User, note: str = "") -> None:
    """Delete a suite. The address of a public one then shows that it was withdrawn, with the note.

    Raises ValidationError if it has runs or is in a collection, InUse if that collection is published, and
    PermissionDenied unless the actor is its owner or staff."""
    if not permissions.can_delete(actor, suite):
        raise PermissionDenied("only its owner and staff may delete a suite")
    suite.require_not_in_use()
    try:
        with transaction.atomic():
            lock(suite)
            list(suite.revisions.select_for_update().values_list("pk"))  # wait for runs that are being queued
            suite.delete()
            addresses.leave_note_of_deleted(suite, note)
    except Suite.DoesNotExist:
        return  # deleted by a concurrent request
    except (ProtectedError, IntegrityError) as error:
        raise ValidationError(
            "This suite has runs or human data or is in a collection, so results and papers may refer to it. "
            "Make it private instead."
        ) from error


def set_tags(suite: Suite, names: Iterable[str]) -> None:
    """Replace the suite's tags by these names, slugified; empty ones are dropped."""
    suite.tags.set([Tag.objects.get_or_create(name=slug)[0] for slug in tag_slugs(names)])


def tag_slugs(names: Iterable[str]) -> list[str]:
    """Slugify tag names, without duplicates."""
    slugs = (slugify(str(name), allow_unicode=True)[:60] for name in names)
    return list(dict.fromkeys(slug for slug in slugs if slug))


def _create(name: str, suite: Suite) -> Suite:
    suite.slug = ""
    addresses.assign_slug(suite, slug_of(name))
    return suite


def slug_of(name: str) -> str:
    """Return the preferred slug of a suite with this name."""
    base = slug_from(name, "suite")
    return f"{base}-suite" if base in RESERVED_SLUGS else base


def _write_revision(
    suite: Suite, document: SuiteDocument, *, number: int, actor: User, join_policy: str, edits: int = 0
) -> SuiteRevision:
    revision = SuiteRevision.objects.create(
        suite=suite,
        number=number,
        name=document.name[:200],
        metric=document.metric,
        meta=document.meta,
        region_names=list(document.region_names),
        condition_names=list(document.conditions),
        extra=document.extra,
        notices=[{"where": notice.where, "message": notice.message} for notice in document.notices],
        join_policy=join_policy,
        edits=edits,
        structure=edits,
        created_by=actor,
        size=bytes_of(document),
    )
    rows = [drafts.sentence_row(revision, position, row) for position, row in enumerate(document.sentences)]
    Sentence.objects.bulk_create(rows, batch_size=500)
    Prediction.objects.bulk_create(
        [drafts.prediction_row(revision, position, row) for position, row in enumerate(document.predictions)]
    )
    return revision


def _meta_tags(meta: dict[str, object]) -> list[str]:
    tags = meta.get("tags")
    return [tag for tag in tags if isinstance(tag, str)] if isinstance(tags, list) else []
