"""Recompute the stored aggregates of all runs."""

from __future__ import annotations

from typing import Any

from django.db import transaction

from gym.runs.models import SuiteRun
from gym.runs.read.scores import store_scores
from gym.site_command import SiteCommand


class Command(SiteCommand):
    help = "Recompute the pass rates, intervals and margins of every finished run from its stored outcomes."

    def handle(self, *args: Any, **options: Any) -> None:
        # Keys first, and no iterator(): on SQLite a transaction that begins before all rows of a query are
        # read fails at once with "database is locked" if the site has written since.
        finished = SuiteRun.objects.filter(completed_at__isnull=False)
        n = 0
        for key in list(finished.values_list("pk", flat=True)):
            with transaction.atomic():
                run = finished.select_related("revision").filter(pk=key).first()
                if run is not None:  # the run may have been deleted in between
                    store_scores(run)
                    n += 1
        self.stdout.write(f"{n} runs")
