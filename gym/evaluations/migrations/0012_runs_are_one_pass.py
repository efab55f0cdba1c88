"""Runs took two passes: needed tokens, then all. Those whose second pass never came are runs of needed tokens."""

from django.db import migrations
from django.utils import timezone


def settle(apps, schema_editor):
    SuiteRun = apps.get_model("evaluations", "SuiteRun")
    Job = apps.get_model("jobs", "Job")
    computed = SuiteRun.objects.filter(source="computed").order_by("pk")
    for pk, policy, filling in list(computed.values_list("pk", "policy", "filling")):
        tokens = "needed" if filling else "all"
        SuiteRun.objects.filter(pk=pk).update(policy={**policy, "tokens": tokens})
    second = Job.objects.filter(suite_run__filling=True, state__in=["queued", "running"])
    second.update(state="done", finished=timezone.now(), claimed_by="", lease_until=None, error="")
    # What an unfinished run kept of its first pass is scored again: it computes all tokens.
    apps.get_model("evaluations", "RunChunk").objects.exclude(scores=None).update(scores=None)


class Migration(migrations.Migration):
    dependencies = [
        ("evaluations", "0011_one_value_of_bits"),
        ("jobs", "0004_lost_and_handed_back"),
    ]

    operations = [migrations.RunPython(settle, migrations.RunPython.noop, elidable=True)]
