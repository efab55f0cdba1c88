"""Stored aggregates: one row per run and scoring rule, written with the run's results."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from django.dispatch import receiver

from gym.evaluations.models import PredictionResult, SuiteRun
from gym.evaluations.signals import results_written
from gym.results.models import RunScore
from gym.results.rules import RULES, Judged, score


def judged(results: Iterable[PredictionResult]) -> list[Judged]:
    """Stored results as the rules read them. The results' predictions should be fetched with them."""
    return [
        Judged(row.position, row.prediction.formula, row.outcomes, row.margins, row.too_close)
        for row in results
    ]


def store_scores(run: SuiteRun) -> None:
    """Compute a run's aggregates anew from its results."""
    rows = judged(run.prediction_results.select_related("prediction"))
    expected = run.revision.predictions.count()
    RunScore.objects.filter(run=run).delete()
    if rows:
        RunScore.objects.bulk_create(
            [RunScore(run=run, **asdict(score(rows, rule, expected))) for rule in RULES.values()]
        )


@receiver(results_written, dispatch_uid="gym.results.scores")
def _store(run: SuiteRun, **kwargs: Any) -> None:
    store_scores(run)
