"""Rename columns to the names used everywhere for results: n, planned, unsatisfiable, regression."""

from django.db import migrations, models


def rename_key(old, new):
    def rename(apps, schema_editor):
        runs = apps.get_model("agents", "AgentRun").objects.filter(regression__has_key=old)
        for run in runs.only("regression").iterator(chunk_size=500):
            run.regression[new] = run.regression.pop(old)
            run.save(update_fields=["regression"])

    return rename


class Migration(migrations.Migration):
    dependencies = [
        ("agents", "0009_failure_modes_named_by_models"),
    ]

    operations = [
        migrations.RenameField("caserun", "made", "n"),
        migrations.RenameField("caserun", "asked", "planned"),
        migrations.RenameField("caserun", "hopeless", "unsatisfiable"),
        migrations.RenameField("agentrun", "fall", "regression"),
        migrations.AlterField(
            "agentrun",
            "regression",
            models.JSONField(
                blank=True, help_text="of a scheduled run, against those before it (regression_test.Regression)", null=True
            ),
        ),
        migrations.AlterField(
            "caserun",
            "planned",
            models.PositiveIntegerField(default=0, help_text="iterations to make"),
        ),
        migrations.AlterField(
            "caserun",
            "unsatisfiable",
            models.TextField(blank=True, help_text="why no iteration can pass; such a case is run once"),
        ),
        migrations.RunPython(rename_key("fallen", "regressed"), rename_key("regressed", "fallen")),
    ]
