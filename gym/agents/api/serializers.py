"""Response bodies about agent servers, suites of agent tests and their runs."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from gym.agents import permissions
from gym.agents.models import AgentCase, AgentRun, AgentServer, AgentSuite, CaseRun
from gym.agents.presenters import repeats_of
from gym.api.records import RecordSerializer
from gym.jobs.models import Job
from lmgym.agents.cases import Problem
from models_registry.models import RegisteredModel
from models_registry.permissions import can_manage
from models_registry.selectors import visible_to as visible_models

VERSION = "as reported by the agent during the run; several joined by arrows if it changed"


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
    url = serializers.SerializerMethodField(help_text="only for those who may change the server; else null")
    wraps = serializers.SerializerMethodField(help_text="the model behind it, if you may see it")
    secret_headers = serializers.SerializerMethodField(
        help_text="names, only for those who may change the server; else null. Values are never returned."
    )

    class Meta(AgentServerSerializer.Meta):
        fields = [
            *AgentServerSerializer.Meta.fields, "owner", "visibility", "description", "state_reason",
            "checked_at", "listed", "graphs", "url", "chat_model", "wraps", "secret_headers",
        ]  # fmt: skip
        read_only_fields = fields

    def _mine(self, server: AgentServer) -> bool:
        return can_manage(self.context["request"].user, server.model)

    def get_url(self, server: AgentServer) -> str | None:
        return server.url if self._mine(server) else None

    def get_wraps(self, server: AgentServer) -> str | None:
        seen = visible_models(self.context["request"].user).filter(pk=server.wraps_id or 0).first()
        return seen.slug if seen is not None else None

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
    judge = serializers.SerializerMethodField(help_text="the judge, if you may see it")
    variables = serializers.SerializerMethodField(
        help_text="names, only for owner and staff; else null. Values are never returned."
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
            "line": {"help_text": "from 1; 0: not known"},
        }


class AgentCaseHistorySerializer(serializers.ModelSerializer[CaseRun]):
    run = serializers.CharField(source="run.key")
    server = serializers.CharField(source="run.server.model.slug", help_text="its slug")
    created = serializers.DateTimeField(source="run.created")
    version = serializers.CharField(source="run.server_version", help_text=VERSION)

    class Meta:
        model = CaseRun
        fields = ["run", "server", "created", "version", "outcome", "passed", "made", "errors"]
        read_only_fields = fields


class AgentCaseDetailSerializer(AgentCaseSerializer):
    findings = AgentFindingSerializer(many=True)
    flaky = serializers.BooleanField(help_text="has the same case both passed and failed?")
    history = AgentCaseHistorySerializer(many=True, help_text="finished runs, newest first, at most 50")

    class Meta(AgentCaseSerializer.Meta):
        fields = [*AgentCaseSerializer.Meta.fields, "text", "findings", "flaky", "history"]
        read_only_fields = fields


class AgentCaseRunSerializer(serializers.ModelSerializer[CaseRun]):
    class Meta:
        model = CaseRun
        fields = [
            "id", "name", "agent", "outcome", "passed", "made", "errors", "needed", "asked",
            "checks_made", "error",
        ]  # fmt: skip
        read_only_fields = fields


class AgentAtKSerializer(serializers.Serializer[Any]):
    k = serializers.IntegerField()
    any = serializers.FloatField(help_text="pass@k: the chance that at least one of k iterations passes")
    any_low = serializers.FloatField(source="any_interval.low", help_text="95% interval")
    any_high = serializers.FloatField(source="any_interval.high")
    all = serializers.FloatField(help_text="pass^k: the chance that all of k iterations pass")
    all_low = serializers.FloatField(source="all_interval.low", help_text="95% interval")
    all_high = serializers.FloatField(source="all_interval.high")
    cases = serializers.IntegerField(source="n", help_text="cases in the mean; the same for every k")
    of = serializers.IntegerField(
        help_text="finished cases, including those with too few iterations with a verdict"
    )


class AgentRunSerializer(serializers.ModelSerializer[AgentRun]):
    id = serializers.CharField(source="key")
    suite = serializers.CharField(source="suite.slug")
    server = serializers.CharField(source="server.model.slug", help_text="its slug")
    versions = serializers.ListField(
        child=serializers.CharField(),
        help_text="as reported by the agent during the run; several if it changed",
    )
    state = serializers.ChoiceField(Job.State.choices)
    job = serializers.UUIDField(source="job_id", allow_null=True)
    options = serializers.DictField()
    reading = serializers.CharField()
    early_stop = serializers.BooleanField()
    parallel = serializers.IntegerField()
    iterations = serializers.IntegerField(
        allow_null=True, help_text="of each case; null: as each case specifies"
    )
    rescored_from = serializers.CharField(source="rescored_from.key", allow_null=True, default=None)
    ask_judge = serializers.BooleanField(
        help_text="of rescored answers: the judge was asked again, ignoring earlier verdicts"
    )
    cases = AgentCaseRunSerializer(source="case_runs", many=True)
    at_k = serializers.SerializerMethodField(help_text="pass@k and pass^k, mean over the cases of the run")
    fall = serializers.DictField(
        allow_null=True,
        help_text="regression test of a scheduled run against earlier ones: before, now (rates), p (one-sided, exact, "
        "corrected), cases; `fallen`: cases with a significant drop (name, before and now as passed and made, p); "
        "`lost`: names of cases without a verdict now",
    )

    class Meta:
        model = AgentRun
        fields = [
            "id", "suite", "server", "versions", "state", "job", "options", "reading", "early_stop", "parallel",
            "iterations", "rescored_from", "ask_judge", "created", "completed_at", "cases", "at_k", "fall",
        ]  # fmt: skip
        read_only_fields = fields

    @extend_schema_field(AgentAtKSerializer(many=True))
    def get_at_k(self, run: AgentRun) -> Any:
        return AgentAtKSerializer(repeats_of(run), many=True).data


class AgentResultsSerializer(serializers.Serializer[Any]):
    cases = serializers.ListField(child=serializers.DictField(), help_text="as in the JSON file of a run")


class AgentSideSerializer(serializers.ModelSerializer[CaseRun]):
    class Meta:
        model = CaseRun
        fields = ["passed", "made", "errors", "outcome"]
        read_only_fields = fields


HOLM = "Holm-corrected over the rows of all comparisons"


class AgentIntervalField(serializers.ListField):
    """Limits of the interval of a difference."""

    def __init__(self, **kwargs: Any) -> None:
        help_text = "95 % interval of the difference; null for pairs, early stops and missing verdicts"
        super().__init__(
            child=serializers.FloatField(), allow_null=True, help_text=help_text, read_only=True, **kwargs
        )

    def to_representation(self, value: Any) -> Any:
        return [value.low, value.high]


class AgentComparedCaseSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    first = AgentSideSerializer(allow_null=True)
    second = AgentSideSerializer(allow_null=True)
    difference = serializers.FloatField(
        source="comparison.difference", allow_null=True, help_text="second rate minus first"
    )
    interval = AgentIntervalField(source="comparison.interval")
    p = serializers.FloatField(source="comparison.p", allow_null=True)
    p_holm = serializers.FloatField(source="comparison.p_holm", allow_null=True, help_text=HOLM)
    test = serializers.CharField(
        source="comparison.test", allow_null=True, help_text="test behind p, or why there is none"
    )
    same_text = serializers.BooleanField()


class AgentTotalSerializer(serializers.Serializer[Any]):
    first = serializers.ListField(child=serializers.IntegerField(), help_text="passed, made (with a verdict)")
    second = serializers.ListField(child=serializers.IntegerField())
    errors = serializers.ListField(  # type: ignore[assignment]  # a declared field
        child=serializers.IntegerField(), help_text="iterations without a verdict: first, second"
    )
    difference = serializers.FloatField(allow_null=True)
    interval = AgentIntervalField()
    p = serializers.FloatField(allow_null=True)
    p_holm = serializers.FloatField(allow_null=True, help_text=HOLM)
    test = serializers.CharField(help_text="test behind p, or why there is none")
    changed = serializers.ListField(
        child=serializers.IntegerField(),
        allow_null=True,
        help_text="for rescored answers: iterations that pass only in the second, only in the first",
    )


class AgentComparedCheckSerializer(serializers.Serializer[Any]):
    case = serializers.CharField()
    connection = serializers.IntegerField(help_text="from 0")
    interaction = serializers.IntegerField(help_text="from 0")
    where = serializers.CharField()
    element = serializers.IntegerField(allow_null=True, help_text="of a list of expectations, from 0")
    first = serializers.ListField(
        child=serializers.IntegerField(), source="comparison.first", help_text="passed, made (with a verdict)"
    )
    second = serializers.ListField(child=serializers.IntegerField(), source="comparison.second")
    difference = serializers.FloatField(source="comparison.difference", allow_null=True)
    interval = AgentIntervalField(source="comparison.interval")
    p = serializers.FloatField(source="comparison.p", allow_null=True)
    p_holm = serializers.FloatField(source="comparison.p_holm", allow_null=True, help_text=HOLM)
    test = serializers.CharField(source="comparison.test")


class AgentComparedRunSerializer(serializers.Serializer[Any]):
    id = serializers.CharField(source="run.key")
    versions = serializers.ListField(
        source="run.versions", child=serializers.CharField(), help_text="versions of the agent in that run"
    )
    total = AgentTotalSerializer(help_text="iterations of cases with a verdict in both runs")
    cases = AgentComparedCaseSerializer(many=True)
    checks = AgentComparedCheckSerializer(
        many=True, help_text="checks with a verdict in both runs, largest differences first; at most 2,000"
    )


class AgentBaselineSerializer(serializers.Serializer[Any]):
    id = serializers.CharField(source="key")
    versions = serializers.ListField(
        child=serializers.CharField(), help_text="versions of the agent in that run"
    )


class AgentComparisonSerializer(serializers.Serializer[Any]):
    first = AgentBaselineSerializer()
    comparisons = AgentComparedRunSerializer(
        many=True, source="pairs", help_text="each other run (second) compared with the first"
    )
