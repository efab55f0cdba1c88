"""Runs that were finished before they had a standing get theirs."""

from django.db import migrations, models
from django.db.models import Count

PARTIAL, OTHER, DEFAULT = 0, 1, 2


def usual(join, metric):
    if isinstance(metric, str):
        metric = "sum" if metric == "all" else metric
    else:
        metric = str(metric[0]) if metric else "sum"
    return {"bos": "auto", "eos": False, "join": join, "metric": metric}


def fill(apps, schema_editor):
    SuiteRun = apps.get_model("evaluations", "SuiteRun")
    Prediction = apps.get_model("suites", "Prediction")
    expected = dict(Prediction.objects.order_by().values_list("revision").annotate(n=Count("pk")))
    finished = SuiteRun.objects.filter(completed_at__isnull=False).annotate(n=Count("prediction_results"))
    rows = finished.order_by("pk").values_list(
        "pk", "revision_id", "revision__join_policy", "revision__metric", "policy", "n"
    )
    changed = {PARTIAL: [], OTHER: []}
    for pk, revision, join, metric, policy, n in rows.iterator(chunk_size=1000):
        if n < expected.get(revision, 0):
            changed[PARTIAL].append(pk)
        elif any(name in policy and policy[name] != value for name, value in usual(join, metric).items()):
            changed[OTHER].append(pk)
    for standing, keys in changed.items():
        for start in range(0, len(keys), 500):
            SuiteRun.objects.filter(pk__in=keys[start : start + 500]).update(standing=standing)


class Migration(migrations.Migration):
    dependencies = [
        ("evaluations", "0005_deleted_runs"),
        ("suites", "0002_drafts_are_edited"),
    ]

    operations = [
        migrations.AddField(
            model_name="suiterun",
            name="standing",
            field=models.PositiveSmallIntegerField(
                choices=[(0, "lacks predictions"), (1, "another policy"), (2, "default policy")],
                default=2,
                help_text="written with the outcomes",
            ),
        ),
        migrations.RunPython(fill, migrations.RunPython.noop, elidable=True),
    ]
