"""Iterations that ended in errors used to count as failures of the agent. Count them apart in what is stored.

An iteration in which one check failed and another had no verdict was an error; it is a failure. A case that failed only
with its errors counted as failures has no verdict.
"""

from __future__ import annotations

from typing import Any

from django.db import migrations, models

from gym.conversations.cases import Ratio
from gym.conversations.results import CaseResult, IterationResult


def count_apart(apps: Any, schema_editor: Any) -> None:
    case_runs = apps.get_model("conversations", "CaseRun").objects
    iterations = apps.get_model("conversations", "CaseIteration").objects
    affected = list(iterations.filter(outcome="error").values_list("case_run", flat=True).distinct().order_by())
    for row in iterations.filter(outcome="error").iterator(chunk_size=50):
        if any(check["outcome"] == "fail" for check in row.data["checks"]):
            row.outcome = row.data["outcome"] = "fail"
            row.save(update_fields=["outcome", "data"])
    for pk in affected:
        row = case_runs.get(pk=pk)
        if not row.outcome:
            continue  # it is summed up when it is finished
        outcomes = iterations.filter(case_run=pk).values_list("number", "outcome")
        made = tuple(IterationResult(number, outcome) for number, outcome in outcomes)
        result = CaseResult("", Ratio(row.needed, row.asked, ""), "document", made, row.asked, row.error)
        row.made, row.errors, row.outcome = result.n, result.errors, result.outcome
        row.save(update_fields=["made", "errors", "outcome"])


class Migration(migrations.Migration):
    dependencies = [("conversations", "0003_hide_secrets_in_results")]

    operations = [
        migrations.AddField(
            model_name="caserun",
            name="errors",
            field=models.PositiveIntegerField(
                default=0, help_text="iterations that ended without a verdict"
            ),
        ),
        migrations.AlterField(
            model_name="caserun",
            name="made",
            field=models.PositiveIntegerField(
                default=0, help_text="iterations with a verdict: neither errors nor skipped"
            ),
        ),
        migrations.AlterField(
            model_name="agentrun",
            name="server_version",
            field=models.CharField(
                blank=True,
                help_text="as the server told while it answered; several joined by arrows",
                max_length=500,
            ),
        ),
        migrations.RunPython(count_apart, migrations.RunPython.noop, elidable=True),
    ]
