"""Runs that were finished before aggregates were stored get theirs."""

from dataclasses import asdict

from django.db import migrations

from gym.results.rules import RULES, Judged, score


def fill(apps, schema_editor):
    SuiteRun = apps.get_model("evaluations", "SuiteRun")
    PredictionResult = apps.get_model("evaluations", "PredictionResult")
    Prediction = apps.get_model("suites", "Prediction")
    RunScore = apps.get_model("results", "RunScore")
    finished = SuiteRun.objects.filter(completed_at__isnull=False)
    for pk, revision in finished.order_by("pk").values_list("pk", "revision_id"):
        results = PredictionResult.objects.filter(run=pk).select_related("prediction").order_by("position")
        rows = [
            Judged(
                row.position,
                row.prediction.formula,
                row.outcomes,
                row.margins,
                getattr(row, "too_close", getattr(row, "near_ties", 0)),
            )
            for row in results
        ]
        expected = Prediction.objects.filter(revision=revision).count()
        if rows:
            RunScore.objects.filter(run=pk).delete()
            RunScore.objects.bulk_create(
                [RunScore(run_id=pk, **asdict(score(rows, rule, expected))) for rule in RULES.values()]
            )


class Migration(migrations.Migration):
    dependencies = [
        ("results", "0001_scores_of_runs"),
        ("evaluations", "0002_uploaded_results"),
        ("suites", "0002_drafts_are_edited"),
    ]

    operations = [migrations.RunPython(fill, migrations.RunPython.noop, elidable=True)]
