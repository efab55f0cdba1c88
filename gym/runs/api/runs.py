"""Runs: list, queue one or a batch, read, cancel, retry, delete."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import PermissionDenied, ValidationError
from django.db import transaction
from django.db.models import QuerySet
from django.http import Http404
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from gym.accounts.errors import LimitReached
from gym.accounts.models import Scope, User
from gym.accounts.quotas import OverQuota
from gym.accounts.requests import SignedInApiRequest
from gym.api.base import ApiView, ListView, ObjectView, get_or_404, referenced, renamed
from gym.api.errors import ApiProblem, FieldError, invalid
from gym.api.operations import operation
from gym.api.records import RecordSerializer
from gym.api.requests import Body
from gym.jobs.models import Job
from gym.runs.api.policy_fields import StartTokenField
from gym.runs.api.serializers import BatchSerializer, RunSerializer
from gym.runs.filters import RunFilter
from gym.runs.models import DeletedRun, SuiteRun
from gym.runs.policies import default_policy
from gym.runs.read.selectors import listed_runs, rates_alone, run_at, visible_to
from gym.runs.work import many, services
from gym.runs.work.deleted_runs import deleted_run_at
from gym.sharing.api import DeletionQuery
from lmgym.models.engine import ScoringPolicy
from lmgym.models.engine.policy import JOIN_POLICIES, METRICS, TOKEN_POLICIES, WHITESPACE_POLICIES
from lmgym.text import count
from models_registry.models import RegisteredModel
from models_registry.selectors import visible_to as visible_models
from suites.api.request_bodies import again_field
from suites.models import Suite, SuiteRevision
from suites.selectors import revisions_for
from suites.selectors import visible_to as visible_suites

MAX_CELLS = 1_000


class PolicyBody(Body):
    """Changes to the suite's default policy."""

    bos = StartTokenField(required=False)
    eos = serializers.BooleanField(required=False)
    join = serializers.ChoiceField(JOIN_POLICIES, required=False)
    metric = serializers.ChoiceField(METRICS, required=False)
    whitespace = serializers.ChoiceField(WHITESPACE_POLICIES, required=False)
    tokens = serializers.ChoiceField(
        TOKEN_POLICIES,
        required=False,
        help_text="needed: compute only tokens of regions that predictions use",
    )


class RunBody(Body):
    suite = serializers.SlugField(max_length=80)
    revision = serializers.IntegerField(
        required=False, min_value=1, max_value=2**31 - 1, help_text="default: the newest frozen revision"
    )
    model = serializers.SlugField(max_length=80)
    policy = PolicyBody(required=False)
    again = again_field("a run")


class BatchBody(Body):
    suites = serializers.ListField(
        child=serializers.SlugField(max_length=80), min_length=1, max_length=MAX_CELLS
    )
    models = serializers.ListField(
        child=serializers.SlugField(max_length=80), min_length=1, max_length=MAX_CELLS
    )
    policy = PolicyBody(required=False)
    again = again_field("runs")
    all_or_nothing = serializers.BooleanField(default=False, help_text="queue nothing if any run is refused")


def with_results(runs: QuerySet[SuiteRun]) -> QuerySet[SuiteRun]:
    """Prefetch the aggregates of predictions, without their per-item lists."""
    return runs.defer("region_summary").prefetch_related("scores", rates_alone())


def run_of(request: Request, key: str) -> SuiteRun:
    return get_or_404(with_results(run_at(request.user, key)))


def serialized(request: Request, run: SuiteRun) -> dict[str, Any]:
    return dict(RunSerializer(run, context={"request": request}).data)


class RunList(ListView):
    filterset_class = RunFilter
    token_scope = Scope.RUN

    @operation("List runs", response=RunSerializer, many=True)
    def get(self, request: Request) -> Response:
        """List runs of suites that are listed for you, newest first, with pass rates."""
        return self.page(
            with_results(listed_runs(request.user)).prefetch_related("revision__suite__collaborations"),
            RunSerializer,
        )

    @operation("Queue a run", body=RunBody, response=RunSerializer, status=201, also=[200])
    def post(self, request: SignedInApiRequest) -> Response:
        """Queue a model on a frozen revision. Poll the run until its state is done, failed or cancelled. 200: the same
        run exists, finished or not; `again` creates another one."""
        body = self.body()
        suite = referenced(visible_suites(request.user), "suite", slug=body["suite"])
        model = referenced(visible_models(request.user), "model", slug=body["model"])
        revision = _revision(request, suite, body.get("revision"))
        try:
            policy = _policy(revision, body.get("policy", {}))
            outcome = services.queue_once(revision, model, policy, actor=request.user, again=body["again"])
        except OverQuota:
            raise
        except ValidationError as error:
            raise invalid(*(FieldError("$.model", message) for message in error.messages)) from error
        run = outcome.run if outcome.is_new else run_of(request, outcome.run.key)
        place = reverse("api-run", args=[run.key], request=request)
        return Response(
            serialized(request, run), status=201 if outcome.is_new else 200, headers={"Location": place}
        )


def _revision(request: Request, suite: Suite, number: int | None) -> SuiteRevision:
    revision = (
        suite.latest_frozen
        if number is None
        else referenced(revisions_for(request.user, suite), "revision", number=number)
    )
    if revision is None:
        raise invalid(
            FieldError("$.suite", "This suite has no frozen revision yet.", "Freeze its draft first.")
        )
    if not revision.is_frozen:
        raise invalid(FieldError("$.revision", "This revision is a draft.", "Freeze it first."))
    revision.suite = suite
    return revision


def _policy(revision: SuiteRevision, changes: dict[str, Any]) -> ScoringPolicy:
    try:
        return ScoringPolicy.from_dict(default_policy(revision).to_dict() | changes)
    except ValueError as error:
        raise invalid(FieldError("$.policy", f"{revision.suite.slug}: {error}.")) from error


class ManyRunsBody(Body):
    action = serializers.ChoiceField(sorted(many.ACTIONS))
    owner = serializers.CharField(
        required=False,
        max_length=150,
        help_text="user name of the account whose runs are changed; default: yours",
    )
    suite = serializers.SlugField(required=False, max_length=80)
    model = serializers.SlugField(required=False, max_length=80)
    tag = serializers.CharField(required=False, max_length=40, help_text="tag of the suite")
    state = serializers.ChoiceField(Job.State.choices, required=False)


class RunsChangedSerializer(RecordSerializer):
    refused = serializers.DictField(
        child=serializers.IntegerField(), help_text="number of runs that were refused, by reason"
    )

    class Meta:
        dataclass = many.RunsChanged


class RunMany(ApiView):
    token_scope = Scope.RUN

    @operation("Cancel, retry or delete many runs", body=ManyRunsBody, response=RunsChangedSerializer)
    def post(self, request: SignedInApiRequest) -> Response:
        """Cancel, retry or delete the runs of an account that match the other fields, at most 500. Runs that are in
        the wrong state for the action or that you may not change are left alone."""
        body = self.body()
        action = body.pop("action")
        for field, rows in {"suite": visible_suites, "model": visible_models}.items():
            if field in body:
                referenced(rows(request.user), field, slug=body[field])
        filters = {"owner": request.user.username} | body
        runs = RunFilter(filters, queryset=visible_to(request.user)).qs
        return self.respond(many.act_on_runs(runs, action, actor=request.user))


class RunBatch(ApiView):
    token_scope = Scope.RUN

    @operation("Queue models on suites", body=BatchBody, response=BatchSerializer, status=201)
    def post(self, request: SignedInApiRequest) -> Response:
        """Queue every model on the newest frozen revision of every suite. Each cell has the run or the reason why
        there is none; `existing` marks a run that already existed (`again` creates another one). With `all_or_nothing`,
        one refused cell refuses all (409)."""
        body = self.body()
        suites, models = list(dict.fromkeys(body["suites"])), list(dict.fromkeys(body["models"]))
        if len(suites) * len(models) > MAX_CELLS:
            shape = f"{count(len(suites), 'suite')} × {count(len(models), 'model')}"
            raise invalid(FieldError("$", f"{shape}; at most {MAX_CELLS} runs per request."))
        with transaction.atomic():
            cells = _queue(request, suites, models, body.get("policy", {}), again=body["again"])
            refused = [cell for cell in cells if cell["error"]]
            if refused and body["all_or_nothing"]:
                field_errors = [
                    FieldError("$", f"{cell['model']} on {cell['suite']}: {cell['error']}")
                    for cell in refused
                ]
                raise ApiProblem(
                    409,
                    f"Nothing was queued, because runs were refused: {len(refused)} of {len(cells)}.",
                    "refused",
                    field_errors,
                )
        queued = len([cell for cell in cells if cell["run"] and not cell["existing"]])
        data = {"queued": queued, "refused": len(refused), "cells": cells}
        return Response(data, status=201, headers={"Location": reverse("api-runs", request=request)})


def _queue(
    request: SignedInApiRequest, suites: list[str], models: list[str], changes: dict[str, Any], *, again: bool
) -> list[dict[str, Any]]:
    suites_by_slug = {suite.slug: suite for suite in visible_suites(request.user).filter(slug__in=suites)}
    frozen = SuiteRevision.objects.filter(suite__in=suites_by_slug.values(), state=SuiteRevision.State.FROZEN)
    newest = {row.suite_id: row for row in frozen.select_related("suite").order_by("number")}
    models_by_slug = {model.slug: model for model in visible_models(request.user).filter(slug__in=models)}
    hints = {
        slug: renamed(visible_suites(request.user), slug) for slug in suites if slug not in suites_by_slug
    }
    cells: list[dict[str, Any]] = []
    for suite in suites:
        revision = newest.get(suites_by_slug[suite].pk) if suite in suites_by_slug else None
        policy = _policy(revision, changes) if revision else None
        for model in models:
            outcome, error = None, None
            if suite not in suites_by_slug:
                error = f"There is no such suite. {hints[suite]}".rstrip()
            elif revision is None:
                error = "This suite has no frozen revision yet."
            elif model not in models_by_slug:
                error = "There is no such model."
            else:
                outcome, error = _cell(revision, models_by_slug[model], policy, request.user, again)
            cells.append(
                {
                    "suite": suite,
                    "model": model,
                    "run": outcome and outcome.run.key,
                    "existing": outcome is not None and not outcome.is_new,
                    "error": error,
                }
            )
    return cells


def _cell(
    revision: SuiteRevision, model: RegisteredModel, policy: ScoringPolicy | None, actor: User, again: bool
) -> tuple[services.QueuedRun | None, str | None]:
    try:
        with transaction.atomic():
            return services.queue_once(revision, model, policy, actor=actor, again=again), None
    except ValidationError as error:
        return None, " ".join(error.messages)
    except (LimitReached, PermissionDenied) as error:
        return None, str(error)


def _gone(deleted: DeletedRun) -> ApiProblem:
    was = {
        "suite": deleted.suite,
        "revision": deleted.revision,
        "sha256": deleted.sha256,
        "model": deleted.model,
        "deleted_at": deleted.deleted_at.isoformat(),
        "note": deleted.note,
    }
    return ApiProblem(410, f"This run of {deleted.model_name} was deleted.", "gone", more={"was": was})


class RunDetail(ApiView):
    token_scope = Scope.RUN

    @operation("Read a run", response=RunSerializer, also=[410])
    def get(self, request: Request, key: str) -> Response:
        """Return state, progress, provenance and the pass rates of the predictions. 410 for a run that was
        public when it was deleted, with `was`: suite, revision, sha256, model, deleted_at, note."""
        try:
            run = run_of(request, key)
        except Http404:
            deleted = deleted_run_at(request.user, key)
            if deleted is None:
                raise
            raise _gone(deleted) from None
        return Response(serialized(request, run))

    @operation("Delete a run", status=204, query=DeletionQuery, also=[409])
    def delete(self, request: SignedInApiRequest, key: str) -> Response:
        """Delete the run and its results. Only its owner and staff may delete it, and only after it has
        ended. Returns 409 if a published collection shows it."""
        services.delete_run(run_of(request, key), actor=request.user, note=self.query["note"])
        return Response(status=204)


class RunView(ObjectView[SuiteRun]):
    lookup_field = "key"
    token_scope = Scope.RUN

    def visible_rows(self, address: str) -> QuerySet[SuiteRun]:
        return run_at(self.request.user, address)

    def detail_rows(self, address: str) -> QuerySet[SuiteRun]:
        return with_results(self.visible_rows(address))


class RunCancel(RunView):
    @operation("Cancel a run", response=RunSerializer)
    def post(self, request: Request, key: str) -> Response:
        """Stop after the current sentences; their scores are kept for later runs."""
        return self.act(services.cancel_run)


class RunRetry(RunView):
    @operation("Retry a run", response=RunSerializer)
    def post(self, request: Request, key: str) -> Response:
        """Resume a failed or cancelled run."""
        return self.act(services.retry_run)
