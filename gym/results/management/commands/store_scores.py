"""Compute the stored aggregates of all runs anew."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand
from django.db import transaction

from gym.evaluations.models import SuiteRun
from gym.results.scores import store_scores


class Command(BaseCommand):
    help = (
        "Compute the pass rates, intervals and margins of every finished run anew from its stored outcomes."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        runs = SuiteRun.objects.filter(completed_at__isnull=False).select_related("revision")
        n = 0
        for run in runs.iterator(chunk_size=100):
            with transaction.atomic():
                store_scores(run)
            n += 1
        self.stdout.write(f"{n} runs")
