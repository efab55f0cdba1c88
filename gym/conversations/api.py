"""Agent tests in the REST API: agents, suites of cases, runs and their results."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import PermissionDenied
from django.urls import path
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from gym.accounts.models import Scope
from gym.api.base import ApiView, ListView, one
from gym.api.operations import operation
from gym.api.requests import Body
from gym.conversations import permissions, selectors, services, shown
from gym.conversations.cases import READINGS
from gym.conversations.models import AgentRun, AgentServer, AgentSuite, CaseRun
from gym.jobs.models import Job
from models_registry.models import RegisteredModel

AGENT = {"id": "demo-agents", "name": "Embedded agents", "kind": "embedded", "state": "ready", "version": "1.0", "agents": ["echo"]}  # fmt: skip  # noqa: E501
SUITE = {"id": "manners", "title": "Manners", "visibility": "public", "description": "", "owner": "alice"}
CASE = {"name": "hello", "agent": "echo", "text": "agent: echo …"}
CASE_RUN = {"name": "hello", "agent": "echo", "outcome": "pass", "passed": 3, "made": 3, "needed": 3, "asked": 3, "checks_made": 3}  # fmt: skip  # noqa: E501
RUN: dict[str, Any] = {
    "id": "3f2a9c1d5e7b8a604c21",
    "suite": "manners",
    "agent": "demo-agents",
    "state": "done",
    "options": {"reading": "document", "early_stop": False, "parallel": 4},
    "created": "2026-03-01T09:00:00Z",
    "completed_at": "2026-03-01T09:00:04Z",
    "cases": [CASE_RUN],
}


class AgentSerializer(serializers.ModelSerializer):
    id = serializers.CharField(source="model.slug")
    name = serializers.CharField(source="model.name")
    state = serializers.ChoiceField(RegisteredModel.Status.values, source="model.status")
    agents = serializers.SerializerMethodField()

    class Meta:
        model = AgentServer
        fields = ["id", "name", "kind", "state", "version", "agents"]
        read_only_fields = fields

    def get_agents(self, server: AgentServer) -> list[str]:
        return [agent["agent_name"] for agent in server.agents]


class AgentSuiteSerializer(serializers.ModelSerializer):
    id = serializers.CharField(source="slug")
    owner = serializers.CharField(source="owner.username")

    class Meta:
        model = AgentSuite
        fields = ["id", "title", "visibility", "description", "owner"]
        read_only_fields = fields


class AgentCaseSerializer(serializers.Serializer):
    name = serializers.CharField()
    agent = serializers.CharField()
    text = serializers.CharField()


class AgentCasesSerializer(serializers.Serializer):
    cases = AgentCaseSerializer(many=True)


class AgentResultsSerializer(serializers.Serializer):
    cases = serializers.ListField(child=serializers.DictField(), help_text="as in the JSON download of a run")


class AgentCaseRunSerializer(serializers.ModelSerializer):
    class Meta:
        model = CaseRun
        fields = ["name", "agent", "outcome", "passed", "made", "needed", "asked", "checks_made"]
        read_only_fields = fields


class AgentRunSerializer(serializers.ModelSerializer):
    id = serializers.CharField(source="key")
    suite = serializers.CharField(source="suite.slug")
    agent = serializers.CharField(source="server.model.slug")
    state = serializers.ChoiceField(Job.State.values)
    options = serializers.DictField()
    cases = AgentCaseRunSerializer(source="case_runs", many=True)

    class Meta:
        model = AgentRun
        fields = ["id", "suite", "agent", "state", "options", "created", "completed_at", "cases"]
        read_only_fields = fields


class AgentRunBody(Body):
    suite = serializers.SlugField(max_length=80)
    agent = serializers.SlugField(max_length=80)
    reading = serializers.ChoiceField(READINGS, required=False)
    early_stop = serializers.BooleanField(required=False)
    parallel = serializers.IntegerField(required=False, min_value=1, max_value=16)


class AgentCasesBody(Body):
    cases = serializers.DictField(
        child=serializers.CharField(trim_whitespace=False),
        help_text="name -> text; those of a name are replaced",
    )


class Agents(ListView):
    @operation("List agents", answers=AgentSerializer, many=True, example=AGENT)
    def get(self, request: Request) -> Response:
        """Agent servers, chat endpoints and models that one can talk to."""
        return self.page(selectors.servers_visible_to(request.user).order_by("pk"), AgentSerializer)


class Suites(ListView):
    @operation("List suites of agent tests", answers=AgentSuiteSerializer, many=True, example=SUITE)
    def get(self, request: Request) -> Response:
        """Those you may see."""
        return self.page(selectors.visible_to(request.user).order_by("slug"), AgentSuiteSerializer)


class Cases(ListView):
    @operation("List test cases", answers=AgentCaseSerializer, many=True, example=CASE)
    def get(self, request: Request, slug: str) -> Response:
        """With their texts, as they were given."""
        return self.page(
            one(selectors.visible_to(request.user), slug=slug).cases.order_by("name"), AgentCaseSerializer
        )

    @operation(
        "Import test cases",
        takes=AgentCasesBody,
        sends={"cases": {"hello": "agent: echo …"}},
        answers=AgentCasesSerializer,
        status=201,
        example={"cases": [CASE]},
    )
    def post(self, request: Request, slug: str) -> Response:
        """All of them, or none, with every problem named."""
        suite = one(selectors.visible_to(request.user), slug=slug)
        if not permissions.can_edit(request.user, suite):
            raise PermissionDenied("you may not edit these tests")
        cases = services.import_cases(suite, self.given()["cases"], actor=request.user)
        place = reverse("api-agent-cases", args=[slug], request=request)
        return Response(AgentCasesSerializer({"cases": cases}).data, status=201, headers={"Location": place})


class Runs(ListView):
    token_scope = Scope.RUN

    @operation("List runs of agent tests", answers=AgentRunSerializer, many=True, example=RUN)
    def get(self, request: Request) -> Response:
        """Newest first."""
        runs = selectors.runs_visible_to(request.user).prefetch_related("case_runs").order_by("-created")
        return self.page(runs, AgentRunSerializer)

    @operation(
        "Run agent tests",
        takes=AgentRunBody,
        sends={"suite": "manners", "agent": "demo-agents"},
        answers=AgentRunSerializer,
        status=201,
        example=RUN | {"state": "queued", "completed_at": None},
    )
    def post(self, request: Request) -> Response:
        """Every case of a suite against one agent. Ask the run until its state is done, failed or cancelled."""
        given = self.given()
        suite = one(selectors.visible_to(request.user), slug=given.pop("suite"))
        server = one(selectors.servers_visible_to(request.user), model__slug=given.pop("agent"))
        run = services.queue_run(suite, server, actor=request.user, **given)
        place = reverse("api-agent-run", args=[run.key], request=request)
        return Response(AgentRunSerializer(run).data, status=201, headers={"Location": place})


class Run(ApiView):
    @operation("Read a run of agent tests", answers=AgentRunSerializer, example=RUN)
    def get(self, request: Request, key: str) -> Response:
        """State, and what came of each case."""
        return Response(AgentRunSerializer(one(selectors.runs_visible_to(request.user), key=key)).data)


class Results(ApiView):
    @operation(
        "Read the results of agent tests",
        answers=AgentResultsSerializer,
        example={"cases": [{"name": "hello", "outcome": "pass", "iterations": []}]},
    )
    def get(self, request: Request, key: str) -> Response:
        """Every iteration with its checks and transcripts."""
        run = one(selectors.runs_visible_to(request.user), key=key)
        cases = [{"name": row.name, **shown.result_of(row).as_dict()} for row in run.case_runs.all()]
        return Response({"cases": cases})


class Cancel(ApiView):
    token_scope = Scope.RUN

    @operation(
        "Cancel a run of agent tests", answers=AgentRunSerializer, example=RUN | {"state": "cancelled"}
    )
    def post(self, request: Request, key: str) -> Response:
        """What ended is kept."""
        services.cancel_run(one(selectors.runs_visible_to(request.user), key=key), actor=request.user)
        return Response(AgentRunSerializer(one(selectors.runs_visible_to(request.user), key=key)).data)


urlpatterns = [
    path("agents/", Agents.as_view(), name="api-agents"),
    path("agent-suites/", Suites.as_view(), name="api-agent-suites"),
    path("agent-suites/<slug:slug>/cases/", Cases.as_view(), name="api-agent-cases"),
    path("agent-runs/", Runs.as_view(), name="api-agent-runs"),
    path("agent-runs/<slug:key>/", Run.as_view(), name="api-agent-run"),
    path("agent-runs/<slug:key>/results/", Results.as_view(), name="api-agent-results"),
    path("agent-runs/<slug:key>/cancel/", Cancel.as_view(), name="api-agent-cancel"),
]
