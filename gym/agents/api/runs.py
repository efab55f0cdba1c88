"""Runs of agent tests: start, steer, read, compare; how their cases fail."""

from __future__ import annotations

import django_filters
from django.db.models import QuerySet
from django.http import StreamingHttpResponse
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from gym.accounts.models import Scope
from gym.accounts.requests import SignedInApiRequest
from gym.agents import presenters, selectors, services
from gym.agents.api.serializers import (
    AgentCaseResultSerializer,
    AgentComparisonSerializer,
    AgentFailuresSerializer,
    AgentNamingSerializer,
    AgentNamingsSerializer,
    AgentResultsSerializer,
    AgentRunSerializer,
    AgentRunsSerializer,
)
from gym.agents.comparing import MOST_COMPARED, compare_runs
from gym.agents.models import AgentCase, AgentRun, AgentSuite, Naming
from gym.agents.run_views import run_file
from gym.agents.services import MAX_CASES
from gym.api.base import AddressDecides, ApiView, ListView, ObjectView, get_or_404, referred
from gym.api.errors import FieldError, invalid
from gym.api.filters import Filters
from gym.api.operations import TEXT, operation
from gym.api.requests import Body, Several
from gym.jobs.api import no_results
from lmgym.agents.cases import MAX_ITERATIONS, READINGS

MAX_SERVERS = 50
RULES = "document: the rules of the documentation; reference-compatible: those of neuro-san 0.7.15"


class _RunOptions(Body):
    suite = serializers.SlugField(max_length=80)
    cases = serializers.ListField(
        child=serializers.CharField(max_length=200),
        min_length=1,
        max_length=MAX_CASES,
        required=False,
        help_text="names; default: all",
    )
    reading = serializers.ChoiceField(READINGS, required=False, help_text=f"{RULES}; default: document")
    early_stop = serializers.BooleanField(required=False)
    parallel = serializers.IntegerField(
        required=False, min_value=1, max_value=16, help_text="iterations under way at the same time"
    )
    iterations = serializers.IntegerField(
        required=False,
        min_value=1,
        max_value=MAX_ITERATIONS,
        help_text="of each case, with its required rate as it is; default: as many as the case says",
    )


class AgentRunBody(_RunOptions):
    server = serializers.SlugField(max_length=80, help_text="its slug")


class AgentRunsBody(_RunOptions):
    servers = serializers.ListField(
        child=serializers.SlugField(max_length=80), min_length=1, max_length=MAX_SERVERS
    )


class RunView(ObjectView[AgentRun]):
    lookup_field = "key"

    def rows_at(self, address: str) -> QuerySet[AgentRun]:
        return selectors.runs_visible_to(self.request.user).filter(key=address)

    def ended(self) -> AgentRun:
        """409 while it is under way. What a failed or cancelled run has is read."""
        run = self.get_object()
        _require_ended(run)
        return run


def _require_ended(run: AgentRun) -> None:
    if run.job is not None and run.job.is_active:
        raise no_results("This run", run.job)


class AgentRunFilter(Filters):
    suite = django_filters.CharFilter(field_name="suite__slug", label="Slug of the suite")
    server = django_filters.CharFilter(field_name="server__model__slug", label="Slug of the server")
    owner = django_filters.CharFilter(field_name="owner__username", label="User name of who queued it")

    class Meta:
        model = AgentRun
        fields: list[str] = []


class Runs(RunView, ListView):
    token_scope = Scope.RUN
    filterset_class = AgentRunFilter

    @operation("List runs of agent tests", answers=AgentRunSerializer, many=True)
    def get(self, request: Request) -> Response:
        """Newest first."""
        runs = selectors.runs_visible_to(request.user).prefetch_related("case_runs").order_by("-created")
        return self.page(runs)

    @operation("Run agent tests", takes=AgentRunBody, answers=AgentRunSerializer, status=201)
    def post(self, request: SignedInApiRequest) -> Response:
        """Cases of a suite on one server. Ask the run until its state is done, failed or cancelled."""
        body = self.body()
        suite = referred(selectors.visible_to(request.user), "suite", slug=body.pop("suite"))
        server = referred(
            selectors.servers_visible_to(request.user), "server", model__slug=body.pop("server")
        )
        cases = _cases(suite, body.pop("cases", None))
        run = services.queue_run(suite, server, actor=request.user, cases=cases, **body)
        return self.again(run, "api-agent-run")


class Batch(ApiView):
    token_scope = Scope.RUN

    @operation(
        "Run agent tests on several servers", takes=AgentRunsBody, answers=AgentRunsSerializer, status=201
    )
    def post(self, request: SignedInApiRequest) -> Response:
        """The same cases, a run on each server, in the order given: all of them are queued, or none."""
        body = self.body()
        suite = referred(selectors.visible_to(request.user), "suite", slug=body.pop("suite"))
        visible = selectors.servers_visible_to(request.user)
        named = {slug: place for place, slug in reversed(list(enumerate(body.pop("servers"))))}
        servers = [
            referred(visible, f"servers[{place}]", model__slug=slug)
            for slug, place in sorted(named.items(), key=lambda one: one[1])
        ]
        cases = _cases(suite, body.pop("cases", None))
        made = services.queue_runs(suite, servers, actor=request.user, cases=cases, **body)
        visible_runs = selectors.runs_visible_to(request.user)
        return self.answer({"runs": [get_or_404(visible_runs, pk=run.pk) for run in made]})


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


class Run(RunView):
    @operation("Read a run of agent tests", answers=AgentRunSerializer)
    def get(self, request: Request, key: str) -> Response:
        """State, and what came of each case."""
        return self.read()


class Results(RunView):
    @operation("Read the results of agent tests", answers=AgentResultsSerializer)
    def get(self, request: Request, key: str) -> Response:
        """Every iteration with its checks and transcripts."""
        run = self.ended()
        cases = [{"name": row.name, **row.result().as_dict()} for row in run.case_runs.all()]
        return Response({"cases": cases})


class RunFile(RunView):
    content_negotiation_class = AddressDecides

    @operation(
        "Export the results of agent tests",
        answers={"type": "object", "description": "everything, in JSON"},
        media={"application/xml": TEXT, "text/csv": TEXT},
    )
    def get(self, request: Request, key: str, form: str) -> StreamingHttpResponse:
        """`form` is json, junit for programs that watch builds, or csv with a row per iteration."""
        return run_file(self.ended(), form)


class Cancel(RunView):
    token_scope = Scope.RUN

    @operation("Cancel a run of agent tests", answers=AgentRunSerializer)
    def post(self, request: Request, key: str) -> Response:
        """What ended is kept."""
        return self.act(services.cancel_run)


class Retry(RunView):
    token_scope = Scope.RUN

    @operation("Go on with a run of agent tests", answers=AgentRunSerializer)
    def post(self, request: Request, key: str) -> Response:
        """Where a failed or cancelled run ended."""
        return self.act(services.retry_run)


class AgentRescoreBody(Body):
    reading = serializers.ChoiceField(READINGS, required=False, help_text=f"{RULES}; default: as in the run")
    ask_judge = serializers.BooleanField(
        required=False,
        help_text="ask the judge again, even where it gave a verdict on the same answer before",
    )


class Rescore(RunView):
    token_scope = Scope.RUN

    @operation(
        "Score the answers of a run again", takes=AgentRescoreBody, answers=AgentRunSerializer, status=201
    )
    def post(self, request: SignedInApiRequest, key: str) -> Response:
        """A new run: the stored answers under the cases and the judge as they are now, and under another reading where
        one is named. No agent is asked. Verdicts of the same judge on an answer stay, unless `ask_judge` is set."""
        made = services.queue_rescoring(self.get_object(), actor=request.user, **self.body())
        return self.again(made, "api-agent-run")


class CaseResult(RunView):
    @operation("Read the result of one case", answers=AgentCaseResultSerializer)
    def get(self, request: Request, key: str, pk: int) -> Response:
        """Its iterations with transcripts, each check over all of them, why it failed by turn and answer, pass@k and
        pass^k."""
        rows = self.get_object().case_runs.select_related("run__suite", "run__job", "case")
        found = get_or_404(rows, pk=pk)
        if not found.outcome:
            raise no_results("This case", found.run.job)
        evidence, told = selectors.evidence_of(found), presenters.overall(found)
        data = {
            "case_run": found,
            "evidence": evidence,
            "at_k": presenters.at_k_of_case(evidence),
            "checks": told.checks,
            "failures": told.failures,
            "contradictions": told.contradictions,
            "result": found.result().as_dict(),
        }
        return self.answer(data)


class AgentCompare(ApiView):
    @operation("Compare runs of agent tests", answers=AgentComparisonSerializer, query=Several)
    def get(self, request: Request) -> Response:
        """Each `second` with the first, at most five in all: case by case, by name, and check by check; rates with
        Fisher's exact test. Where both scored the same answers their iterations are pairs, with McNemar's exact test.
        p is corrected by Holm's method over the rows of all comparisons."""
        keys = list(dict.fromkeys([self.query["first"], *self.query["second"]]))
        if not 2 <= len(keys) <= MOST_COMPARED:
            raise invalid(FieldError("?second", f"Name 1 to {MOST_COMPARED - 1} other runs."))
        visible: QuerySet[AgentRun] = selectors.runs_visible_to(request.user)
        runs = [get_or_404(visible, key=key) for key in keys]
        for run in runs:
            _require_ended(run)
        return self.answer(compare_runs(*runs, by_check=True))


# --- failure modes, and models that name them ---


class AgentNamingBody(Body):
    case = serializers.CharField(max_length=200)
    server = serializers.SlugField(max_length=80, help_text="its slug")
    agent = serializers.CharField(
        max_length=200,
        required=False,
        default="",
        allow_blank=True,
        help_text="its name on that server; default: the server's own",
    )


class Failures(RunView):
    @operation("Read how agent tests fail", answers=AgentFailuresSerializer)
    def get(self, request: Request, key: str) -> Response:
        """The failure modes of every case of a run; ids are the same in every run."""
        run = self.ended()
        cases = [{"case": row.name, **found.as_dict()} for row, found in presenters.assessments_of(run)]
        return Response({"cases": cases})


class Namings(RunView):
    token_scope = Scope.RUN

    @operation("List who named failures", answers=AgentNamingsSerializer)
    def get(self, request: Request, key: str) -> Response:
        """What was asked of models about the failures of a run, and how far it is."""
        run = self.get_object()
        rows = Naming.objects.filter(case_run__run=run).select_related("case_run", "server__model", "job")
        return self.answer({"namings": rows})

    @operation("Let a model name failures", takes=AgentNamingBody, answers=AgentNamingSerializer, status=201)
    def post(self, request: SignedInApiRequest, key: str) -> Response:
        """For each wrong answer of a case it chooses one of the reasons there are, or gives a new one. Ask the list
        until the state is done, failed or cancelled."""
        body = self.body()
        run = self.get_object()
        case_run = referred(run.case_runs.select_related("run__suite"), "case", name=body["case"])
        server = referred(selectors.servers_visible_to(request.user), "server", model__slug=body["server"])
        naming = services.queue_naming(case_run, server, body["agent"], actor=request.user)
        return self.answer(naming, "api-agent-namings", key)


class CaseNaming(RunView):
    @operation("Forget who named failures", status=204)
    def delete(self, request: SignedInApiRequest, key: str, pk: int) -> Response:
        """Back to the groups made without a model, for one case of a run; what is under way stops. The names stay
        known."""
        run = self.get_object()
        services.forget_naming(
            get_or_404(run.case_runs.select_related("run__suite"), pk=pk), actor=request.user
        )
        return Response(status=204)
