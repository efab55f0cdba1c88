"""Deleting an account: first say what happens to everything it owns, then do exactly that.

What only its owner could see goes with the owner. What others rely on stays, in the hands of an account that nobody
can use: public suites and models, and whatever has collaborators or other people's results.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models import ProtectedError, Q, QuerySet

from gym.accounts.models import User
from gym.accounts.tokens import live_tokens
from gym.conflicts import Conflict
from gym.conversations import farewell as conversations
from gym.conversations.models import AgentSuite
from gym.evaluations.models import SuiteRun
from gym.jobs import services as jobs
from gym.jobs.models import ACTIVE_STATES, Job
from gym.lmchallenge.models import Corpus, Game
from gym.lmchallenge.site import services as lmchallenge
from gym.propara.models import AnswerSet, Submission
from gym.propara.site import services as propara
from gym.results.models import Collection, CollectionEntry
from gym.sharing.models import Collaboration
from gym.sharing.selectors import shares_of
from models_registry.models import RegisteredModel
from suites.models import Suite, Visibility

if TYPE_CHECKING:
    from suites.models import SuiteCollaborator

FORMER_MEMBER = "(former member)"  # no form accepts blanks and brackets, so nobody can take this name


@dataclass(frozen=True)
class Farewell:
    """What will happen; every field is a query, so that page and deed cannot disagree."""

    deleted_suites: QuerySet[Suite]
    kept_suites: QuerySet[Suite]
    collaborations: QuerySet[SuiteCollaborator]
    shares: QuerySet[Collaboration]
    deleted_models: QuerySet[RegisteredModel]
    kept_models: QuerySet[RegisteredModel]
    deleted_runs: QuerySet[SuiteRun]
    kept_runs: QuerySet[SuiteRun]
    deleted_collections: QuerySet[Collection]
    kept_collections: QuerySet[Collection]
    deleted_answer_sets: QuerySet[AnswerSet]
    kept_answer_sets: QuerySet[AnswerSet]
    deleted_submissions: QuerySet[Submission]
    kept_submissions: QuerySet[Submission]
    deleted_corpora: QuerySet[Corpus]
    kept_corpora: QuerySet[Corpus]
    deleted_games: QuerySet[Game]
    kept_games: QuerySet[Game]
    deleted_agent_suites: QuerySet[AgentSuite]
    kept_agent_suites: QuerySet[AgentSuite]
    active_jobs: QuerySet[Job]
    n_tokens: int


def plan(user: User) -> Farewell:
    """What deleting this account does to what it owns."""
    by_others = SuiteRun.objects.exclude(owner=user)
    mine = Suite.objects.filter(owner=user)
    shared = Q(visibility=Visibility.PUBLIC) | Q(collaborations__isnull=False)
    collections = Collection.objects.filter(owner=user)
    shared_collections = Collaboration.objects.filter(collection__owner=user).values("collection")
    deleted_collections = collections.filter(published_at=None).exclude(pk__in=shared_collections)
    listed = CollectionEntry.objects.exclude(collection__in=deleted_collections)
    relied_on = (
        shared | Q(pk__in=by_others.values("revision__suite")) | Q(pk__in=listed.values("revision__suite"))
    )
    kept_suites = mine.filter(pk__in=mine.filter(relied_on).values("pk"))
    models = RegisteredModel.objects.filter(owner=user)
    public = Q(visibility=RegisteredModel.Visibility.PUBLIC)
    shared_models = Collaboration.objects.filter(model__owner=user).values("model")
    used = Q(pk__in=by_others.values("model")) | Q(pk__in=shared_models)
    kept_models = models.filter(public | used).exclude(pk__in=conversations.doomed_agents(user).values("pk"))
    deleted_suites = mine.exclude(pk__in=kept_suites.values("pk"))
    deleted_models = models.exclude(pk__in=kept_models.values("pk"))
    runs = SuiteRun.objects.filter(owner=user)
    gone = Q(revision__suite__in=deleted_suites.values("pk")) | Q(model__in=deleted_models.values("pk"))
    return Farewell(
        deleted_suites=deleted_suites,
        kept_suites=kept_suites,
        collaborations=user.collaborations.select_related("suite"),
        shares=shares_of(user),
        deleted_models=deleted_models,
        kept_models=kept_models,
        deleted_runs=runs.filter(gone),
        kept_runs=runs.exclude(gone),
        deleted_collections=deleted_collections,
        kept_collections=collections.exclude(pk__in=deleted_collections.values("pk")),
        deleted_answer_sets=propara.doomed_sets(user),
        kept_answer_sets=propara.kept_sets(user),
        deleted_submissions=propara.doomed_submissions(user),
        kept_submissions=Submission.objects.filter(owner=user).exclude(
            pk__in=propara.doomed_submissions(user).values("pk")
        ),
        deleted_corpora=lmchallenge.doomed_corpora(user),
        kept_corpora=lmchallenge.kept_corpora(user),
        deleted_games=lmchallenge.doomed_games(user),
        kept_games=Game.objects.filter(owner=user).exclude(
            pk__in=lmchallenge.doomed_games(user).values("pk")
        ),
        deleted_agent_suites=conversations.doomed_suites(user),
        kept_agent_suites=conversations.kept_suites(user),
        active_jobs=Job.objects.filter(owner=user, state__in=ACTIVE_STATES),
        n_tokens=live_tokens(user).count(),
    )


def delete_account(user: User) -> None:
    """Do what `plan` says. Everything happens, or nothing does. Accounts go one at a time, so that what they share is
    settled by one of them and the last administrator stays."""
    try:
        with transaction.atomic():
            former_member().hold()
            if not User.objects.select_for_update().filter(pk=user.pk).exists():
                raise Conflict("This account is deleted already.")
            require_dispensable([user])
            farewell = plan(user)
            _stop_work(farewell)
            conversations.farewell(user, former_member())
            _carry_out(farewell)
            propara.farewell(user, former_member())
            lmchallenge.farewell(user, former_member())
            user.delete()
    except (ProtectedError, IntegrityError) as error:
        raise ValidationError(
            "Something of this account is in use just now. Try again in a moment."
        ) from error


def require_dispensable(users: list[User]) -> None:
    """Raises ValidationError when the site needs one of these accounts, or the last of them."""
    if any(user.username == FORMER_MEMBER for user in users):
        raise ValidationError(f"{FORMER_MEMBER} owns what stayed when others went, so it stays.")
    gone = [user.pk for user in users]
    others = User.objects.filter(is_superuser=True, is_active=True).exclude(pk__in=gone)
    if any(user.is_superuser for user in users) and not others.exists():
        raise ValidationError("The only administrator of the site stays. Make somebody else one first.")


def former_member() -> User:
    """Owns what stays when people go. It has no password and is not active."""
    user, created = User.objects.get_or_create(
        username=FORMER_MEMBER, defaults={"first_name": "a former member", "is_active": False}
    )
    if created:
        user.set_unusable_password()
        user.save()
    return user


def _stop_work(farewell: Farewell) -> None:
    for job in farewell.active_jobs:
        with suppress(jobs.WrongState):  # it has ended meanwhile
            jobs.request_cancel(job, actor=None)


def _carry_out(farewell: Farewell) -> None:
    # The queries look at one another: read the keys before anything changes.
    suites, models = (
        list(farewell.deleted_suites.values_list("pk", flat=True)),
        list(farewell.deleted_models.values_list("pk", flat=True)),
    )
    kept_suites = list(farewell.kept_suites.values_list("pk", flat=True))
    kept_models = list(farewell.kept_models.values_list("pk", flat=True))
    collections = list(farewell.deleted_collections.values_list("pk", flat=True))
    kept_collections = list(farewell.kept_collections.values_list("pk", flat=True))
    runs = list(farewell.deleted_runs.values_list("pk", flat=True))
    Job.objects.filter(suite_run__in=runs).update(title="a deleted run", log="")
    SuiteRun.objects.filter(pk__in=runs).delete()
    Collection.objects.filter(pk__in=collections).delete()
    Suite.objects.filter(pk__in=suites).delete()
    RegisteredModel.objects.filter(pk__in=models).delete()
    heir = former_member()
    Collection.objects.filter(pk__in=kept_collections).update(owner=heir)
    Suite.objects.filter(pk__in=kept_suites).update(owner=heir)
    RegisteredModel.objects.filter(pk__in=kept_models).update(owner=heir, secrets={})
