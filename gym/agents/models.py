"""Agent servers, suites of test cases, and their runs."""

from __future__ import annotations

from operator import attrgetter
from typing import Any

from django.conf import settings
from django.contrib.contenttypes.fields import GenericRelation
from django.core.validators import RegexValidator
from django.db import models
from django.urls import reverse

from gym.jobs.models import HasJob
from gym.runs.models import new_key
from gym.secrets import SecretsField
from gym.sharing.models import PRIVATE_OR_PUBLIC, Collaborator, Invitation, VisibilityField
from lmgym.agents.case_reader import parse_case
from lmgym.agents.cases import Problem, Ratio, Reading, TestCase
from lmgym.agents.results import CaseResult, IterationResult, total_usage
from models_registry.models import RegisteredModel

ARROW = " → "
"""Separator of the versions reported by a server during one run."""


class AgentServer(models.Model):
    """A server of agents. It extends a RegisteredModel with the backend `agent`. Secret headers are encrypted."""

    class Kind(models.TextChoices):
        SERVER = "server", "Agent server (neuro-san's HTTP interface)"
        CHAT = "chat", "Chat endpoint (OpenAI-compatible)"
        EMBEDDED = "embedded", "Embedded demo agents (echo, calculator and friends)"

    model = models.OneToOneField(RegisteredModel, on_delete=models.CASCADE, related_name="agent_server")
    kind = models.CharField(max_length=10, choices=Kind.choices, default=Kind.SERVER)
    url = models.CharField("address", max_length=500, blank=True)
    chat_model = models.CharField(
        max_length=200, blank=True, help_text="name of the model at the chat endpoint"
    )
    secrets = SecretsField()
    checked_at = models.DateTimeField(null=True, blank=True)
    version = models.CharField(max_length=100, blank=True)
    agents = models.JSONField(default=list, blank=True, help_text="[{agent_name, description, tags}]")
    graphs = models.JSONField(default=dict, blank=True, help_text="agent -> connectivity_info")

    class Meta:
        ordering = ["model__name"]

    def __str__(self) -> str:
        return self.model.name

    def get_absolute_url(self) -> str:
        return reverse("agent-server", args=[self.model.slug])

    @property
    def secret_names(self) -> list[str]:
        return sorted(self.secrets)

    def answers_for(self, agent: str) -> bool:
        """Return True if the server lists the agent or answers for any agent. Unlisted agents may answer, too."""
        if self.kind == self.Kind.CHAT and self.chat_model:
            return True
        return any(listed.get("agent_name") == agent for listed in self.agents)


class AgentSuite(models.Model):
    """A suite of test cases, with the judge of its gist checks and the variables that its cases use."""

    slug = models.SlugField(
        max_length=80,
        unique=True,
        validators=[
            RegexValidator(
                r"^(?!(new|servers|runs|compare)$)", "This name is reserved for a page of the site."
            )
        ],
    )
    title = models.CharField(max_length=200)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="agent_suites")
    visibility = VisibilityField(choices=PRIVATE_OR_PUBLIC)
    description = models.TextField(blank=True)
    judge = models.ForeignKey(
        RegisteredModel, on_delete=models.SET_NULL, null=True, blank=True, related_name="judges_for"
    )
    judge_agent = models.CharField(
        max_length=200, blank=True, help_text="agent that judges, if the judging server has several"
    )
    judge_votes = models.PositiveSmallIntegerField(default=1)
    variables = SecretsField()
    created = models.DateTimeField(auto_now_add=True)
    updated = models.DateTimeField(auto_now=True)
    invitations = GenericRelation(Invitation)

    class Meta:
        ordering = ["title"]

    def __str__(self) -> str:
        return self.title

    def get_absolute_url(self) -> str:
        return reverse("agent-suite", args=[self.slug])

    @property
    def variable_names(self) -> list[str]:
        return sorted(self.variables)


class AgentSuiteCollaborator(Collaborator):
    thing = models.ForeignKey(AgentSuite, on_delete=models.CASCADE, related_name="collaborations")


_UNKNOWN_VARIABLE = (
    "${{{}}} has to be a variable of the suite. Only the suite's owner and staff can see its variables."
)


class _AnyVariable(dict[str, str]):
    """Mapping that contains every variable; its value is the reference to the variable."""

    def __bool__(self) -> bool:
        return True

    def __contains__(self, name: object) -> bool:
        return True

    def __missing__(self, name: str) -> str:
        return f"${{{name}}}"


class AgentCase(models.Model):
    """A test case, stored as the original text."""

    suite = models.ForeignKey(AgentSuite, on_delete=models.CASCADE, related_name="cases")
    name = models.CharField(
        max_length=200, help_text="a path such as music/beatles; .hocon is added in exports"
    )
    text = models.TextField()
    agent = models.CharField(max_length=200, blank=True)
    created = models.DateTimeField(auto_now_add=True)
    updated = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["suite_id", "name"]
        constraints = [models.UniqueConstraint(fields=["suite", "name"], name="case_name_once_per_suite")]

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        return reverse("agent-case", args=[self.suite.slug, self.pk])

    def parse(self) -> tuple[TestCase | None, list[Problem]]:
        """Parse the case and return it with its problems. Variables remain references. Only for users who are allowed
        to see the names of variables; see `selectors.parse_for_user`."""
        return parse_case(self.text, {name: f"${{{name}}}" for name in self.suite.variable_names})

    def parse_without_variables(self) -> tuple[TestCase | None, list[Problem]]:
        """Parse like `parse`, for any user: every name is treated as an existing variable."""
        read, problems = parse_case(self.text, _AnyVariable())
        names = sorted(read.variables) if read else []
        return read, [
            *(Problem("info", "variable", "", 0, 0, _UNKNOWN_VARIABLE.format(name)) for name in names),
            *problems,
        ]


PAUSED = "Paused: {}. Runs use secrets, so the schedule's owner has to review the cases first."


class AgentSchedule(models.Model):
    """Schedule to run all cases of a suite on a server on behalf of the schedule's owner. `trouble`: why the last run
    could not be started."""

    class Every(models.TextChoices):
        NIGHT = "night", "every night"
        CHANGE = "change", "when the cases have changed"
        VERSION = "version", "when the server's version changes"

    suite = models.ForeignKey(AgentSuite, on_delete=models.CASCADE, related_name="schedules")
    server = models.ForeignKey(AgentServer, on_delete=models.CASCADE, related_name="schedules")
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="agent_schedules"
    )
    every = models.CharField(max_length=10, choices=Every.choices)
    iterations = models.PositiveIntegerField(
        null=True, blank=True, help_text="iterations of each case; empty: as set in the case"
    )
    next_at = models.DateTimeField(null=True, blank=True, db_index=True)
    stamp = models.CharField(
        max_length=100,
        blank=True,
        help_text="state at the last run: schedules.stamp_of the suite, or the server's version",
    )
    trouble = models.TextField(blank=True)
    unseen = models.TextField(
        blank=True, help_text="changes by others since the owner's last review, one per line; see `is_paused`"
    )
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["suite_id", "pk"]

    def __str__(self) -> str:
        return f"{self.suite} on {self.server}, {self.get_every_display()}"

    @property
    def is_paused(self) -> bool:
        """True if other users changed cases that would run with secrets, which the owner must first review."""
        judge = getattr(self.suite.judge, "agent_server", None)
        return bool(self.unseen) and bool(
            self.suite.variables or self.server.secrets or (judge is not None and judge.secrets)
        )

    @property
    def pause(self) -> str:
        """Message on why the schedule is paused; empty if it is not paused."""
        return PAUSED.format("; ".join(self.unseen.splitlines())) if self.is_paused else ""


class AgentRun(HasJob, models.Model):
    """A run of cases of a suite on one server. `completed_at` is set when the run is done, not if it fails or
    is cancelled."""

    key = models.SlugField(max_length=24, unique=True, default=new_key, editable=False)
    suite = models.ForeignKey(AgentSuite, on_delete=models.CASCADE, related_name="runs")
    server = models.ForeignKey(AgentServer, on_delete=models.PROTECT, related_name="runs")
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="agent_runs"
    )
    job = models.OneToOneField(
        "jobs.Job", on_delete=models.SET_NULL, null=True, blank=True, related_name="agent_run"
    )
    options = models.JSONField(
        default=dict, help_text="reading, early_stop, parallel; optionally iterations and ask_judge"
    )
    server_version = models.CharField(
        max_length=500, blank=True, help_text="as reported during the run; several versions joined by arrows"
    )
    rescored_from = models.ForeignKey(
        "self", on_delete=models.SET_NULL, null=True, blank=True, related_name="rescored"
    )
    schedule = models.ForeignKey(
        AgentSchedule, on_delete=models.SET_NULL, null=True, blank=True, related_name="runs"
    )
    regression = models.JSONField(
        null=True,
        blank=True,
        help_text="comparison of a scheduled run with those before it (regression_test.Regression)",
    )
    spent = models.FloatField(default=0.0, help_text="wall-clock seconds of all attempts")
    created = models.DateTimeField(auto_now_add=True)
    completed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-created", "-pk"]

    def __str__(self) -> str:
        return f"{self.server} on {self.suite}"

    def get_absolute_url(self) -> str:
        return reverse("agent-run", args=[self.key])

    @property
    def reading(self) -> Reading:
        reading: Reading = self.options.get("reading", "document")
        return reading

    @property
    def early_stop(self) -> bool:
        return bool(self.options.get("early_stop"))

    @property
    def ask_judge(self) -> bool:
        """True for a rescoring run that asks the judge again even about answers already judged."""
        return bool(self.options.get("ask_judge"))

    @property
    def parallel(self) -> int:
        return int(self.options.get("parallel", 4))

    @property
    def iterations(self) -> int | None:
        """Iterations of each case; None: as specified in the cases."""
        iterations: int | None = self.options.get("iterations")
        return iterations

    @property
    def versions(self) -> list[str]:
        """Versions reported by the server; several if the version changed during the run."""
        return self.server_version.split(ARROW) if self.server_version else []

    @property
    def version_changed(self) -> bool:
        return len(self.versions) > 1


class CaseRun(models.Model):
    """A case in a run: a copy of its text and totals over its iterations. `outcome` is empty until the case
    is finished."""

    run = models.ForeignKey(AgentRun, on_delete=models.CASCADE, related_name="case_runs")
    case = models.ForeignKey(AgentCase, on_delete=models.SET_NULL, null=True, related_name="case_runs")
    name = models.CharField(max_length=200)
    text = models.TextField()
    agent = models.CharField(max_length=200, blank=True)
    planned = models.PositiveIntegerField(default=0, help_text="iterations to make")
    needed = models.PositiveIntegerField(default=0)
    required_rate = models.FloatField(default=1.0)
    outcome = models.CharField(max_length=10, blank=True)
    error = models.TextField(blank=True)
    unsatisfiable = models.TextField(
        blank=True, help_text="why no iteration can pass; such a case is run once"
    )
    passed = models.PositiveIntegerField(default=0)
    n = models.PositiveIntegerField(
        default=0, help_text="iterations with a verdict: neither errors nor skipped"
    )
    errors = models.PositiveIntegerField(default=0, help_text="iterations that ended without a verdict")
    checks_made = models.PositiveIntegerField(default=0)
    seconds = models.FloatField(default=0.0, help_text="sum of the seconds of all iterations")
    spent = models.FloatField(
        default=0.0, help_text="wall-clock seconds, for the test's timeout after an interruption"
    )
    tokens = models.JSONField(default=dict)

    class Meta:
        ordering = ["run_id", "name"]
        constraints = [models.UniqueConstraint(fields=["run", "name"], name="case_once_per_run")]

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        return reverse("agent-case-run", args=[self.run.key, self.pk])

    @property
    def early_stop(self) -> bool:
        """True if iterations stop once the ratio is decided. A single iteration cannot stop early."""
        return self.planned > 1 and (self.run.early_stop or bool(self.unsatisfiable))

    @property
    def numbers(self) -> range:
        """Numbers of the iterations to run."""
        return range(1, 2 if self.unsatisfiable else self.planned + 1)

    @property
    def is_unchecked(self) -> bool:
        """True if the case has checks but none was made, e.g. because a test is misspelt. See
        CaseResult.unchecked."""
        return self.outcome == "skipped" and self.passed > 0 and not self.checks_made

    @property
    def is_mixed(self) -> bool:
        """True if some iterations passed and others did not."""
        return 0 < self.passed < self.n

    def results(self) -> list[IterationResult]:
        return [
            IterationResult.from_dict(row.data)
            for row in sorted(self.iterations.all(), key=attrgetter("number"))
        ]

    def result(self) -> CaseResult:
        """Build the result only from rows, without parsing the case, which may require variables."""
        planned = max(1, self.planned)
        ratio = Ratio(self.needed, planned, f"{self.needed}/{self.planned}")
        iterations = tuple(self.results())
        return CaseResult(
            self.agent,
            ratio,
            self.run.reading,
            iterations,
            planned,
            self.error,
            self.early_stop,
            self.unsatisfiable,
        )


class CaseIteration(models.Model):
    """An iteration with its transcript, stored when it ends so that a killed worker only loses unfinished ones."""

    case_run = models.ForeignKey(CaseRun, on_delete=models.CASCADE, related_name="iterations")
    number = models.PositiveIntegerField()
    outcome = models.CharField(max_length=10)
    data = models.JSONField(help_text="IterationResult.as_dict()")

    class Meta:
        ordering = ["case_run_id", "number"]
        constraints = [
            models.UniqueConstraint(fields=["case_run", "number"], name="iteration_once_per_case_run")
        ]

    def __str__(self) -> str:
        return f"{self.case_run} {self.number}"


class FailureMode(models.Model):
    """A model's name for a failure mode of a case, and the group (assessor.group_id) for which it is offered."""

    suite = models.ForeignKey(AgentSuite, on_delete=models.CASCADE, related_name="failure_modes")
    case_name = models.CharField(max_length=200)
    mode = models.CharField(max_length=12)
    group = models.CharField(max_length=12, blank=True)
    name = models.CharField(max_length=300, blank=True)

    class Meta:
        ordering = ["suite_id", "case_name", "mode"]
        constraints = [
            models.UniqueConstraint(fields=["suite", "case_name", "mode"], name="mode_once_per_case")
        ]

    def __str__(self) -> str:
        return self.name


class Naming(HasJob, models.Model):
    """A model's assignment of failures to modes, stored reply by reply. `completed_at` is set when all
    failures have been offered to the model."""

    case_run = models.OneToOneField(CaseRun, on_delete=models.CASCADE, related_name="naming")
    server = models.ForeignKey(AgentServer, on_delete=models.SET_NULL, null=True, related_name="namings")
    agent = models.CharField(max_length=200, blank=True)
    job = models.OneToOneField(
        "jobs.Job", on_delete=models.SET_NULL, null=True, blank=True, related_name="agent_naming"
    )
    chosen = models.JSONField(default=dict, help_text="place of a failure (assessor.Sample.place) -> mode")
    total = models.PositiveIntegerField(default=0, help_text="failures that can be named")
    trouble = models.TextField(blank=True, help_text="why some failures have no name")
    completed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["case_run_id"]

    def __str__(self) -> str:
        return f"{self.case_run} by {self.server}"

    @property
    def unnamed(self) -> int:
        return self.total - len(self.chosen)


def tokens_of(case_runs: Any) -> dict[str, Any]:
    """Sum token counts and cost of finished case runs; see `total_usage`."""
    return total_usage(case_run.tokens for case_run in case_runs if case_run.outcome)
