"""How much one file may hold that is made as a whole before its first byte leaves: Parquet, and zips of collections.

Tables in CSV are sent while they are made, and have no limit.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import closing
from typing import TypeVar

from django.conf import settings
from django.db.models import QuerySet, Sum

from gym.runs.models import PredictionResult, RunScore, SuiteRun
from suites.models import SuiteRevision

Row = TypeVar("Row")


class TooMuch(ValueError):
    """`hint`: how to have it all the same."""

    def __init__(self, rows: int, hint: str) -> None:
        most = settings.GYM_EXPORT_MAX_ROWS
        super().__init__(
            f"This file would have {rows:,} rows or more; at most {most:,} are put into one file."
        )
        self.hint = hint


def rows_at_least(what: str, runs: QuerySet[SuiteRun]) -> int:
    """Rows of a table over these runs, from stored aggregates alone. How many tokens a region has is not stored: for
    tokens it is the number of regions."""
    wanted = runs.order_by().values("pk")
    if what == "scores":
        return RunScore.objects.filter(run__in=wanted).count()
    results = PredictionResult.objects.filter(run__in=wanted)
    if what == "predictions":
        return results.count()
    if what == "outcomes":
        return int(results.aggregate(n=Sum("total"))["n"] or 0)
    with_bits = SuiteRun.objects.filter(pk__in=wanted).exclude(policy={})
    sentences = dict(with_bits.order_by().values_list("revision_id").annotate(n=Sum("n_sentences")))
    revisions = SuiteRevision.objects.filter(pk__in=list(sentences)).values_list("pk", "region_names")
    return sum(sentences[pk] * len(names) for pk, names in revisions)


def require_room(rows: int, hint: str) -> None:
    """Raises TooMuch, before anything is made."""
    if settings.GYM_EXPORT_MAX_ROWS and rows > settings.GYM_EXPORT_MAX_ROWS:
        raise TooMuch(rows, hint)


class Budget:
    """Counts rows while they are written, over all tables of a file; raises TooMuch beyond the limit."""

    def __init__(self, hint: str) -> None:
        self.hint = hint
        self.taken = 0

    def through(self, rows: Generator[Row, None, None]) -> Iterator[Row]:
        """The rows. However this ends, theirs have ended too, with the cursor they come from."""
        with closing(rows):
            for row in rows:
                self.taken += 1
                require_room(self.taken, self.hint)
                yield row
