"""Zips of collections: created by a job on request and kept for a while.

A zip contains what its reader may see; readers who see no more than the public share one zip. After a change of
results, suites or titles, it is created again on request. A zip with anything that the reader may no longer see is
never served."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import timedelta
from hashlib import sha256
from typing import IO, Any

from django.contrib.auth.models import AnonymousUser
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from gym import stored_files
from gym.accounts.models import AnyUser, User
from gym.collections import services
from gym.collections.bundle import bundle
from gym.collections.models import Collection, CollectionZip
from gym.jobs import rights
from gym.jobs import services as jobs
from gym.jobs.conf import SHORT
from gym.jobs.context import JobContext
from gym.jobs.errors import PermanentFailure
from gym.jobs.handlers import handler
from gym.jobs.models import State
from gym.page_cache.reads import keep_for
from gym.runs.models import SuiteRun
from gym.runs.read.leaderboard.build import leaderboard
from gym.runs.read.selectors import newest_done
from gym.runs.read.selectors import visible_to as visible_runs
from gym.runs.tables.registry import FRAMES, Budget, TooMuch, require_row_limit, rows_at_least
from lmgym.runs.leaderboard.options import Options
from lmgym.runs.rules import RULES

KIND = "collection_zip"
KEEP_FAILED = timedelta(minutes=10)
"""Time for which a failure is shown before a new request retries."""
NEW_ENOUGH = timedelta(minutes=5)
"""A zip younger than this is served even if there are newer results: runs may finish every second."""
STILL_READ = timedelta(hours=1)
"""A superseded zip that was finished less than this ago is kept, for downloads in progress."""
BY_SUITE = (
    "Download the tables suite by suite as CSV, which has no limit, e.g. /exports/tokens.csv?suite=NAME."
)


@dataclass(frozen=True)
class Contents:
    """Contents of a collection's zip for one reader, with their fingerprint."""

    revision_ids: list[int]
    runs: QuerySet[SuiteRun]
    run_ids: list[int]
    fingerprint: str


def contents(collection: Collection, user: AnyUser) -> Contents:
    listed = list(
        services.listed_revisions(collection, user).values_list("pk", "suite__slug", "suite__title")
    )
    revision_ids = [pk for pk, _, _ in listed]
    runs = newest_done(visible_runs(user).filter(revision__in=revision_ids)).order_by("pk")
    run_ids = list(runs.values_list("pk", flat=True))
    words = (collection.title, collection.published_at, collection.sha256)
    digest = sha256(repr((words, listed, run_ids)).encode()).hexdigest()
    return Contents(revision_ids, runs, run_ids, digest)


def zip_for(collection: Collection, user: AnyUser) -> tuple[CollectionZip | None, bool]:
    """Return the zip to serve to this reader and True. If there is none, return the latest zip (in progress,
    failed or outdated) or None, and False."""
    current_contents = contents(collection, user)
    rows = list(_rows(collection, _reader(collection, user, current_contents)))
    for zip_ in rows:
        if zip_.is_done and _fits(zip_, current_contents):
            return zip_, True
    return (rows[0] if rows else None), False


def current(collection: Collection, user: AnyUser) -> CollectionZip | None:
    """Return the finished zip to serve to this reader, or None."""
    zip_, is_current = zip_for(collection, user)
    return zip_ if is_current else None


def request_zip(
    collection: Collection, address: str, *, actor: AnyUser, again: bool = False
) -> CollectionZip:
    """Return this reader's zip: finished, in progress, or queued now. A failed zip is retried after KEEP_FAILED, or
    immediately with `again`. Raises TooMuch and LimitReached."""
    current_contents = contents(collection, actor)
    reader = _reader(collection, actor, current_contents)
    with transaction.atomic():
        Collection.objects.select_for_update().get(pk=collection.pk)
        rows = _rows(collection, reader)
        for zip_ in rows:
            if zip_.is_done and _fits(zip_, current_contents):
                return zip_
        last = rows.first()
        if last is not None and last.completed_at is None and last.job is not None:
            failed_now = last.job.state == State.FAILED and timezone.now() - last.created < KEEP_FAILED
            if last.job.is_active or (failed_now and not again):
                return last
        require_row_limit(sum(rows_at_least(what, current_contents.runs) for what in FRAMES), BY_SUITE)
        drop_old()
        rows.exclude(completed_at__gt=timezone.now() - STILL_READ).delete()
        zip_ = CollectionZip.objects.create(collection=collection, reader=reader, address=address)
        zip_.job = jobs.enqueue(
            KIND,
            {"zip": zip_.pk},
            owner=actor if actor.is_authenticated else None,
            queue=SHORT,
            title=f"Zip of {collection.title}",
            total=len(current_contents.run_ids),
        )
        zip_.save(update_fields=["job"])
    return zip_


def drop_old() -> int:
    """Delete zips that have expired. Return how many were deleted."""
    return stored_files.drop_old(CollectionZip.objects.all())


@handler(KIND, seconds=4 * 3600)
def make(context: JobContext) -> None:
    rows = CollectionZip.objects.select_related("collection", "reader")
    zip_ = rows.filter(pk=context.payload["zip"]).first()
    if zip_ is None:
        raise PermanentFailure("The zip was deleted.")
    collection, user = zip_.collection, zip_.reader or AnonymousUser()
    visible = services.visible_collections
    rights.require(
        context, {"this collection": lambda person: visible(person).filter(pk=collection.pk).exists()}
    )
    if not visible(user).filter(pk=collection.pk).exists():
        raise PermanentFailure("The collection is no longer public.")
    current_contents = contents(collection, user)

    def on_progress(done: int) -> None:
        context.check()
        context.progress(done, len(current_contents.run_ids), "runs")

    try:
        file = _bundle(zip_, user, current_contents, on_progress)
    except TooMuch as error:
        raise PermanentFailure(f"{error} {error.hint}") from error
    with closing(file):
        size = stored_files.store(context, zip_, file, BY_SUITE)
    with context.finish():
        CollectionZip.objects.filter(pk=zip_.pk).update(
            fingerprint=current_contents.fingerprint,
            revisions=current_contents.revision_ids,
            runs=current_contents.run_ids,
            size=size,
            completed_at=timezone.now(),
        )


def _bundle(zip_: CollectionZip, user: AnyUser, current_contents: Contents, on_progress: Any) -> IO[bytes]:
    collection = zip_.collection
    revisions = [
        row for row in services.revisions_of(collection, user) if row.pk in current_contents.revision_ids
    ]
    facts = {
        "collection": collection.slug,
        "title": collection.title,
        "address": zip_.address,
        "published": collection.published_at.isoformat() if collection.published_at else None,
        "n_suites_of_list": collection.entries.count(),
        "sha256_of_list": collection.sha256 or services.digest(revisions),
    }
    boards = [leaderboard(user, Options(rule=rule), revisions, collection.slug) for rule in RULES.values()]
    runs = SuiteRun.objects.filter(pk__in=current_contents.run_ids).select_related("revision__suite", "model")
    return bundle(
        facts, revisions, _one_by_one(runs, current_contents.run_ids), boards, Budget(BY_SUITE), on_progress
    )


def _one_by_one(runs: QuerySet[SuiteRun], ids: list[int]) -> Iterator[SuiteRun]:
    """Yield runs in the order of `ids`, one query per run, so that no cursor is open while progress is
    written. Deleted runs are left out."""
    rows = runs.defer("region_summary").prefetch_related("scores")
    for pk in ids:
        yield from rows.filter(pk=pk)


def _rows(collection: Collection, reader: Any) -> QuerySet[CollectionZip]:
    rows = CollectionZip.objects.filter(collection=collection, reader=reader)
    return rows.select_related("job", "collection").order_by("-created", "-pk")


def _reader(collection: Collection, user: AnyUser, current_contents: Contents) -> User | None:
    """Return the reader for whom the zip is created; None if they see no more than the public."""
    if not user.is_authenticated:
        return None
    if not collection.is_published:
        return user
    return None if contents(collection, AnonymousUser()).fingerprint == current_contents.fingerprint else user


def _fits(zip_: CollectionZip, current_contents: Contents) -> bool:
    if zip_.fingerprint == current_contents.fingerprint:
        return True
    if zip_.completed_at is None:
        return False
    left = zip_.completed_at + NEW_ENOUGH - timezone.now()
    if left < timedelta(0):
        return False
    keep_for(left.total_seconds())
    return set(current_contents.revision_ids).issuperset(zip_.revisions) and set(
        current_contents.run_ids
    ).issuperset(zip_.runs)
