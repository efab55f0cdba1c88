"""Stored runs as values for lmgym.runs.report, so that stored and newly computed runs share one writer of JSON,
tables and text."""

from __future__ import annotations

from typing import Any

from gym.runs.models import SuiteRun
from gym.runs.read.presenters import region_means
from lmgym.runs.compute import RunResult
from lmgym.runs.coverage import coverage_json


def result_of(run: SuiteRun) -> RunResult:
    """Return the stored results of a finished run."""
    rows = run.sentence_scores.select_related("sentence").order_by("sentence__position")
    sentences = [row.result() for row in rows]
    predictions = [row.outcome() for row in run.prediction_results.select_related("prediction")]
    items = list(dict.fromkeys(row.item for row in sentences))
    if not items:  # uploaded outcomes have no sentences
        items = next((row.items for row in run.prediction_results.all()), [])
    return RunResult(items, sentences, predictions, region_means(run))


def run_head(run: SuiteRun) -> dict[str, Any]:
    """Return a run's suite, model, source, policy, provenance and coverage."""
    return {
        "suite": {
            "slug": run.revision.suite.slug,
            "name": run.revision.name,
            "revision": run.revision.number,
            "sha256": run.revision.sha256,
        },
        "model": {"slug": run.model.slug, "name": run.model.name},
        "source": run.source,
        "policy": run.policy,
        "provenance": run.provenance,
        "coverage": coverage_json(run.n_words, run.n_unknown_words, run.unknown_words),
    }
