"""Account deletion: `plan` lists what happens to each of the account's objects, `delete_account` does it.

Objects on which others depend are handed over to the inactive account FORMER_MEMBER: public objects, objects with
collaborators or other people's results, and suites in a collection that is kept. All others are deleted, including
unlisted ones. Kept results lose their owner.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models import ProtectedError, Q, QuerySet

from gym.accounts.models import User
from gym.accounts.tokens import live_tokens
from gym.agents import services as agents
from gym.agents.models import AgentSuite
from gym.collections.models import Collection, CollectionEntry
from gym.conflicts import Conflict
from gym.jobs import services as jobs
from gym.jobs.models import ACTIVE_STATES, Job
from gym.lmchallenge import services as lmchallenge
from gym.lmchallenge.models import Corpus, Game
from gym.people.models import HumanData, PeopleComparison
from gym.propara import services as propara
from gym.propara.models import AnswerSet, Submission
from gym.runs.models import SuiteRun
from gym.sharing.models import Collaborator, Visibility
from gym.sharing.selectors import shared_by, shares_of
from gym.sharing.services import lock_all_of
from models_registry.models import RegisteredModel
from suites.models import Suite

FORMER_MEMBER = "(former member)"  # sign-up accepts neither spaces nor brackets


@dataclass(frozen=True)
class DeletionPlan:
    """Querysets of the objects to delete and to keep, for the page and for the deletion."""

    deleted_suites: QuerySet[Suite]
    kept_suites: QuerySet[Suite]
    shares: list[Collaborator]
    deleted_models: QuerySet[RegisteredModel]
    kept_models: QuerySet[RegisteredModel]
    deleted_runs: QuerySet[SuiteRun]
    kept_runs: QuerySet[SuiteRun]
    deleted_collections: QuerySet[Collection]
    kept_collections: QuerySet[Collection]
    deleted_human_data: QuerySet[HumanData]
    kept_human_data: QuerySet[HumanData]
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


def plan(user: User) -> DeletionPlan:
    """Plan an account's deletion."""
    by_others = SuiteRun.objects.exclude(owner=user)
    human_data = HumanData.objects.filter(owner=user)
    compared = PeopleComparison.objects.exclude(owner=user).values("human_data")
    used_data = Q(visibility=Visibility.PUBLIC) | shared_by(user, HumanData) | Q(pk__in=compared)
    remaining_data = HumanData.objects.filter(~Q(owner=user) | used_data)
    mine = Suite.objects.filter(owner=user)
    shared = Q(visibility=Visibility.PUBLIC) | shared_by(user, Suite)
    collections = Collection.objects.filter(owner=user)
    deleted_collections = collections.filter(published_at=None).exclude(shared_by(user, Collection))
    listed = CollectionEntry.objects.exclude(collection__in=deleted_collections)
    relied_on = (
        shared
        | Q(pk__in=by_others.values("revision__suite"))
        | Q(pk__in=listed.values("revision__suite"))
        | Q(pk__in=remaining_data.values("revision__suite"))
    )
    kept_suites = mine.filter(pk__in=mine.filter(relied_on).values("pk"))
    models = RegisteredModel.objects.filter(owner=user)
    public = Q(visibility=Visibility.PUBLIC)
    used = Q(pk__in=by_others.values("model")) | shared_by(user, RegisteredModel)
    kept_models = models.filter(public | used).exclude(pk__in=agents.doomed_agents(user).values("pk"))
    deleted_suites = mine.exclude(pk__in=kept_suites.values("pk"))
    deleted_models = models.exclude(pk__in=kept_models.values("pk"))
    runs = SuiteRun.objects.filter(owner=user)
    gone = Q(revision__suite__in=deleted_suites.values("pk")) | Q(model__in=deleted_models.values("pk"))
    return DeletionPlan(
        deleted_suites=deleted_suites,
        kept_suites=kept_suites,
        shares=shares_of(user),
        deleted_models=deleted_models,
        kept_models=kept_models,
        deleted_runs=runs.filter(gone),
        kept_runs=runs.exclude(gone),
        deleted_collections=deleted_collections,
        kept_collections=collections.exclude(pk__in=deleted_collections.values("pk")),
        deleted_human_data=human_data.exclude(used_data),
        kept_human_data=human_data.filter(used_data),
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
        deleted_agent_suites=agents.doomed_suites(user),
        kept_agent_suites=agents.kept_suites(user),
        active_jobs=Job.objects.filter(owner=user, state__in=ACTIVE_STATES),
        n_tokens=live_tokens(user).count(),
    )


def delete_account(user: User) -> None:
    """Carry out the `plan` in one transaction. Deletions are serialised, so that accounts with shared objects do not
    conflict, and the last administrator cannot be deleted.

    Raises Conflict if the account is already deleted, ValidationError if the site needs the account."""
    try:
        with transaction.atomic():
            former_member().lock()
            if not User.objects.select_for_update().filter(pk=user.pk).exists():
                raise Conflict("This account has already been deleted.")
            require_dispensable([user])
            lock_all_of(user)
            deletion = plan(user)
            for job in deletion.active_jobs:
                jobs.stop(job, actor=None)
            agents.delete_or_hand_over(user, former_member())
            _carry_out(deletion)
            propara.delete_or_hand_over(user, former_member())
            lmchallenge.delete_or_hand_over(user, former_member())
            user.delete()
    except (ProtectedError, IntegrityError) as error:
        raise ValidationError("Data of this account is being changed. Try again in a moment.") from error


def require_dispensable(users: list[User]) -> None:
    """Raise ValidationError if the site needs one of these accounts."""
    if any(user.username == FORMER_MEMBER for user in users):
        raise ValidationError(f"{FORMER_MEMBER} owns the objects of deleted accounts and cannot be deleted.")
    gone = [user.pk for user in users]
    others = User.objects.filter(is_superuser=True, is_active=True).exclude(pk__in=gone)
    if any(user.is_superuser for user in users) and not others.exists():
        raise ValidationError("The only administrator cannot be deleted. Appoint another one first.")


def former_member() -> User:
    """Return the inactive account, without a password, that owns the objects of deleted accounts."""
    user, created = User.objects.get_or_create(
        username=FORMER_MEMBER, defaults={"first_name": "a former member", "is_active": False}
    )
    if created:
        user.set_unusable_password()
        user.save()
    return user


def _keys(rows: QuerySet[Any]) -> list[int]:
    return list(rows.values_list("pk", flat=True))


def _carry_out(deletion: DeletionPlan) -> None:
    # The queries depend on each other: read the keys before anything changes.
    suites, models = _keys(deletion.deleted_suites), _keys(deletion.deleted_models)
    runs, collections = _keys(deletion.deleted_runs), _keys(deletion.deleted_collections)
    kept_suites, kept_models = _keys(deletion.kept_suites), _keys(deletion.kept_models)
    kept_collections = _keys(deletion.kept_collections)
    human_data, kept_data = _keys(deletion.deleted_human_data), _keys(deletion.kept_human_data)
    Job.objects.filter(suite_run__in=runs).update(title="a deleted run", log="")
    HumanData.objects.filter(pk__in=human_data).delete()
    SuiteRun.objects.filter(pk__in=runs).delete()
    Collection.objects.filter(pk__in=collections).delete()
    Suite.objects.filter(pk__in=suites).delete()
    RegisteredModel.objects.filter(pk__in=models).delete()
    heir = former_member()
    Collection.objects.filter(pk__in=kept_collections).update(owner=heir)
    HumanData.objects.filter(pk__in=kept_data).update(owner=heir)
    Suite.objects.filter(pk__in=kept_suites).update(owner=heir)
    RegisteredModel.objects.filter(pk__in=kept_models).update(owner=heir, secrets={})
