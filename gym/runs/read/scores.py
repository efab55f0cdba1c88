"""Stored aggregates: one row per run and scoring rule, written with the run's results. Numbers of one prediction."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any, NamedTuple

from django.dispatch import receiver

from gym.lib.stats import margin_summary, tail_above
from gym.runs.core.rules import FIRST, RULES, Judged, score
from gym.runs.models import PredictionResult, RunScore, SuiteRun
from gym.runs.signals import results_written


def judged(results: Iterable[PredictionResult]) -> list[Judged]:
    """Stored results as the rules read them. The results' predictions should be fetched with them."""
    return [
        Judged(row.position, row.prediction.formula, row.outcomes, row.margins, row.too_close, row.close)
        for row in results
    ]


def chance_p(result: PredictionResult) -> float | None:
    """One-sided p of one prediction's rate against its formula's chance level."""
    if result.rate is None or result.chance is None:
        return None
    return tail_above(result.rate, result.total, result.chance)


class Margin(NamedTuple):
    """Mean over items in bits, its 95% bootstrap interval, and Hedges' g; None where there is none."""

    mean: float | None
    low: float | None
    high: float | None
    effect: float | None


def margin_of(result: PredictionResult, stored: Iterable[RunScore]) -> Margin:
    """By how much one prediction holds. `stored`: the scores of its run, which have that of the first prediction
    already; others take ten thousand resamples."""
    first = next((row for row in stored if row.rule == FIRST.key and result.position == 0), None)
    if first is not None:
        return Margin(first.margin, first.margin_low, first.margin_high, first.effect)
    found = margin_summary(result.margins)
    return Margin(found.mean, found.low, found.high, found.effect)


def store_scores(run: SuiteRun) -> None:
    """Compute a run's aggregates anew from its results."""
    rows = judged(run.prediction_results.select_related("prediction"))
    expected = run.revision.predictions.count()
    RunScore.objects.filter(run=run).delete()
    if rows:
        RunScore.objects.bulk_create(
            [RunScore(run=run, **asdict(score(rows, rule, expected))) for rule in RULES.values()]
        )


@receiver(results_written, dispatch_uid="gym.runs.read.scores")
def _store(run: SuiteRun, **kwargs: Any) -> None:
    store_scores(run)
