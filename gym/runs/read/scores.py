"""Stored aggregates (statistics of predictions, and one row per run and scoring rule, written with the results), and
runs with their scores."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from django.db.models import Prefetch, prefetch_related_objects
from django.dispatch import receiver

from gym.runs.models import PredictionResult, RunScore, SuiteRun
from gym.runs.policies import policy_differences
from gym.runs.signals import results_written
from lmgym.runs.against_chance import Verdict, alone
from lmgym.runs.outcomes import PredictionOutcome
from lmgym.runs.rules import RULES, Rule, Score, no_score, prediction_statistics, score
from lmgym.runs.statistics import STATISTICS
from lmgym.suites.formulas import FormulaError, parse
from models_registry.names import disambiguate


def store_scores(run: SuiteRun) -> None:
    """Recompute a run's aggregates from its results."""
    results = list(run.prediction_results.select_related("prediction"))
    n_regions = len(run.revision.region_names)
    _store_chance(results, n_regions)
    rows = [row.outcome() for row in results]
    _store_statistics(results, rows)
    expected = run.revision.predictions.count()
    RunScore.objects.filter(run=run).delete()
    if rows:
        RunScore.objects.bulk_create(
            [RunScore(run=run, **asdict(score(rows, rule, expected, n_regions))) for rule in RULES.values()]
        )


def _store_chance(results: Iterable[PredictionResult], n_regions: int) -> None:
    """Recompute chance levels, which a newer version of the site may compute differently."""
    for row in results:
        try:
            level = parse(row.prediction.formula).chance_level(n_regions=n_regions)
        except FormulaError:
            continue
        if (row.chance, row.chance_standard_error) != (level.value, level.standard_error):
            row.chance, row.chance_standard_error = level.value, level.standard_error
            row.save(update_fields=["chance", "chance_standard_error"])


def _store_statistics(results: Sequence[PredictionResult], rows: Sequence[PredictionOutcome]) -> None:
    for result, row in zip(results, rows, strict=True):
        for name, value in asdict(prediction_statistics(row)).items():
            setattr(result, name, value)
    PredictionResult.objects.bulk_update(results, STATISTICS)


@receiver(results_written, dispatch_uid="gym.runs.read.scores")
def _store(run: SuiteRun, **kwargs: Any) -> None:
    store_scores(run)


@dataclass(frozen=True)
class Scored:
    """A run with its score under a scoring rule. `results`: one per prediction; `score` has no rate if the
    run lacks predictions that the rule needs."""

    run: SuiteRun
    rule: Rule
    results: list[PredictionResult]
    score: RunScore | Score

    @cached_property
    def verdict(self) -> Verdict:
        """Verdict by the uncorrected p, since a single rate is not a family of tests."""
        return alone(self.score, coverage=self.run.coverage)

    @cached_property
    def policy(self) -> str:
        """Differences from the default policy."""
        return policy_differences(self.run.policy, self.run.revision)

    @property
    def rate(self) -> float | None:
        return self.score.rate


def scored_runs(runs: Iterable[SuiteRun], rule: Rule, *, results: bool = True) -> list[Scored]:
    """Return runs with their scores under a rule, best first and runs without a rate last. All scores are
    fetched in one query, those under other rules are not. `results`: prefetched, and returned as well."""
    rows = list(runs)
    prefetch_related_objects(rows, Prefetch("scores", RunScore.objects.filter(rule=rule.key)))
    disambiguate(run.model for run in rows)
    scored = [
        Scored(run, rule, list(run.prediction_results.all()) if results else [], _score(run, rule))
        for run in rows
    ]
    return sorted(scored, key=lambda row: (row.rate is None, -(row.rate or 0.0), row.run.model.name))


def scored(run: SuiteRun, rule: Rule) -> Scored:
    """Return one run with its score under a rule, without `results`. Prefetch `scores`."""
    return Scored(run, rule, [], _score(run, rule))


def under_every_rule(run: SuiteRun) -> list[Scored]:
    """Return one run with its score under each rule. The rules are not a family of tests: all summarise the
    same outcomes, and a paper uses one of them."""
    results = list(run.prediction_results.select_related("prediction"))
    return [Scored(run, rule, results, _score(run, rule)) for rule in RULES.values()]


def _score(run: SuiteRun, rule: Rule) -> RunScore | Score:
    return next((row for row in run.scores.all() if row.rule == rule.key), None) or no_score(rule)
