"""Runs of agent tests: start, cancel, rescore, read, compare."""

from __future__ import annotations

import django_filters
from django.db.models import QuerySet
from django.http import StreamingHttpResponse
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from gym.accounts.models import Scope
from gym.accounts.requests import SignedInApiRequest
from gym.agents import selectors, services
from gym.agents.api.serializers import (
    AgentComparisonSerializer,
    AgentResultsSerializer,
    AgentRunSerializer,
)
from gym.agents.comparing import MOST_COMPARED, compare_runs
from gym.agents.models import AgentCase, AgentRun, AgentSuite
from gym.agents.run_views import run_file
from gym.agents.services import MAX_CASES
from gym.api.base import ApiView, FormatFromUrl, ListView, ObjectView, get_or_404, referenced
from gym.api.errors import FieldError, invalid
from gym.api.filters import Filters, NameFilter
from gym.api.operations import FILE, JSON, operation
from gym.api.requests import Body, Several
from gym.jobs.api import results_unavailable
from lmgym.agents.cases import MAX_ITERATIONS, READINGS

RULES = (
    "document: the rules of neuro-san's documentation; reference-compatible: the rules of neuro-san 0.7.15"
)


class _RunOptions(Body):
    suite = serializers.SlugField(max_length=80)
    cases = serializers.ListField(
        child=serializers.CharField(max_length=200),
        min_length=1,
        max_length=MAX_CASES,
        required=False,
        help_text="names of the cases to run; default: all",
    )
    reading = serializers.ChoiceField(READINGS, required=False, help_text=f"{RULES}; default: document")
    early_stop = serializers.BooleanField(required=False)
    parallel = serializers.IntegerField(
        required=False,
        min_value=1,
        max_value=16,
        help_text="iterations that run at the same time; default: 4",
    )
    iterations = serializers.IntegerField(
        required=False,
        min_value=1,
        max_value=MAX_ITERATIONS,
        help_text="iterations of each case; default: as specified in the case. Required rates do not change",
    )


class AgentRunBody(_RunOptions):
    server = serializers.SlugField(max_length=80, help_text="slug of the server")


class RunView(ObjectView[AgentRun]):
    lookup_field = "key"

    def visible_rows(self, address: str) -> QuerySet[AgentRun]:
        return selectors.runs_visible_to(self.request.user).filter(key=address)

    def ended(self) -> AgentRun:
        """Return the run; raise 409 while it is active. Failed and cancelled runs keep partial results."""
        run = self.get_object()
        _require_ended(run)
        return run


def _require_ended(run: AgentRun) -> None:
    if run.job is not None and run.job.is_active:
        raise results_unavailable("This run", run.job)


class AgentRunFilter(Filters):
    suite = NameFilter("suite__slug", selectors.visible_to, label="Slug of the suite")
    server = NameFilter(
        "server__model__slug", selectors.servers_visible_to, name="model__slug", label="Slug of the server"
    )
    owner = django_filters.CharFilter(field_name="owner__username", label="User name of the owner")

    class Meta:
        model = AgentRun
        fields: list[str] = []


class Runs(RunView, ListView):
    token_scope = Scope.RUN
    filterset_class = AgentRunFilter

    @operation("List runs of agent tests", response=AgentRunSerializer, many=True)
    def get(self, request: Request) -> Response:
        """List runs of suites visible to you, newest first."""
        runs = selectors.runs_visible_to(request.user).prefetch_related("case_runs").order_by("-created")
        return self.page(runs)

    @operation("Run agent tests", body=AgentRunBody, response=AgentRunSerializer, status=201)
    def post(self, request: SignedInApiRequest) -> Response:
        """Queue cases of a suite on a server. Poll the run until its state is done, failed or cancelled."""
        body = self.body()
        suite = referenced(selectors.visible_to(request.user), "suite", slug=body.pop("suite"))
        server = referenced(
            selectors.servers_visible_to(request.user), "server", model__slug=body.pop("server")
        )
        cases = _cases(suite, body.pop("cases", None))
        run = services.queue_run(suite, server, actor=request.user, cases=cases, **body)
        return self.refreshed(run, "api-agent-run")


def _cases(suite: AgentSuite, names: list[str] | None) -> list[AgentCase] | None:
    if names is None:
        return None
    cases_by_name = {case.name: case for case in suite.cases.filter(name__in=names)}
    missing = [place for place, name in enumerate(names) if name not in cases_by_name]
    if missing:
        raise invalid(
            *(
                FieldError(f"$.cases[{place}]", f"The suite has no case “{names[place]}”.")
                for place in missing
            )
        )
    return list(cases_by_name.values())


class Run(RunView):
    @operation("Read a run of agent tests", response=AgentRunSerializer)
    def get(self, request: Request, key: str) -> Response:
        """Return the run's state and the outcome of each case."""
        return self.read()


class Results(RunView):
    @operation("Read the results of agent tests", response=AgentResultsSerializer)
    def get(self, request: Request, key: str) -> Response:
        """Return all iterations with checks and transcripts."""
        run = self.ended()
        cases = [{"name": row.name, **row.result().as_dict()} for row in run.case_runs.all()]
        return Response({"cases": cases})


class RunFile(RunView):
    content_negotiation_class = FormatFromUrl

    @operation(
        "Export the results of agent tests",
        media={"text/csv": FILE, "application/xml": FILE, JSON: {"type": "object"}},
    )
    def get(self, request: Request, key: str, form: str) -> StreamingHttpResponse:
        """Export the results. `form` is json, junit (for CI systems) or csv (a row for each iteration)."""
        return run_file(self.ended(), form)


class Cancel(RunView):
    token_scope = Scope.RUN

    @operation("Cancel a run of agent tests", response=AgentRunSerializer)
    def post(self, request: Request, key: str) -> Response:
        """Cancel the run; finished iterations are kept."""
        return self.act(services.cancel_run)


class AgentRescoreBody(Body):
    reading = serializers.ChoiceField(READINGS, required=False, help_text=f"{RULES}; default: as in the run")
    ask_judge = serializers.BooleanField(
        required=False,
        help_text="ask the judge again, even if it has already judged the same answer",
    )


class Rescore(RunView):
    token_scope = Scope.RUN

    @operation("Rescore a run", body=AgentRescoreBody, response=AgentRunSerializer, status=201)
    def post(self, request: SignedInApiRequest, key: str) -> Response:
        """Create a run that scores the stored answers by the current cases and judge, with the optional `reading`. No
        agent is contacted. The judge's earlier verdicts on an answer are reused unless `ask_judge` is set."""
        made = services.queue_rescoring(self.get_object(), actor=request.user, **self.body())
        return self.refreshed(made, "api-agent-run")


class AgentCompare(ApiView):
    @operation("Compare runs of agent tests", response=AgentComparisonSerializer, query=Several)
    def get(self, request: Request) -> Response:
        """Compare each `second` with `first`, by case and by check; at most five runs in total. Rates are compared by
        Fisher's exact test, or by McNemar's exact test if both runs scored the same answers. p is Holm-corrected over
        the rows of all comparisons."""
        keys = list(dict.fromkeys([self.query["first"], *self.query["second"]]))
        if not 2 <= len(keys) <= MOST_COMPARED:
            raise invalid(FieldError("?second", f"Name 1 to {MOST_COMPARED - 1} runs other than `first`."))
        visible: QuerySet[AgentRun] = selectors.runs_visible_to(request.user)
        runs = [get_or_404(visible, key=key) for key in keys]
        for run in runs:
            _require_ended(run)
        return self.respond(compare_runs(*runs, by_check=True))
