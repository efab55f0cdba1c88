"""Runs as a paper names them: suite with revision, model with commit, and date."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from lmgym.runs.run_differences import ScoredAs, in_words, run_differences

DIGITS = 12
"""Digits of digests and commits in texts; BibTeX entries have all of them."""
MOST_NAMED = 6
"""Number of suites above which the notes of a table from a site do not name them."""


@dataclass(frozen=True)
class Studied:
    """A finished run.

    Attributes:
        suite: title of the suite.
        revision: number of the suite's revision; None outside a site.
        model: label of the model, unique within the study.
        n_items, n_conditions: of the suite.
        policy: keys of `ScoringPolicy`; uploads have only those that their files state.
        provenance: see `lmgym.runs.provenance`.
        completed: day on which the results were computed or uploaded.
    """

    suite: str
    revision: int | None
    sha256: str
    model: str
    n_items: int
    n_conditions: int
    policy: Mapping[str, Any]
    provenance: Mapping[str, Any]
    completed: date
    is_uploaded: bool = False

    @property
    def suite_name(self) -> str:
        """Title and revision: "Agreement r2"; a title alone outside a site."""
        return self.suite if self.revision is None else f"{self.suite} r{self.revision}"

    @property
    def model_version(self) -> str:
        """See `model_version`."""
        facts = (self.provenance.get("model_revision"), self.provenance.get("model_fingerprint"))
        return model_version(*(str(fact or "") for fact in facts))

    @property
    def scored_as(self) -> ScoredAs:
        kind = str(self.provenance.get("score_kind") or "surprisal")
        return ScoredAs(kind, self.policy, has_surprisals=not self.is_uploaded or bool(self.policy))


def model_version(commit: str, fingerprint: str) -> str:
    """Return the commit, else the digest of weights and tokenizer: "commit 607a30d783df"; empty if neither is known."""
    if commit:
        return f"commit {commit[:DIGITS]}" if len(commit) == 40 else f"version {commit}"
    return f"fingerprint {fingerprint[:DIGITS]}" if fingerprint else ""


def sources(runs: Sequence[Studied]) -> str:
    """Name suites, models and dates of these runs in sentences, and settings in which the models differ."""
    suites = list(dict.fromkeys(f"{run.suite_name} (sha256 {run.sha256[:DIGITS]})" for run in runs))
    models = list(dict.fromkeys(_model(run) for run in runs))
    if len(suites) > MOST_NAMED and all(run.revision is not None for run in runs):
        suites = []  # the rows have titles and revisions
    known = models_and_dates(models, [run.completed for run in runs])
    return " ".join(filter(None, [_named("Suite", suites), known, *differences(runs)]))


def models_and_dates(models: Sequence[str], days: Collection[date]) -> str:
    """Name models, with versions in brackets, and the first and last day, in sentences."""
    first, last = (min(days), max(days)) if days else (None, None)
    when = "" if first is None else f"Date: {first}." if first == last else f"Dates: {first} to {last}."
    return " ".join(filter(None, [_named("Model", models), when]))


def differences(runs: Sequence[Studied]) -> list[str]:
    """Describe settings in which models differ, as sentences; by the first run of each model."""
    by_model: dict[str, Studied] = {}
    for run in runs:
        by_model.setdefault(run.model, run)
    rows = run_differences([run.scored_as for run in by_model.values()])
    return [f"{in_words(row, list(by_model))}." for row in rows]


def _model(run: Studied) -> str:
    return named_model(run.model, run.model_version, "results uploaded" if run.is_uploaded else "")


def named_model(label: str, *facts: str) -> str:
    """Return a label with its facts, except empty ones: "GPT-2 (commit 607a30d783df)"."""
    words = ", ".join(filter(None, facts))
    return f"{label} ({words})" if words else label


def _named(noun: str, names: Sequence[str]) -> str:
    return f"{noun}{'' if len(names) == 1 else 's'}: {'; '.join(names)}." if names else ""
