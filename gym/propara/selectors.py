"""Queries for answer sets and submissions, all based on `visible_to` or `submissions_for`."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

from django.db.models import Count, Max, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce

from gym.accounts.models import AnyUser
from gym.propara.models import AnswerSet, AnswerSetVersion, FormerSubmissionKey, Submission
from gym.sharing.models import Visibility
from gym.sharing.selectors import worked_on_by

if TYPE_CHECKING:
    from django_stubs_ext import WithAnnotations

HEAVY = ("file", "samples")
"""Large columns of a submission that are deferred in lists."""


def visible_to(user: AnyUser) -> QuerySet[AnswerSet]:
    """Return answer sets that the user may open."""
    sets = AnswerSet.objects.select_related("owner")
    if not user.is_authenticated:
        return sets.exclude(visibility=Visibility.PRIVATE)
    return (
        sets
        if user.is_staff
        else sets.filter(~Q(visibility=Visibility.PRIVATE) | worked_on_by(user, AnswerSet))
    )


def listed_for(user: AnyUser) -> QuerySet[AnswerSet]:
    """Return answer sets for lists: all visible ones, except unlisted ones that the user neither owns nor collaborates
    on.
    """
    sets = visible_to(user)
    if user.is_authenticated:
        return sets.filter(~Q(visibility=Visibility.UNLISTED) | worked_on_by(user, AnswerSet))
    return sets.exclude(visibility=Visibility.UNLISTED)


def versions_for(user: AnyUser) -> QuerySet[AnswerSetVersion]:
    return AnswerSetVersion.objects.filter(answer_set__in=visible_to(user)).select_related(
        "answer_set__owner"
    )


def submissions_for(user: AnyUser) -> QuerySet[Submission]:
    """Return submissions that the user may open. Submissions that wait for agreement or are not saved are only visible
    to their owner and staff."""
    rows = Submission.objects.filter(version__answer_set__in=visible_to(user)).select_related(
        "version__answer_set", "owner"
    )
    shown = Q(state__in=[Submission.State.SCORED, Submission.State.UNSCORABLE]) & ~Q(
        visibility=Visibility.PRIVATE
    )
    if not user.is_authenticated:
        return rows.filter(shown)
    return rows if user.is_staff else rows.filter(shown | Q(owner=user))


def known_to(user: AnyUser) -> QuerySet[AnswerSet]:
    """Return answer sets whose address may be shown to the user."""
    return visible_to(user) if user.is_authenticated and user.is_staff else listed_for(user)


def submission_at(user: AnyUser, key: str) -> QuerySet[Submission]:
    """Return the visible submission with this key. A former key works only for the owner, staff and people with access
    to the answer set, if the set's address may be shown to them."""
    former = Q(pk__in=FormerSubmissionKey.objects.filter(key=key).values("submission"))
    former &= Q(version__answer_set__in=known_to(user).values("pk"))
    if not user.is_authenticated:
        former &= Q(pk=None)
    elif not user.is_staff:
        former &= Q(owner=user) | worked_on_by(user, AnswerSet, "version__answer_set__")
    return submissions_for(user).filter(Q(key=key) | former)


def known_submissions(user: AnyUser) -> QuerySet[Submission]:
    """Return submissions for lists across answer sets. Submissions to other people's unlisted sets are excluded, except
    the user's own while the set keeps the address that they used."""
    known = Q(version__answer_set__in=listed_for(user).values("pk"))
    if user.is_authenticated:
        known |= Q(owner=user, former_keys=None)
    return listed_submissions(user).filter(known)


def listed_submissions(user: AnyUser) -> QuerySet[Submission]:
    """Return submissions for an answer set's pages and leaderboards, without other people's unlisted submissions."""
    rows = submissions_for(user)
    if user.is_authenticated:
        return rows.filter(~Q(visibility=Visibility.UNLISTED) | Q(owner=user))
    return rows.exclude(visibility=Visibility.UNLISTED)


class Duplicate(TypedDict):
    """Annotations added by `with_duplicate`."""

    same_file_as: str | None


def with_duplicate(
    rows: QuerySet[Submission], user: AnyUser
) -> QuerySet[WithAnnotations[Submission, Duplicate]]:
    """Annotate `same_file_as`: key of the earliest submission of the same file to the same answer set that the user may
    see in lists. Submissions created by scoring a file on another version are ignored."""
    earlier = (
        listed_submissions(user)
        .filter(
            version__answer_set=OuterRef("version__answer_set"),
            file_sha256=OuterRef("file_sha256"),
            created__lt=OuterRef("created"),
            rescored_from=None,
            state__in=[Submission.State.SCORED, Submission.State.UNSCORABLE],
        )
        .exclude(pk=Coalesce(OuterRef("rescored_from"), 0))
        .order_by("created")
    )
    return rows.annotate(same_file_as=Subquery(earlier.values("key")[:1]))


class Counts(TypedDict):
    """Annotations added by `with_counts`."""

    newest: int | None
    n_submissions: int | None
    best: float | None


def with_counts(sets: QuerySet[AnswerSet], user: AnyUser) -> QuerySet[WithAnnotations[AnswerSet, Counts]]:
    """Annotate `newest` (number of the newest version), `n_submissions` and `best` (best F1), both on that version."""
    newest = AnswerSetVersion.objects.filter(answer_set=OuterRef("pk")).order_by("-number")
    shown = listed_submissions(user).filter(
        version__answer_set=OuterRef("pk"), state=Submission.State.SCORED, version__number=OuterRef("newest")
    )
    grouped = shown.order_by().values("version__answer_set")
    return sets.annotate(
        newest=Subquery(newest.values("number")[:1]),
        n_submissions=Subquery(grouped.annotate(n=Count("pk")).values("n")),
        best=Subquery(grouped.annotate(top=Max("f1")).values("top")),
    ).prefetch_related("versions")
