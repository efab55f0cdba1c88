"""A suite that gets a secret address closes the old addresses of its runs, too: they would tell the new one."""

from __future__ import annotations

from typing import Any

from django.dispatch import receiver

from gym.runs.models import FormerRunKey, SuiteRun, new_key
from suites.models import Suite
from suites.signals import secret_address_given

BATCH = 500


@receiver(secret_address_given, dispatch_uid="gym.runs.work.new_keys")
def _new_keys(suite: Suite, **kwargs: Any) -> None:
    runs = list(SuiteRun.objects.filter(revision__suite=suite).only("pk", "key"))
    FormerRunKey.objects.bulk_create([FormerRunKey(key=run.key, run=run) for run in runs], batch_size=BATCH)
    for run in runs:
        run.key = new_key()
    SuiteRun.objects.bulk_update(runs, ["key"], batch_size=BATCH)
