"""What the API says about agents, their tests and runs."""

from __future__ import annotations

from dataclasses import fields
from types import NoneType
from typing import Any, get_args, get_type_hints

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from gym.agents import permissions
from gym.agents.models import AgentCase, AgentRun, AgentSchedule, AgentServer, AgentSuite, CaseRun, Naming
from gym.agents.presenters import at_k_of_run
from gym.jobs.models import Job
from lmgym.agents.run_comparison import ComparedCase, ComparedCheck, RateComparison
from lmgym.text.columns import REAL, TEXT, WHOLE, YES_NO, columns
from models_registry.models import RegisteredModel
from models_registry.permissions import can_manage, can_view
from models_registry.selectors import visible_to as visible_models

VERSION = "as the agent told while it answered; several joined by arrows where it changed on the way"


class AgentServerSerializer(serializers.ModelSerializer[AgentServer]):
    id = serializers.CharField(source="model.slug", help_text="the same as slug")
    slug = serializers.CharField(source="model.slug")
    name = serializers.CharField(source="model.name")
    state = serializers.ChoiceField(RegisteredModel.Status.values, source="model.status")
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
        child=serializers.DictField(), source="agents", help_text="as the server lists its agents"
    )
    graphs = serializers.DictField(help_text="agent -> who calls whom, as the server tells it")
    url = serializers.SerializerMethodField(help_text="for those who may change the server; else null")
    secret_headers = serializers.SerializerMethodField(
        help_text="their names, for those who may change the server; else null. Values are never shown."
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
    id = serializers.CharField(source="slug", help_text="the same as slug")
    owner = serializers.CharField(source="owner.username")

    class Meta:
        model = AgentSuite
        fields = ["id", "slug", "title", "visibility", "description", "owner"]
        read_only_fields = fields


class AgentSuiteDetailSerializer(AgentSuiteSerializer):
    judge = serializers.SerializerMethodField(help_text="who checks the gist, if you may see it")
    variables = serializers.SerializerMethodField(
        help_text="names, for its owner and staff; else null. Values are never shown."
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


class AgentScheduleSerializer(serializers.ModelSerializer[AgentSchedule]):
    server = serializers.CharField(source="server.model.slug", help_text="its slug")
    owner = serializers.CharField(source="owner.username", help_text="in whose name it runs, and who is told")
    pause = serializers.CharField(
        help_text="why it is paused until its owner reviews the cases; empty: it is not"
    )

    class Meta:
        model = AgentSchedule
        fields = [
            "id", "server", "every", "iterations", "next_at", "trouble", "pause", "unseen", "owner", "created",
        ]  # fmt: skip
        read_only_fields = fields


class AgentCaseSerializer(serializers.ModelSerializer[AgentCase]):
    class Meta:
        model = AgentCase
        fields = ["id", "name", "agent"]
        read_only_fields = fields


class AgentCasesSerializer(serializers.Serializer[Any]):
    cases = AgentCaseSerializer(many=True)


class AgentFindingSerializer(serializers.Serializer[Any]):
    severity = serializers.ChoiceField(["error", "warning", "info"])
    code = serializers.CharField()
    where = serializers.CharField(help_text="a path such as interactions[0].response.text")
    line = serializers.IntegerField(help_text="from 1; 0: not known")
    column = serializers.IntegerField()
    message = serializers.CharField()
    hint = serializers.CharField()


class AgentCheckSerializer(serializers.Serializer[Any]):
    ok = serializers.BooleanField(help_text="whether it could be saved and run")
    agent = serializers.CharField()
    findings = AgentFindingSerializer(many=True)


class AgentCaseHistorySerializer(serializers.ModelSerializer[CaseRun]):
    run = serializers.CharField(source="run.key")
    server = serializers.CharField(source="run.server.model.slug", help_text="its slug")
    created = serializers.DateTimeField(source="run.created")
    version = serializers.CharField(source="run.server_version", help_text=VERSION)

    class Meta:
        model = CaseRun
        fields = ["run", "server", "created", "version", "outcome", "passed", "n", "errors"]
        read_only_fields = fields


class AgentCaseDetailSerializer(AgentCaseSerializer):
    findings = AgentFindingSerializer(many=True)
    flaky = serializers.BooleanField(help_text="did the same case both pass and not pass")
    history = AgentCaseHistorySerializer(many=True, help_text="finished runs, the newest first, 50 at most")

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


AT_K_LIMIT = "limit of the 95% interval"


class AgentAtKSerializer(serializers.Serializer[Any]):
    k = serializers.IntegerField()
    any = serializers.FloatField(help_text="pass@k: the chance that at least one of k iterations passes")
    any_low = serializers.FloatField(allow_null=True, help_text=f"{AT_K_LIMIT}; null for several cases")
    any_high = serializers.FloatField(allow_null=True, help_text=AT_K_LIMIT)
    all = serializers.FloatField(help_text="pass^k: the chance that all of k iterations pass")
    all_low = serializers.FloatField(allow_null=True, help_text=f"{AT_K_LIMIT}; null for several cases")
    all_high = serializers.FloatField(allow_null=True, help_text=AT_K_LIMIT)
    cases = serializers.IntegerField(help_text="cases that the means are over, the same for every k")
    of = serializers.IntegerField(
        help_text="finished cases; the others have too few iterations with a verdict"
    )


class AgentRunSerializer(serializers.ModelSerializer[AgentRun]):
    id = serializers.CharField(source="key")
    suite = serializers.CharField(source="suite.slug")
    server = serializers.CharField(source="server.model.slug", help_text="its slug")
    versions = serializers.ListField(
        child=serializers.CharField(),
        help_text="as the agent told while it answered; several: it changed on the way",
    )
    state = serializers.ChoiceField(Job.State.values)
    job = serializers.UUIDField(source="job_id", allow_null=True)
    options = serializers.DictField()
    reading = serializers.CharField()
    early_stop = serializers.BooleanField()
    parallel = serializers.IntegerField()
    iterations = serializers.IntegerField(
        allow_null=True, help_text="of each case; null: as many as the case says"
    )
    rescored_from = serializers.CharField(source="rescored_from.key", allow_null=True, default=None)
    ask_judge = serializers.BooleanField(
        help_text="of answers scored again: the judge was asked again where it had given a verdict"
    )
    cases = AgentCaseRunSerializer(source="case_runs", many=True)
    at_k = serializers.SerializerMethodField(help_text="pass@k and pass^k, mean over the cases of the run")
    regression = serializers.DictField(
        allow_null=True,
        help_text="of a scheduled run, compared with earlier ones: before, now (rates), p (one-sided, exact, "
        "corrected), cases; `regressed`: cases that fell significantly by themselves (name, before and now as passed "
        "and n, p); `lost`: names of cases that no longer have a verdict",
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


class AgentRunsSerializer(serializers.Serializer[Any]):
    runs = AgentRunSerializer(many=True)


class AgentResultsSerializer(serializers.Serializer[Any]):
    cases = serializers.ListField(child=serializers.DictField(), help_text="as in the JSON download of a run")


class AgentCellSerializer(serializers.Serializer[Any]):
    """The newest result of a case on a server; null figures: none yet."""

    server = serializers.CharField()
    run = serializers.CharField(source="newest.run.key", allow_null=True)
    version = serializers.CharField(source="newest.run.server_version", allow_null=True, help_text=VERSION)
    outcome = serializers.CharField(source="newest.outcome", allow_null=True)
    passed = serializers.IntegerField(source="evidence.passed", allow_null=True)
    n = serializers.IntegerField(source="evidence.n", allow_null=True, help_text="iterations with a verdict")
    errors = serializers.IntegerField(  # type: ignore[assignment]  # a declared field
        source="evidence.errors", allow_null=True, help_text="iterations without one, in no rate"
    )
    rate = serializers.FloatField(source="evidence.rate", allow_null=True)
    low = serializers.FloatField(
        source="evidence.interval.low", allow_null=True, help_text="95% Wilson interval of the rate"
    )
    high = serializers.FloatField(source="evidence.interval.high", allow_null=True)
    verdict = serializers.CharField(
        source="evidence.verdict",
        allow_null=True,
        help_text="what the interval says about the rate asked for",
    )
    early_stop = serializers.BooleanField(
        source="evidence.early_stop",
        default=False,
        help_text="iterations ended once the ratio was decided: their rate has no interval",
    )
    flaky = serializers.BooleanField()


class AgentRowSerializer(serializers.Serializer[Any]):
    case = serializers.CharField()
    cells = AgentCellSerializer(many=True, help_text="in the order of `servers`")


class AgentMatrixSerializer(serializers.Serializer[Any]):
    servers = serializers.ListField(child=serializers.CharField())
    rows = AgentRowSerializer(many=True)


class AgentCheckRowSerializer(serializers.Serializer[Any]):
    """One check over all iterations."""

    interaction = serializers.IntegerField(source="first.interaction", help_text="from 0")
    where = serializers.CharField(source="first.where")
    test = serializers.CharField(source="first.test")
    passed = serializers.IntegerField()
    n = serializers.IntegerField(help_text="iterations with a verdict")
    errors = serializers.IntegerField(source="counts.error", default=0)  # type: ignore[assignment]  # a declared field
    skipped = serializers.IntegerField(source="counts.skipped", default=0)


class AgentFailedCheckSerializer(serializers.Serializer[Any]):
    where = serializers.CharField()
    test = serializers.CharField()
    expected = serializers.JSONField(help_text="the criterion, where a judge decides")
    outcome = serializers.CharField()
    comparison = serializers.CharField()
    reason = serializers.CharField(source="message", help_text="the judge's, or why there is no verdict")


class AgentFailureSerializer(serializers.Serializer[Any]):
    """An answer to a turn and the checks it did not pass."""

    connection = serializers.IntegerField(help_text="from 0")
    interaction = serializers.IntegerField(help_text="from 0")
    user_text = serializers.CharField(allow_null=True)
    answer = serializers.CharField(help_text="its first 2,000 characters; empty where there was none")
    outcome = serializers.CharField()
    message = serializers.CharField(help_text="why there was no answer")
    checks = AgentFailedCheckSerializer(many=True)
    iterations = serializers.ListField(child=serializers.IntegerField(), help_text="those that gave it")


class AgentContradictionSerializer(serializers.Serializer[Any]):
    """An answer that the judge passed in some iterations and failed in others."""

    interaction = serializers.IntegerField(help_text="from 0")
    where = serializers.CharField()
    criterion = serializers.JSONField()
    answer = serializers.CharField(help_text="its first 2,000 characters")
    passed = serializers.ListField(
        child=serializers.IntegerField(), help_text="iterations in which it passed"
    )
    failed = serializers.ListField(
        child=serializers.IntegerField(), help_text="iterations in which it failed"
    )


class AgentCaseResultSerializer(serializers.Serializer[Any]):
    run = serializers.CharField(source="case_run.run.key")
    id = serializers.IntegerField(source="case_run.pk")
    name = serializers.CharField(source="case_run.name")
    text = serializers.CharField(source="case_run.text", help_text="the case as it was run")
    verdict = serializers.CharField(source="evidence.verdict")
    at_k = AgentAtKSerializer(many=True)
    checks = AgentCheckRowSerializer(many=True)
    failures = AgentFailureSerializer(many=True, help_text="by turn, the most frequent answer first")
    contradictions = AgentContradictionSerializer(
        many=True, help_text="answers that the judge passed in some iterations and failed in others"
    )
    result = serializers.DictField(
        help_text="iterations with checks and transcripts, as in the JSON download"
    )


def _from_columns(name: str, **kinds: type) -> type[serializers.Serializer[Any]]:
    """Make a serializer whose fields are the columns of dataclasses.

    Args:
        name: of the class, and so of the component in the API description.
        kinds: dataclasses by the attribute of the object that has them; `row`: the object itself.
    """
    declared: dict[str, Any] = {}
    for attribute, kind in kinds.items():
        types, hints = dict(columns(kind)), get_type_hints(kind)
        for column in fields(kind):
            meaning = (column.metadata["meaning"], column.metadata["unit"])
            options: dict[str, Any] = {
                "allow_null": NoneType in get_args(hints[column.name]),
                "help_text": "; ".join(filter(None, meaning)),
            }
            if attribute != "row":
                options["source"] = f"{attribute}.{column.name}"
            declared[column.name] = _FIELDS[types[column.name]](**options)
    return type(name, (serializers.Serializer,), declared)


_FIELDS: dict[str, type[serializers.Field[Any, Any, Any, Any]]] = {
    TEXT: serializers.CharField,
    WHOLE: serializers.IntegerField,
    REAL: serializers.FloatField,
    YES_NO: serializers.BooleanField,
}
AgentTotalSerializer = _from_columns("AgentTotalSerializer", row=RateComparison)
AgentComparedCaseSerializer = _from_columns(
    "AgentComparedCaseSerializer", facts=ComparedCase, comparison=RateComparison
)
AgentComparedCheckSerializer = _from_columns(
    "AgentComparedCheckSerializer", facts=ComparedCheck, comparison=RateComparison
)


class AgentComparedRunSerializer(serializers.Serializer[Any]):
    id = serializers.CharField(source="run.key")
    versions = serializers.ListField(
        source="run.versions", child=serializers.CharField(), help_text="of the agent, in that run"
    )
    total = AgentTotalSerializer(help_text="iterations of the cases with a verdict in both")
    cases = AgentComparedCaseSerializer(many=True)
    checks = AgentComparedCheckSerializer(
        many=True, help_text="those with a verdict in both, the largest differences first; 2,000 at most"
    )


class AgentBaselineSerializer(serializers.Serializer[Any]):
    id = serializers.CharField(source="key")
    versions = serializers.ListField(child=serializers.CharField(), help_text="of the agent, in that run")


class AgentComparisonSerializer(serializers.Serializer[Any]):
    first = AgentBaselineSerializer()
    comparisons = AgentComparedRunSerializer(
        many=True, source="pairs", help_text="each other run (second) with the first"
    )


class AgentFailuresSerializer(serializers.Serializer[Any]):
    cases = serializers.ListField(
        child=serializers.DictField(), help_text="as in the JSON download of failure modes, with the case"
    )


class AgentNamingSerializer(serializers.ModelSerializer[Naming]):
    case = serializers.CharField(source="case_run.name")
    server = serializers.SerializerMethodField(
        help_text="its slug; null when it was deleted, or is not yours to see"
    )
    agent = serializers.SerializerMethodField(
        help_text="its name on that server; empty: its own default, or not to see"
    )
    trouble = serializers.SerializerMethodField(
        help_text="why it gave no answer, for those who may see the server"
    )
    state = serializers.ChoiceField(Job.State.values)
    failures = serializers.IntegerField(source="total", help_text="failures that can be named")
    named = serializers.SerializerMethodField(help_text="those that were; the others stay grouped by text")

    class Meta:
        model = Naming
        fields = ["case", "server", "agent", "state", "failures", "named", "trouble"]
        read_only_fields = fields

    def get_server(self, naming: Naming) -> str | None:
        server = naming.server
        return server.model.slug if server and can_view(self.context["request"].user, server.model) else None

    def get_agent(self, naming: Naming) -> str:
        return naming.agent if self.get_server(naming) is not None else ""

    def get_trouble(self, naming: Naming) -> str:
        return naming.trouble if self.get_server(naming) is not None else ""

    def get_named(self, naming: Naming) -> int:
        return len(naming.chosen)


class AgentNamingsSerializer(serializers.Serializer[Any]):
    namings = AgentNamingSerializer(many=True)
