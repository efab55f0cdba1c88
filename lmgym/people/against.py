"""Models against people: how well surprisals explain the reading times and judgments of the same sentences."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from lmgym.frames import frame
from lmgym.people.effects import PeopleEffects, model_values, predicted_values
from lmgym.people.export import observation_rows, r_call
from lmgym.people.fit_data import FitData, Options, fit_data
from lmgym.people.gains import ModelFit, cross_validated_gains, fit_model
from lmgym.people.mixed_models import NotFittable
from lmgym.people.observations import Measure, Observations
from lmgym.people.predictors import ScoredSentence, unit_surprisals, units_for
from lmgym.people.region_means import RegionMeans, region_means
from lmgym.people.tables import CellCorrelation, Coefficient, Effect, Fit, Gain, ItemEffect, Observation
from lmgym.people.unevaluable import unevaluable_predictions
from lmgym.runs.scoring import Progress
from lmgym.stats import Comparison
from lmgym.suites.formats import SuiteDocument
from lmgym.text import count
from lmgym.text.columns import columns, row
from lmgym.text.problems import InvalidArgument

if TYPE_CHECKING:
    import pandas as pd

FEW = 10
"""Participants or items below which intervals are marked as unreliable."""


@dataclass(frozen=True)
class Against:
    """Models against people on one suite. Of judgments there are effects and cells only.

    Attributes:
        fit_rows, coefficient_rows: the mixed models, by model.
        gain_rows: in order of rank.
        difference_rows: every model compared with the first-ranked, in nats per observation.
        effect_rows, item_effect_rows: contrasts of the suite's predictions, by model.
        cell_rows: correlations over items and conditions, by model.
        left_out: observations that the fits do not use, by reason.
        models_left_out: models without a fit, and why.
        notices: sentences for readers: what was fitted, predictors left out, small numbers.
        data: the observations of the fits; None for judgments.
    """

    measure: Measure
    fit_rows: tuple[Fit, ...] = ()
    coefficient_rows: tuple[Coefficient, ...] = ()
    gain_rows: tuple[Gain, ...] = ()
    difference_rows: tuple[Comparison, ...] = ()
    effect_rows: tuple[Effect, ...] = ()
    item_effect_rows: tuple[ItemEffect, ...] = ()
    cell_rows: tuple[CellCorrelation, ...] = ()
    left_out: Mapping[str, int] = field(default_factory=dict)
    models_left_out: Mapping[str, str] = field(default_factory=dict)
    notices: tuple[str, ...] = ()
    data: FitData | None = field(default=None, repr=False, compare=False)

    def fits(self) -> pd.DataFrame:
        """Return one row per model: formula, numbers of observations, variance components, log-likelihoods."""
        return _frame(Fit, self.fit_rows)

    def coefficients(self) -> pd.DataFrame:
        """Return the slopes of every fit, with standard errors and 95% intervals; surprisal in ms per bit."""
        return _frame(Coefficient, self.coefficient_rows)

    def gains(self) -> pd.DataFrame:
        """Return the models in order of their gain in log-likelihood over the baseline without surprisal, in nats per
        held-out observation."""
        return _frame(Gain, self.gain_rows)

    def differences(self) -> pd.DataFrame:
        """Return the differences in gain between the first-ranked model and the others, paired over items."""
        return _frame(Comparison, self.difference_rows)

    def effects(self) -> pd.DataFrame:
        """Return the contrasts of the predictions over all items in each model and in people: means, agreement of
        items, correlations and their ceiling."""
        return _frame(Effect, self.effect_rows)

    def item_effects(self) -> pd.DataFrame:
        """Return the contrasts of the predictions by item, in each model and in people."""
        return _frame(ItemEffect, self.item_effect_rows)

    def cells(self) -> pd.DataFrame:
        """Return the correlations of surprisal with people's means over items and conditions, by region."""
        return _frame(CellCorrelation, self.cell_rows)

    def table(self) -> pd.DataFrame:
        """Return the observations of the fits with all predictors, one row per observation and model, for lme4.

        Raises:
            InvalidArgument: nothing was fitted.
        """
        data, models = self._fitted()
        return frame(columns(Observation), observation_rows(data, models))

    @property
    def r_call(self) -> str:
        """R code that fits the same models with lme4 to `table()`, saved as observations.csv.

        Raises:
            InvalidArgument: nothing was fitted.
        """
        return r_call(*self._fitted())

    def _fitted(self) -> tuple[FitData, list[str]]:
        if self.data is None or not self.fit_rows:
            raise InvalidArgument(
                "There are no fits: judgments have none, and for reading times see `notices`."
            )
        return self.data, [fitted.model for fitted in self.fit_rows]


def _frame(kind: type, rows: Sequence[object]) -> pd.DataFrame:
    return frame(columns(kind), map(row, rows))


def against(
    observations: Observations,
    document: SuiteDocument,
    models: Mapping[str, Iterable[ScoredSentence]],
    options: Options | None = None,
    progress: Progress = lambda done, total: None,
) -> Against:
    """Compare models with people on one suite.

    All models are fitted to the same observations: those with a surprisal, and one before them, in every model.

    Args:
        observations: after exclusions and trimming.
        models: sentences of one run on the suite by name of the model, such as `RunResult.sentences`.
        progress: called with the numbers of steps that are done and of all steps; every model takes three:
            its fit, its cross-validation, its effects.

    Raises:
        InvalidArgument: no model, no observation of the suite, observations of words as well as of regions or
            sentences, or a run on another text.
    """
    options = options or Options()
    rows = {name: list(sentences) for name, sentences in models.items()}
    if not rows:
        raise InvalidArgument("There is no model to compare with people.")

    def reach(done: int) -> None:
        progress(done, 3 * len(rows))

    means = region_means(observations, document)
    if not means.cell.size:
        raise InvalidArgument(
            "None of the observations is of the suite's items, conditions, regions and words."
        )
    people = PeopleEffects(means)
    bits = {name: model_values(document, sentences, means.items) for name, sentences in rows.items()}
    result, fits = Against(observations.measure), dict[str, ModelFit]()
    if observations.measure.kind == "reading time":
        result, fits = _fitted(observations, document, rows, options, reach)
    effects, item_effects, cells = [], [], []
    for place, (name, values) in enumerate(bits.items(), start=1):
        predicted = None
        if name in fits and options.transform == "none" and result.data is not None:
            data = result.data
            predicted = predicted_values(means, data.units, data.surprisals[name], fits[name].slopes)
        effects += people.of_model(name, values, predicted)
        item_effects += people.of_items(name, values, predicted)
        cells += people.cells(name, values)
        reach(2 * len(rows) + place)
    return replace(
        result,
        effect_rows=tuple(effects),
        item_effect_rows=tuple(item_effects),
        cell_rows=tuple(cells),
        notices=(
            *result.notices,
            *(prediction.words for prediction in unevaluable_predictions(means, people.values)),
            *_small_numbers(means),
        ),
    )


def _fitted(
    observations: Observations,
    document: SuiteDocument,
    models: Mapping[str, Sequence[ScoredSentence]],
    options: Options,
    reach: Callable[[int], None],
) -> tuple[Against, dict[str, ModelFit]]:
    """Fit every model, and rank them. What cannot be fitted is named in the result."""
    left_out = _without_surprisals(observations, document, models)
    usable = {name: rows for name, rows in models.items() if name not in left_out}
    data = fit_data(observations, document, usable, options)
    fits: dict[str, ModelFit] = {}
    for place, name in enumerate(usable, start=1):
        reach(place)
        try:
            fits[name] = fit_model(data, name)
        except NotFittable as error:
            left_out[name] = str(error)
    notices = _notices(data)
    gains: tuple[Gain, ...] = ()
    differences: tuple[Comparison, ...] = ()
    if fits:
        try:
            found = cross_validated_gains(data, list(fits), lambda done: reach(len(models) + done))
            gains, differences = tuple(found.rows()), tuple(found.differences())
        except NotFittable as error:
            notices.append(f"No gains: {error}")
    result = Against(
        measure=observations.measure,
        fit_rows=tuple(fitted.row for fitted in fits.values()),
        coefficient_rows=tuple(row for fitted in fits.values() for row in fitted.coefficients()),
        gain_rows=gains,
        difference_rows=differences,
        left_out=data.left_out,
        models_left_out=left_out,
        notices=tuple(notices),
        data=data,
    )
    return result, fits


def _without_surprisals(
    observations: Observations, document: SuiteDocument, models: Mapping[str, Sequence[ScoredSentence]]
) -> dict[str, str]:
    """Name the models that would leave no observation, such as results computed elsewhere without tokens."""
    units = units_for(observations, document, language="")
    return {
        name: f"No {units.level} of its run has a surprisal."
        for name, rows in models.items()
        if np.isnan(unit_surprisals(document, units, rows)).all()
    }


def _notices(data: FitData) -> list[str]:
    notices = []
    if data.reduced:
        notices.append(
            f"Means by item and {data.level} are fitted, weighted by participants, because {data.reduced}."
        )
    notices += [f"{name} is not a predictor: {reason}." for name, reason in data.dropped_controls.items()]
    if not data.are_means and "participant" not in data.groupings:
        notices.append("One participant: the fits have no intercepts of participants.")
    if "item" not in data.groupings:
        notices.append(
            "The fits have no intercepts of items: there is one item, or an item has one observation."
        )
    return notices


def _small_numbers(means: RegionMeans) -> list[str]:
    participants, items = len(np.unique(means.row)), means.n_items_observed
    few = [] if means.are_means or participants >= FEW else [count(participants, "participant")]
    few += [] if items >= FEW else [count(items, "item")]
    return [f"Intervals are unreliable with {' and '.join(few)}."] if few else []
