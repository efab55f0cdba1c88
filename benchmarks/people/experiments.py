"""Simulated experiments with a known slope of surprisal: how often its interval contains it, and how long fits take."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np

from lmgym.people.fit_data import FitData, Options
from lmgym.people.gains import fit_model
from lmgym.people.observations import Observations
from lmgym.people.predictors import Units, unit_of, units_of
from lmgym.people.simulate import Experiment, simulate
from lmgym.suites.formats import SentenceDoc, SuiteDocument

SEED = 44
"""Fixed before the first run; experiment k has the seeds (SEED, k)."""
SLOPE = 4.0
MODEL = "known"
CONDITIONS = ("a", "b", "c", "d")


@dataclass(frozen=True)
class Setting:
    """A kind of experiment. Every sentence has `words` words, each a region."""

    name: str
    experiment: Experiment
    n_items: int = 24
    words: int = 8
    options: Options = field(default_factory=lambda: Options(spill_over=1, language=""))


_PLAIN = Experiment(slope=SLOPE, spill_over=(2.0,), noise="normal", minimum=-1e6)
_VARYING = replace(_PLAIN, sd_slope_participants=1.0, sd_slope_items=1.0)
SETTINGS = (
    Setting("40 people, 24 items, 4 conditions, 8 words", _PLAIN),
    Setting("… skewed times, at least 50 ms", replace(_PLAIN, noise="log-normal", minimum=50.0)),
    Setting("… 3 words: 1,920 observations", _PLAIN, words=3),
    Setting("… 20 people, 12 items", replace(_PLAIN, n_participants=20), n_items=12),
    Setting("… slopes of people vary, sd 1 ms a bit", replace(_PLAIN, sd_slope_participants=1.0)),
    Setting("… slopes of people and items vary, sd 1", _VARYING),
    Setting("… the same, fitted with `slopes`", _VARYING, options=Options(language="", slopes=True)),
)
"""The first one decides; the two with varying slopes and without `slopes` break an assumption of the fit."""


@cache
def document(n_items: int, words: int) -> SuiteDocument:
    """A suite whose words are letters of different lengths."""
    lengths = np.random.default_rng(SEED).integers(2, 11, (n_items, len(CONDITIONS), words)).tolist()
    sentences = tuple(
        SentenceDoc(item + 1, name, tuple("x" * n for n in lengths[item][place]))
        for item in range(n_items)
        for place, name in enumerate(CONDITIONS)
    )
    names = tuple(f"word {k + 1}" for k in range(words))
    return SuiteDocument("simulated", "sum", {}, names, CONDITIONS, sentences)


@cache
def _units(n_items: int, words: int) -> Units:
    return units_of(document(n_items, words), "word", "")


def fit_data_of(setting: Setting, number: int) -> FitData:
    """Simulate an experiment: surprisals, participants, items and residuals are drawn."""
    suite = document(setting.n_items, setting.words)
    random = np.random.default_rng((SEED, number))
    bits = random.gamma(4.0, 2.0, (len(suite.sentences), setting.words))
    by_sentence = {(s.item, s.condition): bits[k].tolist() for k, s in enumerate(suite.sentences)}
    seed = int(random.integers(2**31))
    return data_of(suite, simulate(suite, by_sentence, setting.experiment, seed=seed), bits, setting.options)


def data_of(suite: SuiteDocument, people: Observations, bits: np.ndarray, options: Options) -> FitData:
    """Build what `fit_data` builds of a run, without the tokens of one."""
    units = _units(suite.sentences[-1].item, len(suite.region_names))
    unit = unit_of(people, suite, units)
    surprisals = {MODEL: bits.reshape(-1)}
    kept = ~np.isnan(units.before(surprisals[MODEL], options.spill_over))[unit]
    return FitData(
        document=suite,
        options=options,
        units=units,
        participants=people.participants,
        items=suite.items,
        unit=unit[kept],
        participant=people.participant[kept].astype(np.int64),
        item=people.item[kept].astype(np.int64) - 1,
        time=people.value[kept],
        weight=np.ones(int(kept.sum())),
        trial=people.trial[kept].astype(np.int64),
        surprisals=surprisals,
    )


@dataclass(frozen=True)
class Coverage:
    """Percentages of experiments whose interval contains the slope, or lies above or below it; mean estimate, standard
    deviation of the estimates, and mean standard error, in ms a bit."""

    holds: float
    too_high: float
    too_low: float
    mean: float
    sd: float
    standard_error: float
    seconds: float


def coverage(setting: Setting, experiments: int) -> Coverage:
    """Simulate and fit experiments."""
    start, rows = time.perf_counter(), []
    for number in range(experiments):
        fitted = fit_model(fit_data_of(setting, number), MODEL)
        rows.append(next(row for row in fitted.coefficients() if row.term == "surprisal"))
    low, high = (np.array([getattr(row, name) for row in rows]) for name in ("low", "high"))
    estimates = np.array([row.estimate for row in rows])
    share = 100 / experiments
    return Coverage(
        holds=share * float(((low <= SLOPE) & (high >= SLOPE)).sum()),
        too_high=share * float((low > SLOPE).sum()),
        too_low=share * float((high < SLOPE).sum()),
        mean=float(estimates.mean()),
        sd=float(estimates.std(ddof=1)),
        standard_error=float(np.mean([row.standard_error for row in rows])),
        seconds=(time.perf_counter() - start) / experiments,
    )
