"""A suite that gets a secret address closes the old addresses of its runs, too: they would tell the new one."""

from __future__ import annotations

from typing import Any

from django.dispatch import receiver

from gym.runs.models import FormerRunKey, SuiteRun
from gym.sharing.addresses import renew_keys, secret_address_given
from suites.models import Suite


@receiver(secret_address_given, sender=Suite, dispatch_uid="gym.runs.work.new_keys")
def _new_keys(thing: Suite, **kwargs: Any) -> None:
    renew_keys(SuiteRun.objects.filter(revision__suite=thing).only("pk", "key"), FormerRunKey)
