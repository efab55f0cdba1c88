"""Runs of agent tests: start, steer, read, compare."""

from __future__ import annotations

from typing import Any

import django_filters
from django.db.models import QuerySet
from django.http import StreamingHttpResponse
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from gym.accounts.models import Scope
from gym.agents.core.cases import READINGS
from gym.agents.models import AgentCase, AgentRun, AgentSuite, CaseRun
from gym.agents.site import presenters, run_views, selectors, services
from gym.agents.site.api.request_bodies import AgentRunBody, AgentRunsBody
from gym.agents.site.api.serializers import (
    AgentCaseResultSerializer,
    AgentComparisonSerializer,
    AgentResultsSerializer,
    AgentRunSerializer,
    AgentRunsSerializer,
)
from gym.api.base import AddressDecides, ApiView, ListView, get_or_404
from gym.api.errors import FieldError, invalid
from gym.api.filters import Filters
from gym.api.operations import TEXT, operation
from gym.api.requests import Query


def run_of(request: Request, key: str) -> AgentRun:
    return get_or_404(selectors.runs_visible_to(request.user), key=key)


def case_run_of(request: Request, key: str, pk: int) -> CaseRun:
    return get_or_404(run_of(request, key).case_runs.select_related("run__suite", "case"), pk=pk)


class AgentRunFilter(Filters):
    suite = django_filters.CharFilter(field_name="suite__slug", label="Slug of the suite")
    agent = django_filters.CharFilter(field_name="server__model__slug", label="Slug of the agent")
    owner = django_filters.CharFilter(field_name="owner__username", label="User name of who queued it")

    class Meta:
        model = AgentRun
        fields: list[str] = []


class Runs(ListView):
    token_scope = Scope.RUN
    filterset_class = AgentRunFilter

    @operation("List runs of agent tests", answers=AgentRunSerializer, many=True)
    def get(self, request: Request) -> Response:
        """Newest first."""
        runs = selectors.runs_visible_to(request.user).prefetch_related("case_runs").order_by("-created")
        return self.page(runs, AgentRunSerializer)

    @operation("Run agent tests", takes=AgentRunBody, answers=AgentRunSerializer, status=201)
    def post(self, request: Request) -> Response:
        """Cases of a suite against one agent. Ask the run until its state is done, failed or cancelled."""
        body = self.body()
        suite = get_or_404(selectors.visible_to(request.user), slug=body.pop("suite"))
        server = get_or_404(selectors.servers_visible_to(request.user), model__slug=body.pop("agent"))
        cases = _cases(suite, body.pop("cases", None))
        run = services.queue_run(suite, server, actor=request.user, cases=cases, **body)
        return _made(request, run)


class Batch(ApiView):
    token_scope = Scope.RUN

    @operation(
        "Run agent tests on several agents", takes=AgentRunsBody, answers=AgentRunsSerializer, status=201
    )
    def post(self, request: Request) -> Response:
        """The same cases, a run on each agent, in the order given: all of them are queued, or none."""
        body = self.body()
        suite = get_or_404(selectors.visible_to(request.user), slug=body.pop("suite"))
        visible = selectors.servers_visible_to(request.user)
        servers = [get_or_404(visible, model__slug=slug) for slug in dict.fromkeys(body.pop("agents"))]
        cases = _cases(suite, body.pop("cases", None))
        made = services.queue_runs(suite, servers, actor=request.user, cases=cases, **body)
        runs = [run_of(request, run.key) for run in made]
        return Response(AgentRunsSerializer({"runs": runs}).data, status=201)


def _cases(suite: AgentSuite, names: list[str] | None) -> list[AgentCase] | None:
    if names is None:
        return None
    there = {case.name: case for case in suite.cases.filter(name__in=names)}
    missing = [place for place, name in enumerate(names) if name not in there]
    if missing:
        raise invalid(
            *(FieldError(f"$.cases[{place}]", f"There is no case “{names[place]}”.") for place in missing)
        )
    return list(there.values())


def _made(request: Request, run: AgentRun) -> Response:
    place = reverse("api-agent-run", args=[run.key], request=request)
    return Response(
        AgentRunSerializer(run_of(request, run.key)).data, status=201, headers={"Location": place}
    )


class Run(ApiView):
    @operation("Read a run of agent tests", answers=AgentRunSerializer)
    def get(self, request: Request, key: str) -> Response:
        """State, and what came of each case."""
        return Response(AgentRunSerializer(run_of(request, key)).data)


class Results(ApiView):
    @operation("Read the results of agent tests", answers=AgentResultsSerializer)
    def get(self, request: Request, key: str) -> Response:
        """Every iteration with its checks and transcripts."""
        run = run_of(request, key)
        cases = [{"name": row.name, **row.result().as_dict()} for row in run.case_runs.all()]
        return Response({"cases": cases})


class RunFile(ApiView):
    content_negotiation_class = AddressDecides

    @operation(
        "Export the results of agent tests",
        answers={"type": "object", "description": "everything, in JSON"},
        media={"application/xml": TEXT},
    )
    def get(self, request: Request, key: str, form: str) -> StreamingHttpResponse:
        """`form` is json, or junit for programs that watch builds."""
        return run_views.run_file(run_of(request, key), form)


class _Act(ApiView):
    token_scope = Scope.RUN

    def act(self, request: Request, key: str, use_case: Any) -> Response:
        use_case(run_of(request, key), actor=request.user)
        return Response(AgentRunSerializer(run_of(request, key)).data)


class Cancel(_Act):
    @operation("Cancel a run of agent tests", answers=AgentRunSerializer)
    def post(self, request: Request, key: str) -> Response:
        """What ended is kept."""
        return self.act(request, key, services.cancel_run)


class Retry(_Act):
    @operation("Go on with a run of agent tests", answers=AgentRunSerializer)
    def post(self, request: Request, key: str) -> Response:
        """Where a failed or cancelled run ended."""
        return self.act(request, key, services.retry_run)


class RescoreQuery(Query):
    reading = serializers.ChoiceField(READINGS, required=False, help_text="default: as in the run")


class Rescore(ApiView):
    token_scope = Scope.RUN

    @operation("Score the answers of a run again", query=RescoreQuery, answers=AgentRunSerializer, status=201)
    def post(self, request: Request, key: str) -> Response:
        """A new run: the stored answers under the cases and the judge as they are now, and under another reading where
        one is named. No agent is asked."""
        reading = self.query.get("reading", "")
        return _made(
            request, services.queue_rescoring(run_of(request, key), actor=request.user, reading=reading)
        )


class CaseResult(ApiView):
    @operation("Read the result of one case", answers=AgentCaseResultSerializer)
    def get(self, request: Request, key: str, pk: int) -> Response:
        """Its iterations with transcripts, each check over all of them, pass@k and pass^k."""
        found = case_run_of(request, key, pk)
        evidence = selectors.evidence_of(found)
        data = {
            "case_run": found,
            "evidence": evidence,
            "at_k": presenters.repeats_of_case(evidence),
            "checks": presenters.overall(found).checks,
            "result": found.result().as_dict(),
        }
        return Response(AgentCaseResultSerializer(data).data)


class CompareQuery(Query):
    first = serializers.SlugField(max_length=24)
    second = serializers.SlugField(max_length=24)


class AgentCompare(ApiView):
    @operation("Compare two runs of agent tests", answers=AgentComparisonSerializer, query=CompareQuery)
    def get(self, request: Request) -> Response:
        """Case by case, by name; rates with Fisher's exact test. Where both scored the same answers their iterations
        are pairs, with McNemar's exact test."""
        runs: QuerySet[AgentRun] = selectors.runs_visible_to(request.user)
        first, second = (get_or_404(runs, key=self.query[name]) for name in ("first", "second"))
        rows, total = presenters.compared(first, second)
        data = {"first": first, "second": second, "total": total, "cases": rows}
        return Response(AgentComparisonSerializer(data).data)
