"""Runs with their stored score under a scoring rule."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import prefetch_related_objects

from gym.lib.stats import holm_of_known
from gym.runs.core.rules import RULES, Rule
from gym.runs.models import PredictionResult, RunScore, SuiteRun
from gym.runs.policies import departures
from models_registry.names import tell_apart


@dataclass(frozen=True)
class Scored:
    """A run under a rule, as the templates' `rate` tag and tables read it. `results`: one per prediction."""

    run: SuiteRun
    rule: Rule
    results: list[PredictionResult]
    score: RunScore | None
    p_holm: float | None = None

    @property
    def policy(self) -> str:
        """What the run has otherwise than the default policy."""
        return departures(self.run.policy, self.run.revision)

    @property
    def rate(self) -> float | None:
        return self.score.rate if self.score else None

    @property
    def low(self) -> float | None:
        return self.score.low if self.score else None

    @property
    def high(self) -> float | None:
        return self.score.high if self.score else None

    @property
    def chance(self) -> float | None:
        return self.score.chance if self.score else None

    @property
    def n(self) -> int:
        return self.score.n if self.score else 0

    @property
    def passed(self) -> int:
        return self.score.passed if self.score else 0

    @property
    def judged(self) -> int:
        return self.score.judged if self.score else 0

    @property
    def ties(self) -> int:
        return self.score.ties if self.score else 0

    @property
    def too_close(self) -> int:
        return self.score.too_close if self.score else 0

    @property
    def not_evaluable(self) -> int:
        return self.score.not_evaluable if self.score else 0


def scored_runs(runs: Iterable[SuiteRun], rule: Rule) -> list[Scored]:
    """These runs under a rule, best first; runs without a rate under it last. One query for all of them."""
    rows = list(runs)
    prefetch_related_objects(rows, "scores")
    tell_apart(run.model for run in rows)
    scored = [Scored(run, rule, list(run.prediction_results.all()), _score(run, rule)) for run in rows]
    return sorted(scored, key=lambda row: (row.rate is None, -(row.rate or 0.0), row.run.model.name))


def scored(run: SuiteRun, rule: Rule) -> Scored:
    """One run under a rule, without its results; its `scores` should be prefetched."""
    return Scored(run, rule, [], _score(run, rule))


def under_every_rule(run: SuiteRun) -> list[Scored]:
    """One run under each of the rules; `p_holm` is corrected for these rules."""
    results = list(run.prediction_results.select_related("prediction"))
    by_rule = {row.rule: row for row in run.scores.all()}
    scores = [by_rule.get(key) for key in RULES]
    corrected = holm_of_known([score.chance_p if score else None for score in scores])
    rows = zip(RULES.values(), scores, corrected, strict=True)
    return [Scored(run, rule, results, score, p) for rule, score, p in rows]


def _score(run: SuiteRun, rule: Rule) -> RunScore | None:
    return next((row for row in run.scores.all() if row.rule == rule.key), None)
