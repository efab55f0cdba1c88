"""The suite's predictions evaluated on people, stored with the data set as JSON, so that pages do not recompute them.

Keys: `n`, `n_participants`, `n_items` after exclusions; `dropped`; `predictions`, `unevaluable`, `crossed`,
`crossed_scores`, `summary`, `interval` and `items` as in `PeopleResult`; `scores` by scoring rule, without rules that
count an unevaluable prediction; `lags`, the correlation of times by word with the lengths of the words before and
after; or `problem`, why there is no result.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gym.people.models import HumanData
from lmgym.people.exclusions import Applied, Dropped, Exclusions, exclude
from lmgym.people.intake.lags import lag_profile, word_lengths
from lmgym.people.observations import Observations
from lmgym.people.predictions import PeopleResult, people_result
from lmgym.people.unevaluable import UnevaluablePrediction
from lmgym.runs.against_chance import Verdict, alone
from lmgym.runs.outcomes import STORED, PredictionOutcome
from lmgym.runs.rules import FIRST, RULES, Rule, Score, counted, no_score, score
from lmgym.stats.intervals import Interval
from lmgym.suites.formats import SuiteDocument
from lmgym.text.problems import InvalidArgument

NAMED = 50
"""Maximum number of dropped participants named for a setting."""


def exclusions_of(stored: dict[str, Any]) -> Exclusions:
    return Exclusions(**stored)


def evaluated(
    observations: Observations,
    accuracy: NDArray[np.float64],
    document: SuiteDocument,
    exclusions: Exclusions,
) -> dict[str, Any]:
    """Apply exclusions and evaluate the predictions. Raises ValueError if the data lack what a setting needs."""
    applied = exclude(observations, exclusions, accuracy)
    facts = _facts(applied)
    try:
        result = people_result(applied.observations, document)
    except InvalidArgument as error:
        return facts | {"problem": str(error)}
    n_predictions, n_regions = len(document.predictions), len(document.region_names)
    return facts | {
        "items": list(result.items),
        "predictions": [
            {"name": row.name, "formula": row.formula, **_plain(row.columns())} for row in result.predictions
        ],
        "unevaluable": [asdict(prediction) for prediction in result.unevaluable],
        "lags": _lags(applied.observations, document),
        "crossed": [_limits(one) for one in result.crossed],
        "crossed_scores": {key: _limits(one) for key, one in result.crossed_scores.items()},
        "summary": result.summary,
        "interval": result.interval,
        "scores": {
            rule.key: asdict(score(list(result.predictions), rule, n_predictions, n_regions))
            for rule in RULES.values()
            if counted(result.predictions, rule, n_predictions) is not None
        },
    }


def _limits(interval: Interval | None) -> list[float] | None:
    return None if interval is None else [interval.low, interval.high]


def _interval(limits: list[float] | None) -> Interval | None:
    return None if limits is None else Interval(*limits)


def _facts(applied: Applied) -> dict[str, Any]:
    kept = applied.observations
    return {
        "n": len(kept),
        "n_participants": 0 if kept.are_means else len(np.unique(kept.participant)),
        "n_items": len(np.unique(kept.item)),
        "dropped": dropped_rows(applied.dropped),
    }


def dropped_rows(dropped: Sequence[Dropped]) -> list[dict[str, Any]]:
    return [
        {
            "setting": one.setting,
            "label": one.label,
            "n": one.n_observations,
            "n_participants": len(one.participants),
            "participants": list(one.participants[:NAMED]),
        }
        for one in dropped
    ]


def dropped_in(stored: Mapping[str, Any]) -> list[Dropped]:
    """Return what the exclusions of a stored result dropped, with at most NAMED participants for each setting."""
    return [
        Dropped(row["setting"], row["label"], row["n"], tuple(row["participants"]))
        for row in stored.get("dropped", ())
    ]


def _lags(observations: Observations, document: SuiteDocument) -> list[dict[str, Any]]:
    """Return the profile of lags; empty unless the data are reading times by word."""
    if observations.measure.kind != "reading time" or not (observations.word > 0).any():
        return []
    profile = lag_profile(observations, word_lengths(document))
    return [
        {"lag": one.lag, "n": one.n, "r": None if np.isnan(one.correlation) else one.correlation}
        for one in profile
    ]


def _plain(columns: dict[str, Any]) -> dict[str, Any]:
    return {name: list(value) if isinstance(value, tuple) else value for name, value in columns.items()}


def result_of(data: HumanData) -> PeopleResult | None:
    """Return the stored result; None if there is none."""
    stored = data.result
    if "summary" not in stored:
        return None
    return PeopleResult(
        measure=data.as_measure(),
        items=tuple(stored["items"]),
        n_participants=stored["n_participants"],
        predictions=tuple(_outcome(row) for row in stored["predictions"]),
        unevaluable=tuple(UnevaluablePrediction(**row) for row in stored["unevaluable"]),
        crossed=tuple(map(_interval, stored["crossed"])),
        crossed_scores={key: _interval(limits) for key, limits in stored["crossed_scores"].items()},
        summary=stored["summary"],
        interval=stored["interval"],
    )


def _outcome(row: dict[str, Any]) -> PredictionOutcome:
    return PredictionOutcome(**{name: row[name] for name in ("name", "formula", *STORED)})


@dataclass(frozen=True)
class ScoredPeople:
    """A data set with its score under a scoring rule, for the table of models. The interval of the score is over
    participants and items. `uncounted`: predictions that the rule needs and the data cannot evaluate; without a rate
    then."""

    data: HumanData
    score: Score
    uncounted: tuple[UnevaluablePrediction, ...]

    @property
    def verdict(self) -> Verdict:
        return alone(self.score, coverage=None)


def scored_people(rows: list[HumanData], rule: Rule) -> list[ScoredPeople]:
    """Return the data sets that have a result, with their scores under a rule."""
    return [
        ScoredPeople(
            row,
            _score(row, rule, result.crossed_scores.get(rule.key)),
            tuple(one for one in result.unevaluable if rule.key != FIRST.key or one.position == 0),
        )
        for row in rows
        if (result := result_of(row)) is not None
    ]


def _score(data: HumanData, rule: Rule, crossed: Interval | None) -> Score:
    stored = data.result.get("scores", {}).get(rule.key)
    if not stored:
        return no_score(rule)
    limits = {"low": crossed.low, "high": crossed.high} if crossed else {"low": None, "high": None}
    return Score(**stored | limits)
