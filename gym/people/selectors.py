"""Queries for human data and comparisons with models."""

from __future__ import annotations

from collections.abc import Iterable

from django.db.models import Count, F, Q, QuerySet

from gym.accounts.models import AnyUser, User
from gym.people.models import HumanData, HumanDataImport, PeopleComparison
from gym.runs.models import SuiteRun
from gym.runs.read.selectors import newest_done
from gym.runs.read.selectors import visible_to as visible_runs
from gym.sharing.models import Visibility
from gym.sharing.selectors import worked_on_by
from suites.models import SuiteRevision
from suites.selectors import listed_for
from suites.selectors import visible_to as visible_suites

HEAVY = ("provenance", "demographics", "result")


def visible_to(user: AnyUser) -> QuerySet[HumanData]:
    """Return the data this user may see: public data of suites in their lists, and their own or shared data of suites
    that they may see. The address of public data of an unlisted suite would reveal it, so only people who know of the
    suite see them."""
    data = HumanData.objects.filter(revision__suite__in=visible_suites(user))
    public = Q(visibility=Visibility.PUBLIC, revision__suite__in=listed_for(user))
    if not user.is_authenticated:
        seen = data.filter(public)
    elif user.is_staff:
        seen = data
    else:
        seen = data.filter(public | worked_on_by(user, HumanData))
    return seen.select_related("revision__suite__owner", "owner", "job")


def hidden_own(user: AnyUser) -> QuerySet[HumanData]:
    """Return this user's own data of suites that they may no longer see."""
    if not user.is_authenticated:
        return HumanData.objects.none()
    return (
        HumanData.objects.filter(owner=user).exclude(revision__suite__in=visible_suites(user)).defer(*HEAVY)
    )


def keepable(user: AnyUser) -> QuerySet[HumanData]:
    """Return the data whose files this user may download, and whose page of deletion they reach: visible data, and
    their own even if the suite was hidden from them."""
    own = Q(owner=user.pk) if user.is_authenticated else Q(pk__in=[])
    rows = HumanData.objects.filter(own | Q(pk__in=visible_to(user).order_by().values("pk")))
    return rows.select_related("revision__suite__owner", "owner", "job")


def listed(user: AnyUser) -> QuerySet[HumanData]:
    """Return visible data for lists, without heavy columns."""
    return visible_to(user).filter(revision__suite__in=listed_for(user)).defer(*HEAVY)


def of_revision(user: AnyUser, revision: SuiteRevision) -> list[HumanData]:
    """Return the visible data of a revision, with results."""
    return list(visible_to(user).filter(revision=revision).defer("provenance", "demographics"))


def imports_of(user: AnyUser) -> QuerySet[HumanDataImport]:
    """Return this user's own uploads, which no other user may see."""
    rows = (
        HumanDataImport.objects.filter(owner=user.pk)
        if user.is_authenticated
        else HumanDataImport.objects.none()
    )
    return rows.select_related("revision__suite", "job", "made")


def comparisons_of(data: HumanData, user: AnyUser) -> QuerySet[PeopleComparison]:
    """Return the comparisons whose runs this user may all see. `data`: visible to the user. If a run was deleted, only
    the person who started the comparison and staff see it, because the model may have been private."""
    return _with_visible_runs(data.comparisons.select_related("job", "owner"), user)


def own_comparisons(user: User) -> QuerySet[PeopleComparison]:
    """Return the comparisons that this user started and may still see."""
    rows = PeopleComparison.objects.filter(owner=user, human_data__in=visible_to(user))
    return _with_visible_runs(rows.select_related("human_data", "job"), user)


def _with_visible_runs(rows: QuerySet[PeopleComparison], user: AnyUser) -> QuerySet[PeopleComparison]:
    if user.is_authenticated and user.is_staff:
        return rows
    seen = Count("runs", filter=Q(runs__in=visible_runs(user)), distinct=True)
    own = Q(owner=user.pk) if user.is_authenticated else Q(pk__in=[])
    rows = rows.annotate(n_seen=seen, n_left=Count("runs", distinct=True))
    return rows.filter(Q(n_seen=F("n_runs")) | own & Q(n_seen=F("n_left")))


def comparable_runs(data: HumanData, user: AnyUser) -> QuerySet[SuiteRun]:
    """Return the run that counts for each visible model on the revision, if it has surprisals."""
    runs = newest_done(visible_runs(user).filter(revision=data.revision)).exclude(policy={})
    return runs.order_by("model__name", "pk")


def recent_comparisons(data: HumanData, user: AnyUser) -> list[PeopleComparison]:
    return list(comparisons_of(data, user).prefetch_related("runs__model").defer("result")[:20])


def models_of(runs: Iterable[SuiteRun]) -> dict[str, SuiteRun]:
    """Map the slug of the model to its run."""
    return {run.model.slug: run for run in runs}
