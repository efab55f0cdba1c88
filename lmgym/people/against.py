"""Models against people: how well the surprisals of models explain reading times and judgments of the same sentences."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from lmgym.people.observations import Measure, Observations
from lmgym.people.predictors import Level, ScoredSentence
from lmgym.people.tables import CellCorrelation, Coefficient, Effect, Fit, Gain, ItemEffect
from lmgym.stats import Comparison
from lmgym.suites.formats import SuiteDocument

if TYPE_CHECKING:
    import pandas as pd

Transform = Literal["none", "log"]
SEED = 20_440
FOLDS = 10


@dataclass(frozen=True)
class LeftOut:
    """A model that could not be compared, and why; or observations that could not be used."""

    what: str
    n: int | None
    reason: str


@dataclass(frozen=True)
class Against:
    """Models against people on one suite. Judgments have no fits, coefficients, gains and differences.

    Attributes:
        level: what an observation of the fits is of.
        n: observations in the fits, the same for all models.
        means: True if the fits are of item-by-word means, because there are more than MAX_CROSSED observations or the
            data are means over participants.
        gain_rows: in order of rank.
        difference_rows: each model against the first-ranked, second − first, in nats per observation.
        left_out: models and observations that were not used.
        notices: sentences for readers: predictors without effect, small numbers of participants or items.
    """

    measure: Measure
    level: Level
    transform: Transform
    n: int
    means: bool
    fit_rows: tuple[Fit, ...]
    coefficient_rows: tuple[Coefficient, ...]
    gain_rows: tuple[Gain, ...]
    difference_rows: tuple[Comparison, ...]
    effect_rows: tuple[Effect, ...]
    item_effect_rows: tuple[ItemEffect, ...]
    cell_rows: tuple[CellCorrelation, ...]
    left_out: tuple[LeftOut, ...]
    notices: tuple[str, ...]

    def coefficients(self) -> pd.DataFrame:
        """Return the slopes of every model's fit, with standard errors and 95% intervals."""
        raise NotImplementedError

    def gains(self) -> pd.DataFrame:
        """Return the models in order of their gain in log-likelihood over the baseline without surprisal."""
        raise NotImplementedError

    def effects(self) -> pd.DataFrame:
        """Return the contrasts of the predictions over all items, in each model and in people."""
        raise NotImplementedError

    def table(self) -> pd.DataFrame:
        """Return the observations of the fits with all predictors, one row per observation and model, for lme4."""
        raise NotImplementedError

    @property
    def r_call(self) -> str:
        """R code that fits the same models with lme4 to the file of `table()`."""
        raise NotImplementedError


def against(
    observations: Observations,
    document: SuiteDocument,
    models: Mapping[str, Iterable[ScoredSentence]],
    *,
    spill_over: int = 1,
    transform: Transform = "none",
    regions: Collection[int] | None = None,
    language: str | None = None,
    folds: int = FOLDS,
) -> Against:
    """Compare models with people on one suite.

    Args:
        observations: after exclusions and trimming.
        models: sentences of one run on the suite by name of the model, such as `RunResult.sentences`.
        spill_over: number of previous words or regions whose surprisal is a predictor, 0 to 2.
        transform: "log" fits natural logarithms of times, which must be positive.
        regions: numbers of the regions whose observations are fitted; None = all.
        language: BCP 47 tag for frequencies; None = that of the suite.
        folds: of the cross-validation; items are divided among them at random (SEED).

    Raises:
        InvalidArgument: no observations of the suite, no model, or an unknown option.
    """
    raise NotImplementedError
