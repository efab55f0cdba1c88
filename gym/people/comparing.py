"""Models against people: compute a comparison from stored runs, and its rows as JSON.

Keys of the stored result: the tables of TABLES with their rows as records; `left_out`, `models_left_out`, `notices`;
`dropped`, by the exclusions; `r_call`, empty without fits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from gym.people.models import HumanData
from gym.people.results import dropped_rows, exclusions_of
from gym.people.storage import load
from gym.runs.models import SuiteRun
from lmgym.people.against import Against, against
from lmgym.people.exclusions import Applied, exclude
from lmgym.people.export import observation_rows
from lmgym.people.fit_data import Options, fit_data
from lmgym.people.tables import CellCorrelation, Coefficient, Effect, Fit, Gain, ItemEffect, Observation
from lmgym.runs.compute import SentenceResult
from lmgym.runs.scoring import Progress
from lmgym.stats import Comparison
from lmgym.text.columns import Column, Row, columns, record
from suites.selectors import document_of

TABLES: dict[str, tuple[str, type]] = {
    "gains": ("Gain of each model", Gain),
    "differences": ("Differences from the first-ranked model", Comparison),
    "coefficients": ("Coefficients of the mixed models", Coefficient),
    "fits": ("Fits", Fit),
    "effects": ("Effects of the predictions", Effect),
    "item-effects": ("Effects by item", ItemEffect),
    "cells": ("Correlations over items and conditions", CellCorrelation),
}
"""Stored tables: key -> label and class of the rows."""
STEPS = 3
"""Steps of a comparison for each model; see `against`."""
OBSERVATIONS = "observations"
"""Table that is computed when it is downloaded."""


def options_of(stored: Mapping[str, Any], data: HumanData) -> Options:
    """Return the options of a comparison. The suite's language on the site takes precedence over the document's."""
    regions = stored.get("regions")
    return Options(
        spill_over=stored.get("spill_over", 1),
        transform="log" if stored.get("log") else "none",
        regions=tuple(regions) if regions else None,
        language=data.revision.suite.language or None,
        slopes=bool(stored.get("slopes")),
    )


def compare(
    data: HumanData,
    exclusions: Mapping[str, Any],
    runs: Iterable[SuiteRun],
    stored: Mapping[str, Any],
    progress: Progress,
) -> dict[str, Any]:
    """Compare runs with a data set, and return the result to store. `progress`: see `against`. Raises
    InvalidArgument."""
    applied = _applied(data, exclusions)
    result = against(
        applied.observations,
        document_of(data.revision),
        _sentences(runs),
        options_of(stored, data),
        progress,
    )
    return _as_json(result) | {"dropped": dropped_rows(applied.dropped)}


def _as_json(result: Against) -> dict[str, Any]:
    rows: dict[str, Iterable[Any]] = {
        "gains": result.gain_rows,
        "differences": result.difference_rows,
        "coefficients": result.coefficient_rows,
        "fits": result.fit_rows,
        "effects": result.effect_rows,
        "item-effects": result.item_effect_rows,
        "cells": result.cell_rows,
    }
    return {
        **{name: [record(row) for row in of_table] for name, of_table in rows.items()},
        "left_out": dict(result.left_out),
        "models_left_out": dict(result.models_left_out),
        "notices": list(result.notices),
        "r_call": result.r_call if result.fit_rows else "",
    }


def rows_in(result: Mapping[str, Any], name: str) -> list[Any]:
    """Return the rows of a stored table as instances of their class; columns that are newer than the result are
    None."""
    kind = TABLES[name][1]
    names = [column for column, _ in columns(kind)]
    return [kind(**{column: row.get(column) for column in names}) for row in result.get(name, ())]


def observation_table(
    data: HumanData, exclusions: Mapping[str, Any], runs: Iterable[SuiteRun], stored: Mapping[str, Any]
) -> tuple[tuple[Column, ...], Iterator[Row]]:
    """Return the observations of the fits with all predictors, one row per observation and model."""
    sentences = _sentences(runs)
    fitted = fit_data(
        _applied(data, exclusions).observations,
        document_of(data.revision),
        sentences,
        options_of(stored, data),
    )
    return columns(Observation), observation_rows(fitted, list(sentences))


def _applied(data: HumanData, exclusions: Mapping[str, Any]) -> Applied:
    observations, accuracy = load(data)
    return exclude(observations, exclusions_of(dict(exclusions)), accuracy)


def _sentences(runs: Iterable[SuiteRun]) -> dict[str, list[SentenceResult]]:
    return {
        run.model.slug: [row.result() for row in run.sentence_scores.select_related("sentence")]
        for run in runs
    }
