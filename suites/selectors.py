"""Queries for suites and revisions. Every list on pages and in the API starts from `visible_to`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, replace
from hashlib import sha256
from typing import Any

import django_filters
from django.core.cache import cache
from django.db import transaction
from django.db.models import Count, Exists, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.utils.text import slugify

from gym.accounts.models import AnyUser
from gym.api.filters import Filters, WordsFilter
from gym.sharing.filters import MineFilter
from gym.sharing.models import Visibility
from gym.sharing.selectors import worked_on_by
from lmgym.suites.formats import PredictionDoc, SentenceDoc, SuiteDocument, write_json
from lmgym.suites.formats.designs import Design, factors_in
from lmgym.suites.formats.item_data import ItemData, data_of_rows
from lmgym.suites.languages import tag_of
from lmgym.suites.lint import SETTINGS, lint
from suites.models import Prediction, Sentence, Suite, SuiteRevision, Tag


def visible_to(user: AnyUser) -> QuerySet[Suite]:
    """Return suites whose page this user may open."""
    suites = Suite.objects.all()
    if user.is_authenticated and user.is_staff:
        return suites
    open_to_all = Q(visibility__in=[Visibility.PUBLIC, Visibility.UNLISTED])
    if not user.is_authenticated:
        return suites.filter(open_to_all)
    mine = worked_on_by(user, Suite)
    return suites.filter(open_to_all | mine)


def listed_for(user: AnyUser) -> QuerySet[Suite]:
    """Return suites for lists: all visible ones, except unlisted ones that the user neither owns nor collaborates
    on.
    """
    suites = visible_to(user)
    if user.is_authenticated:
        mine = worked_on_by(user, Suite)
        return suites.filter(~Q(visibility=Visibility.UNLISTED) | mine)
    return suites.exclude(visibility=Visibility.UNLISTED)


def known_to(user: AnyUser) -> QuerySet[Suite]:
    """Return suites whose address may be shown to this user: those listed for them, or every suite for staff."""
    return visible_to(user) if user.is_authenticated and user.is_staff else listed_for(user)


def pairable(user: AnyUser, suite: Suite) -> QuerySet[Suite]:
    """Return choices for `without_modifier`: suites listed for this user, and the one that is chosen now."""
    rows = Suite.objects.filter(Q(pk__in=listed_for(user)) | Q(pk=suite.without_modifier_id))
    return rows.exclude(pk=suite.pk).select_related("owner").order_by("title", "pk")


def revisions_for(user: AnyUser, suite: Suite | None = None) -> QuerySet[SuiteRevision]:
    """Return revisions this user may read, of one suite or of all visible ones. Once a suite has a frozen revision,
    its draft is visible only to its owner, collaborators and staff."""
    rows = SuiteRevision.objects.filter(_readable(user), suite__in=visible_to(user))
    return rows if suite is None else rows.filter(suite=suite)


def _readable(user: AnyUser) -> Q:
    """Build a filter for revisions this user may read, among suites visible to them."""
    if user.is_authenticated and user.is_staff:
        return Q()
    frozen = SuiteRevision.objects.filter(suite=OuterRef("suite"), state=SuiteRevision.State.FROZEN)
    readable = Q(state=SuiteRevision.State.FROZEN) | Q(~Exists(frozen))
    if user.is_authenticated:
        readable |= worked_on_by(user, Suite, "suite__")
    return readable


def with_shape(suites: QuerySet[Suite], user: AnyUser) -> QuerySet[Suite]:
    """Annotate `n_items`, `n_conditions`, `n_sentences`, `n_predictions`, `last_revision` and `last_state`,
    all of the newest revision this user may read."""
    newest = SuiteRevision.objects.filter(_readable(user), suite=OuterRef("pk")).order_by("-number")

    def count(model: type[Sentence] | type[Prediction], column: str) -> Coalesce:
        rows = model.objects.filter(revision=OuterRef("newest_")).order_by().values("revision")
        return Coalesce(Subquery(rows.annotate(n=Count(column, distinct=True)).values("n")), 0)

    return suites.annotate(
        newest_=Subquery(newest.values("pk")[:1]),
        n_items=count(Sentence, "item"),
        n_conditions=count(Sentence, "condition"),
        n_sentences=count(Sentence, "position"),
        n_predictions=count(Prediction, "position"),
        last_revision=Subquery(newest.values("number")[:1]),
        last_state=Subquery(newest.values("state")[:1]),
    ).prefetch_related("tags")


def tags_of(suites: QuerySet[Suite]) -> list[dict[str, Any]]:
    """List tags of these suites with counts: [{"name": …, "n": …}]."""
    counted = Tag.objects.filter(suites__in=suites).annotate(n=Count("suites", distinct=True))
    return [{"name": tag.name, "n": tag.n} for tag in counted.order_by("name")]


MAX_READS = 3
"""Number of attempts to read a draft that keeps changing, before it is locked."""


def document_of(revision: SuiteRevision) -> SuiteDocument:
    """Return the revision as the SuiteDocument that formats, lint and the evaluator use.

    The row and its sentences are read by separate queries. A draft that was edited between them is read again (and
    `revision` refreshed), because old conditions with new sentences are not a valid document. After MAX_READS the draft
    is locked.
    """
    for _ in range(MAX_READS):
        document = _read_document(revision)
        if revision.is_frozen:
            return document
        version = SuiteRevision.objects.filter(pk=revision.pk).values_list("edits", flat=True).first()
        if version in (revision.edits, None):
            return document
        revision.refresh_from_db()
    with transaction.atomic():
        revision.refresh_from_db(from_queryset=SuiteRevision.objects.select_for_update())
        return _read_document(revision)


def _read_document(revision: SuiteRevision) -> SuiteDocument:
    return document_from(revision, revision.sentences.all(), revision.predictions.all())


def sentence_data(revision: str) -> Exists:
    """Return whether a sentence of a revision has item data, as an expression. `revision`: field of the outer query
    with the revision's key. Data of whole items is under "items" of the revision's `extra`."""
    return Exists(Sentence.objects.filter(revision=OuterRef(revision)).exclude(extra={}))


def item_data_of(revision: SuiteRevision) -> ItemData:
    """Return the item data of a revision."""
    rows = revision.sentences.order_by("position")
    if "items" not in revision.extra:
        rows = rows.exclude(extra={})
    return data_of_rows(rows.values_list("item", "condition", "extra"), revision.extra)


def document_from(
    revision: SuiteRevision, sentences: Iterable[Sentence], predictions: Iterable[Prediction]
) -> SuiteDocument:
    """Build the document of a revision from these rows, which must be in the order of their positions."""
    return SuiteDocument(
        name=revision.name,
        metric=tuple(revision.metric) if isinstance(revision.metric, list) else revision.metric,
        meta=revision.meta,
        region_names=tuple(revision.region_names),
        conditions=tuple(revision.condition_names),
        sentences=tuple(
            SentenceDoc(
                item=row.item,
                condition=row.condition,
                contents=tuple(row.contents),
                raw=tuple(row.raw) if row.raw is not None else None,
                extra=row.extra,
            )
            for row in sentences
        ),
        predictions=tuple(
            PredictionDoc(formula=row.formula, name=row.name, description=row.description, extra=row.extra)
            for row in predictions
        ),
        extra=revision.extra,
        notices=(),
    )


def design_of(revision: SuiteRevision) -> Design:
    """Return the revision's factorial design; () if it has none."""
    return factors_in(revision.meta, revision.condition_names)


def fixed_address_reason(suite: Suite) -> str:
    """Return the reason why the address cannot be changed; "" if it can."""
    if suite.visibility == Visibility.UNLISTED:
        return "The address cannot change: the secret address of an unlisted suite is generated."
    if suite.latest_frozen is not None:
        return "The address cannot change: a frozen revision may have been cited."
    return ""


def meta_text(value: object) -> str:
    """Format a value of a file's meta block for the suite's card: a list of texts becomes one line per entry, and
    anything else but a text is ""."""
    if isinstance(value, list) and all(isinstance(entry, str) for entry in value):
        return "\n".join(value)
    return value if isinstance(value, str) else ""


def without_author(document: SuiteDocument) -> SuiteDocument:
    """Return the document without its author, for anonymous review."""
    return replace(document, meta={key: value for key, value in document.meta.items() if key != "author"})


def authors_in_files(suite: Suite) -> list[str]:
    """List the authors named by the files of the suite's revisions, newest first; "" for a file without an author."""
    metas = suite.revisions.order_by("-number").values_list("meta", flat=True)
    return [meta_text(meta.get("author")) for meta in metas]


def export_document(revision: SuiteRevision, *, names_author: bool = True) -> SuiteDocument:
    """Return the document to export: edits of the suite's card take precedence over the imported meta block.

    An author taken from the file of another revision is not copied into this revision. `names_author`: False
    removes the author, for anonymous review."""
    document, suite = document_of(revision), revision.suite
    meta = dict(document.meta)
    for key, value in (
        ("description", suite.description),
        ("reference", suite.reference),
        ("comment", suite.comment),
    ):
        if value != meta.get(key, "") and isinstance(meta.get(key, ""), str):
            meta[key] = value
    if (tag_of(meta_text(meta.get("language"))) or "") != suite.language:
        meta["language"] = suite.language
    author = meta_text(meta.get("author"))
    if suite.author != author and (
        suite.author not in (known := authors_in_files(suite)) or known[0] == author == ""
    ):
        lines = suite.author.splitlines()
        meta["author"] = lines if len(lines) > 1 else suite.author
    tags = sorted(tag.name for tag in suite.tags.all())
    file_tags = meta.get("tags", [])
    if isinstance(file_tags, list) and tags != sorted(
        {slugify(str(tag), allow_unicode=True) for tag in file_tags}
    ):
        meta["tags"] = tags
    document = replace(document, meta=meta)
    return document if names_author else without_author(document)


FINDINGS_SECONDS = 3600


def lint_rows(document: SuiteDocument, join: str) -> list[dict[str, Any]]:
    """Return lint findings as JSON."""
    findings = lint(document, join)
    return [{**asdict(finding), "cells": [list(cell) for cell in finding.cells]} for finding in findings]


def findings_of(revision: SuiteRevision, *, may_be_dismissed: bool = True) -> list[dict[str, Any]]:
    """Return lint findings as JSON, with the reason for dismissing a finding (`ignored`, else "") and the `setting`
    that may resolve it (else ""). `may_be_dismissed`: False saves a query if no finding of the suite is dismissed.

    Findings of a frozen revision are stored; those of a draft are cached by its content.
    """
    rows = revision.findings
    if not revision.is_frozen:
        document = document_of(revision)
        digest = sha256(write_json(document).encode("utf-8", "surrogatepass")).hexdigest()
        key, join = f"findings-{revision.join_policy}-{digest}", revision.join_policy
        rows = cache.get_or_set(key, lambda: lint_rows(document, join), FINDINGS_SECONDS)
    if not rows:
        return []
    dismissals = revision.suite.lint_ignores.all() if may_be_dismissed else ()
    reasons = {(row.code, row.where): row.reason for row in dismissals}
    return [
        {
            **row,
            "ignored": reasons.get((row["code"], row["where"][:500]), ""),
            "setting": SETTINGS.get(row["code"], ""),
        }
        for row in rows
    ]


class SuiteFilter(Filters):
    """Search, filters and sorting of suites, for the page and the API."""

    q = WordsFilter("title", "slug", "description", "author", "reference", "tags__name", label="Search")
    tag = django_filters.CharFilter(field_name="tags__name", label="Tag")
    language = django_filters.CharFilter(field_name="language", lookup_expr="iexact", label="Language")
    mine = MineFilter(Suite)
    sort = django_filters.OrderingFilter(
        fields=[
            ("title", "title"),
            ("updated", "updated"),
            ("created", "created"),
            ("n_items", "items"),
            ("n_predictions", "predictions"),
        ],
        label="Sort",
    )

    class Meta:
        model = Suite
        fields: list[str] = []
