"""Take secrets out of what was stored before everything was cleaned.

Scoring a run again used to store its checks with the variables of the suite in clear, and to count the tokens of the
earlier run as its own; long secrets were cut, not hidden; what a server said of itself was stored as it came. What is
looked for are the variables and headers that suites and servers have now: earlier values are known to nobody.

Verdicts that were remembered go: judges have longer names now, and what they say is read more strictly.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from django.db import migrations, models

from gym.conversations.cases import Ratio
from gym.conversations.redact import Redactor, header_words, redactor
from gym.conversations.results import CaseResult, IterationResult
from gym.secrets import SecretError, reveal

CHECK = ("expected", "actual", "comparison", "message")
TURN = ("said", "text", "structure", "sly_data", "messages", "error")


def hide(apps: Any, schema_editor: Any) -> None:
    find = {name: apps.get_model("conversations", name) for name in ("AgentServer", "AgentSuite", "CaseRun")}
    headers = {server.pk: list(_headers(server)) for server in find["AgentServer"].objects.exclude(secrets={})}
    for server in find["AgentServer"].objects.filter(pk__in=headers).select_related("model"):
        _hide_in_server(server, redactor(headers[server.pk]))
    apps.get_model("conversations", "JudgeOpinion").objects.all().delete()
    for suite in find["AgentSuite"].objects.all():
        variables = list(_values(suite, suite.variables))
        for case_run in find["CaseRun"].objects.filter(run__suite=suite).select_related("run").iterator():
            secrets = [*variables, *headers.get(case_run.run.server_id, ())]
            if secrets or case_run.run.rescored_from_id is not None:
                _hide_in_case_run(case_run, redactor(secrets))
        if not variables:
            continue
        clean = redactor(variables)
        for row in suite.failure_modes.all():
            _save(row, name=clean(row.name), proposed=clean(row.proposed))


def _values(row: Any, secrets: dict[str, str]) -> Iterator[str]:
    for name in secrets:
        try:
            yield reveal(secrets, name)
        except SecretError as error:
            sys.stderr.write(f"{row}: {name} was not looked for in stored results. {error}\n")


def _headers(server: Any) -> Iterator[str]:
    for value in _values(server, server.secrets):
        yield from header_words(value)


def _save(row: Any, **values: Any) -> None:
    if any(getattr(row, name) != value for name, value in values.items()):
        type(row).objects.filter(pk=row.pk).update(**values)


def _hide_in_server(server: Any, clean: Redactor) -> None:
    _save(server, version=clean(server.version), agents=clean(server.agents), graphs=clean(server.graphs))
    _save(server.model, status_reason=clean(server.model.status_reason))


def _hide_in_case_run(case_run: Any, clean: Redactor) -> None:
    again = case_run.run.rescored_from_id is not None
    iterations = []
    for row in case_run.iterations.order_by("number"):
        data = _hidden(row.data, clean, again)
        _save(row, data=data)
        iterations.append(data)
    values = {"error": clean(case_run.error)}
    if again and case_run.outcome:
        made = tuple(IterationResult.from_dict(data) for data in iterations)
        values["tokens"] = CaseResult("", Ratio(1, 1, ""), "document", made).tokens
    _save(case_run, **values)


def _hidden(data: dict[str, Any], clean: Redactor, again: bool) -> dict[str, Any]:
    """An iteration without secrets. Only what is text or an answer is looked through, not our own numbers."""
    checks = []
    for check in data["checks"]:
        judge = check.get("judge")
        judge = judge and {**judge, "reason": clean(judge["reason"]), "raw": clean(judge["raw"])}
        checks.append({**check, **{key: clean(check[key]) for key in CHECK}, "judge": judge})
    turns = [{**turn, **{key: clean(turn[key]) for key in TURN}} for turn in data["turns"]]
    if again:
        turns = [{**turn, "reused": True} for turn in turns]
    return {**data, "checks": checks, "turns": turns, "message": clean(data["message"])}


class Migration(migrations.Migration):
    dependencies = [("conversations", "0002_namings")]

    operations = [
        migrations.AlterField(
            model_name="agentrun",
            name="options",
            field=models.JSONField(default=dict, help_text="reading, early_stop, parallel"),
        ),
        migrations.RunPython(hide, migrations.RunPython.noop, elidable=True),
    ]
