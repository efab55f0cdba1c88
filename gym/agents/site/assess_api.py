"""Failure modes in the REST API: how a run's cases fail, a model that names why, names and mergers by people."""

from __future__ import annotations

from django.urls import path
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from gym.accounts.models import Scope
from gym.agents.models import FailureMode, Naming
from gym.agents.site import presenters, selectors, services
from gym.api.base import ApiView, get_or_404
from gym.api.operations import operation
from gym.api.requests import Body
from gym.jobs.models import Job
from models_registry.permissions import can_view

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
    @operation("Read how agent tests fail", answers=AgentFailuresSerializer)
    def get(self, request: Request, key: str) -> Response:
        """The failure modes of every case of a run; ids are the same in every run."""
        run = get_or_404(selectors.runs_visible_to(request.user), key=key)
        cases = [{"case": row.name, **found.as_dict()} for row, found in presenters.assessments_of(run)]
        return Response({"cases": cases})


class Namings(ApiView):
    token_scope = Scope.RUN

    @operation("List who named failures", answers=AgentNamingsSerializer)
    def get(self, request: Request, key: str) -> Response:
        """What was asked of models about the failures of a run, and how far it is."""
        run = get_or_404(selectors.runs_visible_to(request.user), key=key)
        rows = Naming.objects.filter(case_run__run=run).select_related("case_run", "server__model", "job")
        return Response(AgentNamingsSerializer({"namings": rows}, context={"request": request}).data)

    @operation("Let a model name failures", takes=AgentNamingBody, answers=AgentNamingSerializer, status=201)
    def post(self, request: Request, key: str) -> Response:
        """For each wrong answer of a case it chooses one of the reasons there are, or gives a new one. Ask the list
        until the state is done, failed or cancelled."""
        body = self.body()
        run = get_or_404(selectors.runs_visible_to(request.user), key=key)
        case_run = get_or_404(run.case_runs.select_related("run__suite"), name=body["case"])
        server = get_or_404(selectors.servers_visible_to(request.user), model__slug=body["agent"])
        naming = services.queue_naming(case_run, server, body["name"], actor=request.user)
        place = reverse("api-agent-namings", args=[key], request=request)
        data = AgentNamingSerializer(naming, context={"request": request}).data
        return Response(data, status=201, headers={"Location": place})


class CaseNaming(ApiView):
    @operation("Forget who named failures", status=204)
    def delete(self, request: Request, key: str, pk: int) -> Response:
        """Back to the groups made without a model, for one case of a run; what is under way stops. The names stay
        known."""
        run = get_or_404(selectors.runs_visible_to(request.user), key=key)
        services.forget_naming(
            get_or_404(run.case_runs.select_related("run__suite"), pk=pk), actor=request.user
        )
        return Response(status=204)


class Modes(ApiView):
    @operation(
        "Rename or merge a failure mode", takes=AgentModeBody,  answers=AgentModeSerializer
    )  # fmt: skip
    def put(self, request: Request, slug: str) -> Response:
        """Give it a name, or say which other mode it belongs to. Both empty: as it was grouped or proposed."""
        body = self.body()
        suite = get_or_404(selectors.visible_to(request.user), slug=slug)
        name, case, mode = body["name"].strip(), body["case"], body["mode"]
        into = body["merged_into"]
        services.change_mode(suite, case, mode, actor=request.user, name=name, merged_into=into)
        place = {"suite": suite, "case_name": case, "mode": mode}
        row = FailureMode.objects.filter(**place).first() or FailureMode(**place)
        return Response(AgentModeSerializer(row).data)


urlpatterns = [
    path("agent-runs/<slug:key>/failures/", Failures.as_view(), name="api-agent-failures"),
    path("agent-runs/<slug:key>/namings/", Namings.as_view(), name="api-agent-namings"),
    path("agent-runs/<slug:key>/cases/<int:pk>/naming/", CaseNaming.as_view(), name="api-agent-case-naming"),
    path("agent-suites/<slug:slug>/failure-modes/", Modes.as_view(), name="api-agent-modes"),
]
