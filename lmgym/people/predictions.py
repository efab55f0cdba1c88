"""A human data set as a participant of the suite page: the suite's predictions on people's means.

Region values are means over participants of the human measure, in place of surprisal; `region_means.py` defines them.
**Judgments are negated**: higher surprisal is worse, but a higher rating, or more acceptances or choices, is better. So
a formula such as `(*;%good%) < (*;%bad%)` holds for people if they rate the good sentence higher.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lmgym.models.engine import TokenError
from lmgym.people.observations import Measure, Observations
from lmgym.people.predictors import Floats
from lmgym.people.region_means import RESAMPLES, SEED, RegionMeans, region_means, resampled
from lmgym.people.tables import PeopleMean
from lmgym.people.unevaluable import UnevaluablePrediction, unevaluable_predictions
from lmgym.runs.outcomes import Grid, PredictionOutcome, evaluate_prediction
from lmgym.runs.region_means import Summary
from lmgym.runs.rules import ALL, EACH, RULES, counted, item_shares
from lmgym.stats import effective_n, score_interval
from lmgym.stats.intervals import Interval, Mean, mean_interval, within_item_intervals
from lmgym.suites.formats import SuiteDocument
from lmgym.suites.formulas import FALSE, NOT_EVALUABLE, TRUE, Formula, parse

_EXACT = TokenError(0.0)
"""Means of people have no numeric error to speak of."""

WITHIN = "95% within participants (Cousineau–Morey), over participants with all conditions"
BETWEEN = "95% over participants, Student’s t"
OVER_ITEMS = "95% over items, Student’s t"
WITHIN_ITEMS = "95% within items (Cousineau–Morey), over items with all conditions"


@dataclass(frozen=True)
class PeopleResult:
    """People on a suite, as `RunResult` for a model.

    Attributes:
        items: numbers of the items with observations, in the suite's order.
        n_participants: with observations of the suite; 0 for means over participants.
        predictions: outcomes by prediction, with Wilson's interval over items as for models; margins are in the unit of
            the measure.
        unevaluable: predictions that the data cannot evaluate in any item, which are not among `predictions`.
        crossed: by prediction, the 95% interval of its rate over participants and items.
        crossed_scores: the same interval of the rate under each scoring rule, by its key; without rules that count a
            prediction which is unevaluable.
        summary: means by condition and region as in `RunResult.region_summary`, and of the sentence under "sentence".
            Not negated.
        interval: what the intervals of `summary` are.
    """

    measure: Measure
    items: tuple[int, ...]
    n_participants: int
    predictions: tuple[PredictionOutcome, ...]
    unevaluable: tuple[UnevaluablePrediction, ...]
    crossed: tuple[Interval | None, ...]
    crossed_scores: Mapping[str, Interval | None]
    summary: Summary
    interval: str

    def means(self, region_names: Sequence[str]) -> list[PeopleMean]:
        """Return the rows of the table of means: regions that were observed, by condition."""
        return [
            PeopleMean(row["condition"], number, name, cell["n"], cell["mean"], cell["low"], cell["high"])
            for row in self.summary
            for number, name, cell in (
                *(
                    (k, name, cell)
                    for k, (name, cell) in enumerate(zip(region_names, row["regions"], strict=True), 1)
                ),
                (None, "", row["sentence"]),
            )
            if cell["n"]
        ]


def people_result(observations: Observations, document: SuiteDocument) -> PeopleResult:
    """Evaluate the suite's predictions on people's means, and average the measure by condition and region.

    Items without any observation are left out. An item in which a region of the formula has no mean is not evaluable,
    which counts as a failure, as for models. A prediction of which no item is evaluable has no outcomes: it is in
    `unevaluable`.

    Raises:
        InvalidArgument: no observations, or of words as well as of regions or sentences.
    """
    document = _observed(document, observations)
    means = region_means(observations, document)
    values = means.by_reference(means.cell_means())
    grid = Grid(list(means.items), values, {key: np.zeros(len(means.items), np.int64) for key in values})
    unevaluable = unevaluable_predictions(means, values)
    left_out = {prediction.position for prediction in unevaluable}
    outcomes = tuple(
        evaluate_prediction(number, prediction, len(document.region_names), grid, _EXACT)
        for number, prediction in enumerate(document.predictions)
        if number not in left_out
    )
    summary, interval = _summary(means)
    crossed, crossed_scores = _crossed_intervals(means, outcomes)
    return PeopleResult(
        measure=observations.measure,
        items=means.items,
        n_participants=0 if means.are_means else len(np.unique(means.row)),
        predictions=outcomes,
        unevaluable=unevaluable,
        crossed=tuple(crossed),
        crossed_scores=crossed_scores,
        summary=summary,
        interval=interval,
    )


def _observed(document: SuiteDocument, observations: Observations) -> SuiteDocument:
    """Return the suite with the items that were observed; all of them if only means over items were."""
    items = set(observations.item.tolist())
    sentences = tuple(row for row in document.sentences if row.item in items)
    return replace(document, sentences=sentences) if sentences else document


def people_summary(observations: Observations, document: SuiteDocument) -> Summary:
    """Return the `summary` of `people_result` alone, which takes no resamples. Raises InvalidArgument, as it does."""
    return _summary(region_means(observations, document))[0]


def _crossed_intervals(
    means: RegionMeans, outcomes: Sequence[PredictionOutcome]
) -> tuple[list[Interval | None], dict[str, Interval | None]]:
    """Compute the intervals over participants and items, see `resampled`, of every rate and of the rates under the
    scoring rules whose predictions all have outcomes.

    An interval is Wilson's for the number of items at which a single rate would have the variance of the resampled
    rates, at most the number of Wilson's interval over items, because a rate of 1 in a few items does not mean a
    variance of 0. Items that lose all participants in a resample are left out of it.
    """
    if not outcomes:
        return [], {}
    formulas = [parse(outcome.formula) for outcome in outcomes]
    known = [np.array(outcome.outcomes) != NOT_EVALUABLE for outcome in outcomes]
    rates: list[list[Floats]] = [[] for _ in outcomes]
    n_predictions = len(means.document.predictions)
    rows_under = {
        rule.key: rows
        for rule in RULES.values()
        if (rows := counted(outcomes, rule, n_predictions)) is not None
    }
    under: dict[str, list[Floats]] = {key: [] for key in rows_under}
    for values, items in resampled(means, RESAMPLES, SEED):
        codes = np.array([_resampled_outcomes(formula, values, items.shape) for formula in formulas])
        held = codes == TRUE
        lost = (codes == NOT_EVALUABLE) & np.array(known)[:, None]
        for place, of_prediction in enumerate(rates):
            of_prediction.append(_resampled_rates(held[place], items * ~lost[place]))
        for key, rows in rows_under.items():
            n_rows = len(rows)  # of the first predictions: all of them, or one
            pooled = held[:n_rows].min(axis=0) if key == ALL.key else held[:n_rows].mean(axis=0)
            under[key].append(_resampled_rates(pooled, items * ~lost[:n_rows].any(axis=0)))
    intervals = [
        _effective_interval(outcome.rate, outcome.n, rates[place]) for place, outcome in enumerate(outcomes)
    ]
    scores: dict[str, Interval | None] = {}
    for key, rows in rows_under.items():
        shares = item_shares(rows, RULES[key])
        n = effective_n(shares, len(rows) if key == EACH.key else 1)
        scores[key] = _effective_interval(float(shares.mean()), n, under[key])
    return intervals, scores


def _resampled_outcomes(
    formula: Formula, values: Mapping[Any, Floats], shape: tuple[int, ...]
) -> NDArray[np.uint8]:
    """Return the outcome code of each item in each resample."""
    if not formula.references:
        return np.full(shape, TRUE if formula.evaluate({}) else FALSE, np.uint8)
    judged = formula.evaluate_items({key: values[key].reshape(-1) for key in formula.references})
    return judged.outcome.reshape(shape)


def _resampled_rates(shares: NDArray[Any], counted: Floats) -> Floats:
    """Return the pass rate of each resample; NaN if it has no item that counts."""
    with np.errstate(invalid="ignore"):
        rates: Floats = (counted * shares).sum(axis=1) / counted.sum(axis=1)
    return rates


def _effective_interval(rate: float | None, n: float, resampled_rates: Sequence[Floats]) -> Interval | None:
    """`n`: largest number of items of the interval."""
    rates = np.concatenate(resampled_rates)
    rates = rates[~np.isnan(rates)]
    if rate is None or not rates.size:
        return None
    mean, variance = float(rates.mean()), float(rates.var())
    return score_interval(rate, min(n, mean * (1 - mean) / variance) if variance > 1e-12 else n)


def _summary(means: RegionMeans) -> tuple[Summary, str]:
    """Average by condition and region, with intervals within participants where most of them saw all conditions."""
    tables = [means.table(region) for region in range(means.width)]
    within = all(_mostly_complete(table) for table in tables)
    columns = [_intervals(table, within=within) for table in tables]
    summary = [
        {
            "condition": condition,
            "regions": [_cell(column[place]) for column in columns[1:]],
            "sentence": _cell(columns[0][place]),
        }
        for place, condition in enumerate(means.document.conditions)
    ]
    return summary, (
        WITHIN_ITEMS if within else OVER_ITEMS
    ) if means.are_means else WITHIN if within else BETWEEN


def _intervals(table: Floats, *, within: bool) -> list[Mean]:
    """Average the columns; intervals within rows leave out conditions that nobody has, such as of an empty region."""
    if not within:
        return [mean_interval(column) for column in table.T]
    seen = np.flatnonzero((~np.isnan(table)).any(axis=0))
    known = dict(zip(seen.tolist(), within_item_intervals(table[:, seen]), strict=True)) if seen.size else {}
    return [known.get(place, Mean(0, None, None, None)) for place in range(table.shape[1])]


def _mostly_complete(table: Floats) -> bool:
    """Whether at least half of the rows with a value have one in every condition that was observed."""
    seen = ~np.isnan(table)
    seen = seen[seen.any(axis=1)][:, seen.any(axis=0)]
    return not seen.size or (seen.shape[1] > 1 and int(seen.all(axis=1).sum()) >= max(2, len(seen) / 2))


def _cell(mean: Mean) -> dict[str, Any]:
    return {"n": mean.n, "mean": mean.mean, "low": mean.low, "high": mean.high, "not_computed": False}
