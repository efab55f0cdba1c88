"""Recompute the stored results of all human data."""

from __future__ import annotations

from typing import Any

from django.db import transaction

from gym.people.models import HumanData
from gym.people.results import exclusions_of
from gym.people.services import recomputed
from gym.site_command import SiteCommand


class Command(SiteCommand):
    help = (
        "Recompute people's pass rates, intervals and means of every data set from its stored observations."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        n = 0
        for key in list(HumanData.objects.values_list("pk", flat=True)):  # keys first, as in store_scores
            with transaction.atomic():
                data = HumanData.objects.select_for_update(of=("self",)).filter(pk=key).first()
                if data is not None:  # it may have been deleted in between
                    data.result = recomputed(data, exclusions_of(data.exclusions))
                    data.save(update_fields=["result"])
                    n += 1
        self.stdout.write(f"{n} data sets")
