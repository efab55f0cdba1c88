"""Reads. Everything a page or the API lists starts from `visible_to`."""

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
from lmgym.suites.languages import tag_of
from lmgym.suites.lint import SETTINGS, lint
from suites.models import Prediction, Sentence, Suite, SuiteRevision, Tag


def visible_to(user: AnyUser) -> QuerySet[Suite]:
    """Suites whose page this user may open."""
    suites = Suite.objects.all()
    if user.is_authenticated and user.is_staff:
        return suites
    open_to_all = Q(visibility__in=[Visibility.PUBLIC, Visibility.UNLISTED])
    if not user.is_authenticated:
        return suites.filter(open_to_all)
    mine = worked_on_by(user, Suite)
    return suites.filter(open_to_all | mine)


def listed_for(user: AnyUser) -> QuerySet[Suite]:
    """Suites that belong in this user's lists: visible ones, less the unlisted suites of other people."""
    suites = visible_to(user)
    if user.is_authenticated:
        mine = worked_on_by(user, Suite)
        return suites.filter(~Q(visibility=Visibility.UNLISTED) | mine)
    return suites.exclude(visibility=Visibility.UNLISTED)


def known_to(user: AnyUser) -> QuerySet[Suite]:
    """Suites whose address this user may be told: listed ones, and for staff all. Other unlisted suites are visible to
    those who know the address already."""
    return visible_to(user) if user.is_authenticated and user.is_staff else listed_for(user)


def pairable(user: AnyUser, suite: Suite) -> QuerySet[Suite]:
    """Suites that this user can name as the one without the modifier: listed ones, and the one that is named now."""
    rows = Suite.objects.filter(Q(pk__in=listed_for(user)) | Q(pk=suite.without_modifier_id))
    return rows.exclude(pk=suite.pk).select_related("owner").order_by("title", "pk")


def revisions_for(user: AnyUser, suite: Suite | None = None) -> QuerySet[SuiteRevision]:
    """Revisions this user may read, of one suite or of all visible ones. A draft is for the people who work on the
    suite; everybody else who may see the suite reads it only as long as nothing is frozen."""
    rows = SuiteRevision.objects.filter(_readable(user), suite__in=visible_to(user))
    return rows if suite is None else rows.filter(suite=suite)


def _readable(user: AnyUser) -> Q:
    """Which revisions of suites that this user may see."""
    if user.is_authenticated and user.is_staff:
        return Q()
    frozen = SuiteRevision.objects.filter(suite=OuterRef("suite"), state=SuiteRevision.State.FROZEN)
    readable = Q(state=SuiteRevision.State.FROZEN) | Q(~Exists(frozen))
    if user.is_authenticated:
        readable |= worked_on_by(user, Suite, "suite__")
    return readable


def with_shape(suites: QuerySet[Suite], user: AnyUser) -> QuerySet[Suite]:
    """Annotates `n_items`, `n_conditions`, `n_sentences`, `n_predictions`, `last_revision` and `last_state`,
    all of the newest revision that this user may read."""
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
    """Tags in use among these suites with their counts: [{"name": …, "n": …}]."""
    counted = Tag.objects.filter(suites__in=suites).annotate(n=Count("suites", distinct=True))
    return [{"name": tag.name, "n": tag.n} for tag in counted.order_by("name")]


READINGS = 3
"""Of a draft that changes while it is read."""


def document_of(revision: SuiteRevision) -> SuiteDocument:
    """The revision as the pure document that formats, lint and the evaluator work on.

    Its row and its sentences come by different queries. A draft that was edited between them is read again, and
    `revision` then says what the database says: old conditions with new sentences would be no document at all. Where
    edits keep coming, the draft is locked for the last reading.
    """
    for _ in range(READINGS):
        document = _document_as_it_is(revision)
        if revision.is_frozen:
            return document
        version = SuiteRevision.objects.filter(pk=revision.pk).values_list("edits", flat=True).first()
        if version in (revision.edits, None):
            return document
        revision.refresh_from_db()
    with transaction.atomic():
        revision.refresh_from_db(from_queryset=SuiteRevision.objects.select_for_update())
        return _document_as_it_is(revision)


def _document_as_it_is(revision: SuiteRevision) -> SuiteDocument:
    return document_from(revision, revision.sentences.all(), revision.predictions.all())


def document_from(
    revision: SuiteRevision, sentences: Iterable[Sentence], predictions: Iterable[Prediction]
) -> SuiteDocument:
    """The same with these rows alone, which come in the order of their positions."""
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
    """The revision's factorial design; () where it has none."""
    return factors_in(revision.meta, revision.condition_names)


def why_address_stays(suite: Suite) -> str:
    """Why the address cannot be chosen; "" where it can."""
    if suite.visibility == Visibility.UNLISTED:
        return "An unlisted suite has a secret address."
    if suite.latest_frozen is not None:
        return "A frozen revision can be cited at this address, so it stays."
    return ""


def meta_text(value: object) -> str:
    """What a file's meta block says, as the card of a suite keeps it; a list of names becomes a line for each."""
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return "\n".join(value)
    return value if isinstance(value, str) else ""


def without_author(document: SuiteDocument) -> SuiteDocument:
    """The document for readers who review without names."""
    return replace(document, meta={key: value for key, value in document.meta.items() if key != "author"})


def authors_in_files(suite: Suite) -> list[str]:
    """Whom the files of its revisions name, the newest first; "" where one names nobody."""
    metas = suite.revisions.order_by("-number").values_list("meta", flat=True)
    return [meta_text(meta.get("author")) for meta in metas]


def export_document(revision: SuiteRevision, *, names_author: bool = True) -> SuiteDocument:
    """The revision as a file says it: what was edited on the suite's page since replaces the imported meta.

    An author who was named by the file of another revision stays with that one. `names_author=False` is for readers
    who review without names."""
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
    given = meta_text(meta.get("author"))
    if suite.author != given and (
        suite.author not in (known := authors_in_files(suite)) or known[0] == given == ""
    ):
        lines = suite.author.splitlines()
        meta["author"] = lines if len(lines) > 1 else suite.author
    tags = sorted(tag.name for tag in suite.tags.all())
    given = meta.get("tags", [])
    if isinstance(given, list) and tags != sorted({slugify(str(tag), allow_unicode=True) for tag in given}):
        meta["tags"] = tags
    document = replace(document, meta=meta)
    return document if names_author else without_author(document)


KEEP_FINDINGS = 3600


def lint_rows(document: SuiteDocument, join: str) -> list[dict[str, Any]]:
    """The linter's findings as JSON."""
    found = lint(document, join)
    return [{**asdict(finding), "cells": [list(cell) for cell in finding.cells]} for finding in found]


def findings_of(revision: SuiteRevision) -> list[dict[str, Any]]:
    """What the linter finds, each with the reason (`ignored`) for which it was put aside, if it was, and the `setting`
    that may answer it, if one may.

    A frozen revision keeps its findings; a draft's are remembered as long as it says the same.
    """
    rows = revision.findings
    if not revision.is_frozen:
        document = document_of(revision)
        digest = sha256(write_json(document).encode("utf-8", "surrogatepass")).hexdigest()
        key, join = f"findings-{revision.join_policy}-{digest}", revision.join_policy
        rows = cache.get_or_set(key, lambda: lint_rows(document, join), KEEP_FINDINGS)
    if not rows:
        return []
    reasons = {(row.code, row.where): row.reason for row in revision.suite.lint_ignores.all()}
    return [
        {
            **row,
            "ignored": reasons.get((row["code"], row["where"][:500]), ""),
            "setting": SETTINGS.get(row["code"], ""),
        }
        for row in rows
    ]


class SuiteFilter(Filters):
    """Search, filter and sort of the suite list, for the page and the API."""

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
