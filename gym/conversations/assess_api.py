"""Failure modes in the REST API: how a run's cases fail, a model that names why, names and mergers by people."""

from __future__ import annotations

from typing import Any

from django.urls import path
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from gym.accounts.models import Scope
from gym.api.base import ApiView, one
from gym.api.operations import operation
from gym.api.requests import Body
from gym.conversations import assessing, selectors, shown
from gym.conversations.models import FailureMode, Naming
from gym.jobs.models import Job
from models_registry.permissions import can_view

FAILURES: dict[str, Any] = {
    "case": "hello",
    "agent": "echo",
    "iterations": {"passed": 1, "made": 3},
    "checks": {"passed": 1, "made": 3},
    "failure_modes": [
        {
            "id": "4f6c2b9d01ae",
            "name": "It says goodbye.",
            "count": 2,
            "share": 1.0,
            "criterion": "response.text.keywords: Hello",
            "faults": {"agent": 2},
            "merged": [],
            "samples": [],
        }
    ],
}
NAMING = {"case": "hello", "agent": "demo-agents", "name": "namer", "state": "done", "failures": 2, "named": 2, "trouble": ""}  # fmt: skip  # noqa: E501
MODE = {"case": "hello", "mode": "4f6c2b9d01ae", "name": "It says goodbye.", "merged_into": ""}
MODE_PATTERN = r"^[0-9a-f]{12}$"


class AgentFailuresSerializer(serializers.Serializer):
    cases = serializers.ListField(
        child=serializers.DictField(), help_text="as in the JSON download of failure modes, with the case"
    )


class AgentNamingSerializer(serializers.ModelSerializer):
    case = serializers.CharField(source="case_run.name")
    agent = serializers.SerializerMethodField(help_text="null when it was deleted, or is not yours to see")
    name = serializers.SerializerMethodField(
        help_text="the agent there; empty: its own default, or not to see"
    )
    trouble = serializers.SerializerMethodField(
        help_text="why it gave no answer, for those who may see the agent"
    )
    state = serializers.ChoiceField(Job.State.values)
    failures = serializers.IntegerField(source="total", help_text="failures that can be named")
    named = serializers.SerializerMethodField(help_text="those that were; the others stay grouped by text")

    class Meta:
        model = Naming
        fields = ["case", "agent", "name", "state", "failures", "named", "trouble"]
        read_only_fields = fields

    def get_agent(self, naming: Naming) -> str | None:
        server = naming.server
        return server.model.slug if server and can_view(self.context["request"].user, server.model) else None

    def get_name(self, naming: Naming) -> str:
        return naming.agent if self.get_agent(naming) is not None else ""

    def get_trouble(self, naming: Naming) -> str:
        return naming.trouble if self.get_agent(naming) is not None else ""

    def get_named(self, naming: Naming) -> int:
        return len(naming.chosen)


class AgentNamingsSerializer(serializers.Serializer):
    namings = AgentNamingSerializer(many=True)


class AgentModeSerializer(serializers.Serializer):
    case = serializers.CharField(source="case_name")
    mode = serializers.CharField()
    name = serializers.CharField(source="shown_name")
    merged_into = serializers.CharField()


class AgentNamingBody(Body):
    case = serializers.CharField(max_length=200)
    agent = serializers.SlugField(max_length=80)
    name = serializers.CharField(max_length=200, required=False, default="", allow_blank=True)


class AgentModeBody(Body):
    case = serializers.CharField(max_length=200)
    mode = serializers.RegexField(MODE_PATTERN)
    name = serializers.CharField(max_length=300, required=False, default="", allow_blank=True)
    merged_into = serializers.RegexField(MODE_PATTERN, required=False, default="", allow_blank=True)


class Failures(ApiView):
    @operation("Read how agent tests fail", answers=AgentFailuresSerializer, example={"cases": [FAILURES]})
    def get(self, request: Request, key: str) -> Response:
        """The failure modes of every case of a run; ids are the same in every run."""
        run = one(selectors.runs_visible_to(request.user), key=key)
        cases = [{"case": row.name, **found.as_dict()} for row, found in shown.assessments_of(run)]
        return Response({"cases": cases})


class Namings(ApiView):
    token_scope = Scope.RUN

    @operation("List who named failures", answers=AgentNamingsSerializer, example={"namings": [NAMING]})
    def get(self, request: Request, key: str) -> Response:
        """What was asked of models about the failures of a run, and how far it is."""
        run = one(selectors.runs_visible_to(request.user), key=key)
        rows = Naming.objects.filter(case_run__run=run).select_related("case_run", "server__model", "job")
        return Response(AgentNamingsSerializer({"namings": rows}, context={"request": request}).data)

    @operation(
        "Let a model name failures",
        takes=AgentNamingBody,
        sends={"case": "hello", "agent": "demo-agents", "name": "namer"},
        answers=AgentNamingSerializer,
        status=201,
        example=NAMING | {"state": "queued", "named": 0},
    )
    def post(self, request: Request, key: str) -> Response:
        """For each wrong answer of a case it chooses one of the reasons there are, or gives a new one. Ask the list
        until the state is done, failed or cancelled."""
        given = self.given()
        run = one(selectors.runs_visible_to(request.user), key=key)
        case_run = one(run.case_runs.select_related("run__suite"), name=given["case"])
        server = one(selectors.servers_visible_to(request.user), model__slug=given["agent"])
        naming = assessing.queue_naming(case_run, server, given["name"], actor=request.user)
        place = reverse("api-agent-namings", args=[key], request=request)
        data = AgentNamingSerializer(naming, context={"request": request}).data
        return Response(data, status=201, headers={"Location": place})


class CaseNaming(ApiView):
    path_examples = {"key": "3f2a9c1d5e7b8a604c21", "id": 31}

    @operation("Forget who named failures", status=204)
    def delete(self, request: Request, key: str, pk: int) -> Response:
        """Back to the groups made without a model, for one case of a run; what is under way stops. The names stay
        known."""
        run = one(selectors.runs_visible_to(request.user), key=key)
        assessing.forget_naming(one(run.case_runs.select_related("run__suite"), pk=pk), actor=request.user)
        return Response(status=204)


class Modes(ApiView):
    @operation(
        "Rename or merge a failure mode", takes=AgentModeBody, sends=MODE, answers=AgentModeSerializer, example=MODE
    )  # fmt: skip
    def put(self, request: Request, slug: str) -> Response:
        """Give it a name, or say which other mode it belongs to. Both empty: as it was grouped or proposed."""
        given = self.given()
        suite = one(selectors.visible_to(request.user), slug=slug)
        name, case, mode = given["name"].strip(), given["case"], given["mode"]
        into = given["merged_into"]
        assessing.change_mode(suite, case, mode, actor=request.user, name=name, merged_into=into)
        place = {"suite": suite, "case_name": case, "mode": mode}
        row = FailureMode.objects.filter(**place).first() or FailureMode(**place)
        return Response(AgentModeSerializer(row).data)


urlpatterns = [
    path("agent-runs/<slug:key>/failures/", Failures.as_view(), name="api-agent-failures"),
    path("agent-runs/<slug:key>/namings/", Namings.as_view(), name="api-agent-namings"),
    path("agent-runs/<slug:key>/cases/<int:pk>/naming/", CaseNaming.as_view(), name="api-agent-case-naming"),
    path("agent-suites/<slug:slug>/failure-modes/", Modes.as_view(), name="api-agent-modes"),
]
