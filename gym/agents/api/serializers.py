"""Response bodies about agent servers, suites of agent tests and their runs."""

from __future__ import annotations

from dataclasses import fields
from types import NoneType
from typing import Any, get_args, get_type_hints

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from gym.agents import permissions
from gym.agents.models import AgentCase, AgentRun, AgentServer, AgentSuite, CaseRun
from gym.agents.presenters import at_k_of_run
from gym.api.records import RecordSerializer
from gym.jobs.models import Job
from lmgym.agents.cases import Problem
from lmgym.agents.pass_rates import AtK
from lmgym.agents.run_comparison import ComparedCase, ComparedCheck, RateComparison
from lmgym.text.columns import REAL, TEXT, WHOLE, YES_NO, columns
from models_registry.models import RegisteredModel
from models_registry.permissions import can_manage
from models_registry.selectors import visible_to as visible_models

VERSION = "version that the server reported during the run; if it changed, all versions, joined by arrows"


class AgentServerSerializer(serializers.ModelSerializer[AgentServer]):
    id = serializers.CharField(source="model.slug", help_text="equal to slug")
    slug = serializers.CharField(source="model.slug")
    name = serializers.CharField(source="model.name")
    state = serializers.ChoiceField(RegisteredModel.Status.choices, source="model.status")
    agents = serializers.SerializerMethodField()

    class Meta:
        model = AgentServer
        fields = ["id", "slug", "name", "kind", "state", "version", "agents"]
        read_only_fields = fields

    def get_agents(self, server: AgentServer) -> list[str]:
        return [agent["agent_name"] for agent in server.agents]


class AgentServerDetailSerializer(AgentServerSerializer):
    owner = serializers.CharField(source="model.owner.username")
    visibility = serializers.CharField(source="model.visibility")
    description = serializers.CharField(source="model.description")
    state_reason = serializers.CharField(source="model.status_reason")
    listed = serializers.ListField(
        child=serializers.DictField(), source="agents", help_text="the server's list of agents"
    )
    graphs = serializers.DictField(help_text="call graph of each agent, as reported by the server")
    url = serializers.SerializerMethodField(help_text="null unless you may change the server")
    secret_headers = serializers.SerializerMethodField(
        help_text="names of the secret headers; null unless you may change the server. Values are never returned."
    )

    class Meta(AgentServerSerializer.Meta):
        fields = [
            *AgentServerSerializer.Meta.fields, "owner", "visibility", "description", "state_reason",
            "checked_at", "listed", "graphs", "url", "chat_model", "secret_headers",
        ]  # fmt: skip
        read_only_fields = fields

    def _mine(self, server: AgentServer) -> bool:
        return can_manage(self.context["request"].user, server.model)

    def get_url(self, server: AgentServer) -> str | None:
        return server.url if self._mine(server) else None

    def get_secret_headers(self, server: AgentServer) -> list[str] | None:
        return server.secret_names if self._mine(server) else None


class AgentSuiteSerializer(serializers.ModelSerializer[AgentSuite]):
    id = serializers.CharField(source="slug", help_text="equal to slug")
    owner = serializers.CharField(source="owner.username")

    class Meta:
        model = AgentSuite
        fields = ["id", "slug", "title", "visibility", "description", "owner"]
        read_only_fields = fields


class AgentSuiteDetailSerializer(AgentSuiteSerializer):
    judge = serializers.SerializerMethodField(
        help_text="slug of the judge; null if there is none or you may not see it"
    )
    variables = serializers.SerializerMethodField(
        help_text="names of the variables; null unless you are the owner or staff. Values are never returned."
    )
    n_cases = serializers.IntegerField()
    n_runs = serializers.IntegerField()

    class Meta(AgentSuiteSerializer.Meta):
        fields = [
            *AgentSuiteSerializer.Meta.fields, "judge", "judge_agent", "judge_votes", "variables",
            "n_cases", "n_runs", "created", "updated",
        ]  # fmt: skip
        read_only_fields = fields

    def get_judge(self, suite: AgentSuite) -> str | None:
        user = self.context["request"].user
        seen = suite.judge is not None and visible_models(user).filter(pk=suite.judge.pk).exists()
        return suite.judge.slug if seen and suite.judge is not None else None

    def get_variables(self, suite: AgentSuite) -> list[str] | None:
        may_see = permissions.can_manage(self.context["request"].user, suite)
        return suite.variable_names if may_see else None


class AgentCaseSerializer(serializers.ModelSerializer[AgentCase]):
    class Meta:
        model = AgentCase
        fields = ["id", "name", "agent"]
        read_only_fields = fields


class AgentCasesSerializer(serializers.Serializer[Any]):
    cases = AgentCaseSerializer(many=True)


class AgentFindingSerializer(RecordSerializer):
    class Meta:
        dataclass = Problem
        ref_name = "AgentFinding"
        extra_kwargs = {
            "where": {"help_text": "a path such as interactions[0].response.text"},
            "line": {"help_text": "line of the text, from 1; 0: unknown"},
        }


class AgentCaseHistorySerializer(serializers.ModelSerializer[CaseRun]):
    run = serializers.CharField(source="run.key")
    server = serializers.CharField(source="run.server.model.slug", help_text="slug of the server")
    created = serializers.DateTimeField(source="run.created")
    version = serializers.CharField(source="run.server_version", help_text=VERSION)

    class Meta:
        model = CaseRun
        fields = ["run", "server", "created", "version", "outcome", "passed", "n", "errors"]
        read_only_fields = fields


class AgentCaseDetailSerializer(AgentCaseSerializer):
    findings = AgentFindingSerializer(many=True)
    flaky = serializers.BooleanField(
        help_text="whether the unchanged case both passed and failed on the same version of a server"
    )
    history = AgentCaseHistorySerializer(
        many=True, help_text="runs in which the case has ended, newest first, at most 50"
    )

    class Meta(AgentCaseSerializer.Meta):
        fields = [*AgentCaseSerializer.Meta.fields, "text", "findings", "flaky", "history"]
        read_only_fields = fields


class AgentCaseRunSerializer(serializers.ModelSerializer[CaseRun]):
    class Meta:
        model = CaseRun
        fields = [
            "id", "name", "agent", "outcome", "passed", "n", "errors", "needed", "planned",
            "checks_made", "error",
        ]  # fmt: skip
        read_only_fields = fields


class AgentAtKSerializer(RecordSerializer):
    class Meta:
        dataclass = AtK


class AgentRunSerializer(serializers.ModelSerializer[AgentRun]):
    id = serializers.CharField(source="key")
    suite = serializers.CharField(source="suite.slug")
    server = serializers.CharField(source="server.model.slug", help_text="slug of the server")
    versions = serializers.ListField(
        child=serializers.CharField(),
        help_text="versions that the server reported during the run; several if the version changed",
    )
    state = serializers.ChoiceField(Job.State.choices)
    job = serializers.UUIDField(source="job_id", allow_null=True)
    options = serializers.DictField()
    reading = serializers.CharField()
    early_stop = serializers.BooleanField()
    parallel = serializers.IntegerField()
    iterations = serializers.IntegerField(
        allow_null=True, help_text="iterations of each case; null: as specified in the case"
    )
    rescored_from = serializers.CharField(source="rescored_from.key", allow_null=True, default=None)
    ask_judge = serializers.BooleanField(
        help_text="for rescored answers: the judge was asked again, ignoring earlier verdicts"
    )
    cases = AgentCaseRunSerializer(source="case_runs", many=True)
    at_k = serializers.SerializerMethodField(
        help_text="pass@k and pass^k, averaged over the finished cases that do not stop early"
    )
    regression = serializers.DictField(
        allow_null=True,
        help_text="regression test of a scheduled run against earlier runs: before, now (rates), p (one-sided, exact, "
        "corrected), cases; `regressed`: cases with a significant drop (name, before and now as passed and n, p); "
        "`lost`: names of cases that no longer have a verdict; null if the run is not scheduled or has not ended",
    )

    class Meta:
        model = AgentRun
        fields = [
            "id", "suite", "server", "versions", "state", "job", "options", "reading", "early_stop", "parallel",
            "iterations", "rescored_from", "ask_judge", "created", "completed_at", "cases", "at_k", "regression",
        ]  # fmt: skip
        read_only_fields = fields

    @extend_schema_field(AgentAtKSerializer(many=True))
    def get_at_k(self, run: AgentRun) -> Any:
        return AgentAtKSerializer(at_k_of_run(run), many=True).data


class AgentResultsSerializer(serializers.Serializer[Any]):
    cases = serializers.ListField(child=serializers.DictField(), help_text="as in the JSON file of a run")


def _from_columns(name: str, **kinds: type) -> type[serializers.Serializer[Any]]:
    """Build a serializer whose fields are the columns of dataclasses.

    Args:
        name: name of the class, and therefore of the component in the API description.
        kinds: dataclasses by the object's attribute that holds them.
    """
    declared: dict[str, Any] = {}
    for attribute, kind in kinds.items():
        types, hints = dict(columns(kind)), get_type_hints(kind)
        for column in fields(kind):
            meaning = (column.metadata["meaning"], column.metadata["unit"])
            options: dict[str, Any] = {
                "allow_null": NoneType in get_args(hints[column.name]),
                "help_text": "; ".join(filter(None, meaning)),
                "source": f"{attribute}.{column.name}",
            }
            declared[column.name] = _FIELDS[types[column.name]](**options)
    return type(name, (serializers.Serializer,), declared)


_FIELDS: dict[str, type[serializers.Field[Any, Any, Any, Any]]] = {
    TEXT: serializers.CharField,
    WHOLE: serializers.IntegerField,
    REAL: serializers.FloatField,
    YES_NO: serializers.BooleanField,
}
AgentComparedCaseSerializer = _from_columns(
    "AgentComparedCaseSerializer", facts=ComparedCase, comparison=RateComparison
)
AgentComparedCheckSerializer = _from_columns(
    "AgentComparedCheckSerializer", facts=ComparedCheck, comparison=RateComparison
)


class AgentTotalSerializer(RecordSerializer):
    class Meta:
        dataclass = RateComparison
        ref_name = "AgentTotal"


class AgentComparedRunSerializer(serializers.Serializer[Any]):
    id = serializers.CharField(source="run.key")
    versions = serializers.ListField(
        source="run.versions", child=serializers.CharField(), help_text="versions of the server in that run"
    )
    total = AgentTotalSerializer(help_text="iterations of cases with a verdict in both runs")
    cases = AgentComparedCaseSerializer(many=True)
    checks = AgentComparedCheckSerializer(
        many=True, help_text="checks with a verdict in both runs, largest differences first; at most 2,000"
    )


class AgentBaselineSerializer(serializers.Serializer[Any]):
    id = serializers.CharField(source="key")
    versions = serializers.ListField(
        child=serializers.CharField(), help_text="versions of the server in that run"
    )


class AgentComparisonSerializer(serializers.Serializer[Any]):
    first = AgentBaselineSerializer()
    comparisons = AgentComparedRunSerializer(
        many=True, source="pairs", help_text="each other run (second) compared with the first"
    )
