"""Mixed models of reading times on surprisals, and how much surprisals help to predict held-out items.

Slopes are estimated by REML, for nearly unbiased variances. The gain is a difference of log-likelihoods of models with
different predictors, so these are fitted by ML.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from lmgym.people.fit_data import TERM_UNITS, FitData
from lmgym.people.mixed_models import MixedFit, NotFittable, fit
from lmgym.people.predictors import Bools, Floats
from lmgym.people.region_means import SEED
from lmgym.people.tables import Coefficient, Fit, Gain
from lmgym.stats import Comparison
from lmgym.stats.intervals import Z95
from lmgym.stats.paired import bootstrap_mean

INTERCEPT = "(Intercept)"


@dataclass(frozen=True, eq=False)
class ModelFit:
    """The mixed model with the surprisals of one model. `terms`: names of the coefficients without the intercept."""

    model: str
    terms: tuple[str, ...]
    reml: MixedFit
    row: Fit

    @property
    def slopes(self) -> dict[str, float]:
        return dict(zip(self.terms, self.reml.coefficients[1:].tolist(), strict=True))

    def coefficients(self) -> list[Coefficient]:
        """Return the rows of its slopes, with 95% Wald intervals."""
        return [
            Coefficient(self.model, term, b, se, b - Z95 * se, b + Z95 * se, TERM_UNITS.get(term, ""))
            for term, b, se in zip(
                (INTERCEPT, *self.terms),
                self.reml.coefficients.tolist(),
                self.reml.standard_errors.tolist(),
                strict=True,
            )
        ]


def formula_text(data: FitData, terms: Sequence[str]) -> str:
    """Write a fit as lme4 does: time ~ length + surprisal + (1 | participant) + (1 | item)."""
    response = "log_time" if data.options.transform == "log" else "time"
    parts = [*terms, *(f"(1 | {name})" for name in data.groupings)]
    if data.options.slopes:
        parts += [f"(0 + scale(surprisal, scale = FALSE) | {name})" for name in data.groupings]
    return f"{response} ~ {' + '.join(parts) or '1'}"


def fit_model(data: FitData, model: str) -> ModelFit:
    """Fit reading times with the surprisals of one model.

    Raises:
        NotFittable: the surprisals are constant or a sum of multiples of other predictors, or the data do not determine
            the fit.
    """
    terms, x = data.with_surprisal(model)
    if not any(term in data.options.surprisal_terms for term in terms):
        raise NotFittable("Its surprisals do not vary, or other predictors determine them.")
    groupings = data.groupings_with_slopes(model) if data.options.slopes else data.groupings
    effects, weights = list(groupings.values()), _weights(data)
    reml = fit(data.y, x, effects, weights=weights)
    ml = fit(data.y, x, effects, weights=weights, reml=False, start=reml)
    sd = {name: (*sds, None)[:2] for name, sds in zip(groupings, reml.sd, strict=True)}
    participant_sd, item_sd = (sd.get(name, (None, None)) for name in ("participant", "item"))
    row = Fit(
        model=model,
        fixed_formula=formula_text(data, terms),
        n=len(data),
        n_participants=len(data.participants) or None,
        n_items=len(data.items),
        participant_sd=participant_sd[0],
        item_sd=item_sd[0],
        participant_slope_sd=participant_sd[1],
        item_slope_sd=item_sd[1],
        residual_sd=reml.residual_sd,
        log_likelihood=ml.log_likelihood,
        restricted_log_likelihood=reml.log_likelihood,
    )
    return ModelFit(model, terms, reml, row)


def _weights(data: FitData) -> Floats | None:
    """Weights of the observations; None if they are all single observations."""
    return None if (data.weight == 1).all() else data.weight


@dataclass(frozen=True, eq=False)
class Gains:
    """Gains of all models over the same items.

    Attributes:
        n: float64[items], observations.
        totals: float64[items] by model: log-likelihood of the item's observations minus that of the baseline, in nats.
    """

    n: Floats
    totals: dict[str, Floats]

    def rows(self) -> list[Gain]:
        """Return the gains per observation in order, with intervals by bootstrap over items (`bootstrap_mean`)."""
        means = {model: float(total.sum() / self.n.sum()) for model, total in self.totals.items()}
        ranked = sorted(means, key=lambda model: (-means[model], model))
        rows = []
        for rank, model in enumerate(ranked, start=1):
            low, high = self._interval(self.totals[model])
            rows.append(Gain(model, rank, int(self.n.sum()), len(self.n), means[model], low, high))
        return rows

    def differences(self) -> list[Comparison]:
        """Compare every model with the first-ranked one, paired over items."""
        rows = self.rows()
        return [self._difference(rows[0], other) for other in rows[1:]]

    def _difference(self, first: Gain, second: Gain) -> Comparison:
        low, high = self._interval(self.totals[second.model] - self.totals[first.model])
        return Comparison(
            first=first.model,
            second=second.model,
            measure="gain",
            n=len(self.n),
            first_value=first.gain,
            second_value=second.gain,
            difference=second.gain - first.gain,
            low=low,
            high=high,
            only_first=None,
            only_second=None,
            test="",
            p=None,
        )

    def _interval(self, totals: Floats) -> tuple[float | None, float | None]:
        return bootstrap_mean(totals / self.n, seed=SEED, weights=self.n) or (None, None)


def cross_validated_gains(
    data: FitData, models: Sequence[str], done: Callable[[int], None] = lambda number: None
) -> Gains:
    """Compute the gain in log-likelihood of each model on items that it was not fitted to.

    Items are divided at random (SEED) into folds. Baseline and model are fitted by ML to the other folds. A held-out
    observation has the normal density around its predicted time, which includes the participant's intercept; its
    variance is that of the residual plus that of the intercepts of items, because the item is new.

    Args:
        done: called with the number of models that are done.

    Raises:
        NotFittable: fewer than two items, or a fold's fit fails.
    """
    n_items = len(data.items)
    if n_items < 2:
        raise NotFittable("Cross-validation needs at least two items.")
    folds = np.random.default_rng(SEED).permutation(n_items) % min(data.options.folds, n_items)
    held_out = [folds[data.item] == fold for fold in range(int(folds.max()) + 1)]
    baseline = _held_out_likelihood(data, data.baseline[1], held_out)
    totals: dict[str, Floats] = {}
    for number, model in enumerate(models, start=1):
        gain = _held_out_likelihood(data, data.with_surprisal(model)[1], held_out) - baseline
        totals[model] = np.bincount(data.item, gain, minlength=n_items).astype(np.float64)
        done(number)
    return Gains(np.bincount(data.item, minlength=n_items).astype(np.float64), totals)


def _held_out_likelihood(data: FitData, x: Floats, held_out: Sequence[Bools]) -> Floats:
    """Return float64[n], the log density of every observation, predicted from the other folds."""
    density = np.empty(len(data))
    for test in held_out:
        train = ~test
        groupings = {name: grouping.take(train) for name, grouping in data.groupings.items()}
        fitted = fit(
            data.y[train], x[train], list(groupings.values()), weights=data.weight[train], reml=False
        )
        mean = x[test] @ fitted.coefficients
        variance = fitted.residual_sd**2 / data.weight[test]
        for name, (sd,), intercepts in zip(groupings, fitted.sd, fitted.effects, strict=True):
            levels = data.groupings[name].levels[test]
            is_new = np.bincount(groupings[name].levels, minlength=groupings[name].size)[levels] == 0
            mean += intercepts[levels, 0]
            variance += sd**2 * is_new
        density[test] = -0.5 * (np.log(2 * np.pi * variance) + (data.y[test] - mean) ** 2 / variance)
    return density
