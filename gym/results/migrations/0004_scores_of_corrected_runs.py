"""Runs whose predictions are now judged by bits with the whitespace correction get their aggregates anew."""

from dataclasses import asdict

from django.db import migrations

from gym.results.rules import RULES, Judged, score


def fill(apps, schema_editor):
    SuiteRun = apps.get_model("evaluations", "SuiteRun")
    PredictionResult = apps.get_model("evaluations", "PredictionResult")
    Prediction = apps.get_model("suites", "Prediction")
    RunScore = apps.get_model("results", "RunScore")
    judged = SuiteRun.objects.filter(completed_at__isnull=False, policy__whitespace="trailing")
    for pk, revision in list(judged.order_by("pk").values_list("pk", "revision_id")):
        results = PredictionResult.objects.filter(run=pk).select_related("prediction").order_by("position")
        rows = [
            Judged(row.position, row.prediction.formula, row.outcomes, row.margins, row.too_close, row.close)
            for row in results
        ]
        expected = Prediction.objects.filter(revision=revision).count()
        if rows:
            RunScore.objects.filter(run=pk).delete()
            RunScore.objects.bulk_create(
                [RunScore(run_id=pk, **asdict(score(rows, rule, expected))) for rule in RULES.values()]
            )


class Migration(migrations.Migration):
    dependencies = [("results", "0003_collections"), ("evaluations", "0010_whitespace_counts")]

    operations = [migrations.RunPython(fill, migrations.RunPython.noop, elidable=True)]
