"""The observations that mixed models are fitted to, the same for every compared model, and their predictors."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

import numpy as np

from lmgym.people.mixed_models import Grouping
from lmgym.people.observations import Observations
from lmgym.people.predictors import (
    Bools,
    Floats,
    Ints,
    Level,
    ScoredSentence,
    Units,
    unit_of,
    unit_surprisals,
    units_for,
)
from lmgym.suites.formats import SuiteDocument
from lmgym.text import count
from lmgym.text.problems import InvalidArgument

Transform = Literal["none", "log"]
CONTROLS = ("length", "log_frequency", "words", "position", "trial")
"""Predictors of the baseline. Those that are unknown or constant in the data are left out."""
FLAGS = ("is_first", "is_last")
"""Further predictors that can be chosen: whether a unit is the first or the last of its sentence."""
TERM_UNITS = {
    "length": "characters",
    "log_frequency": "Zipf",
    "words": "words",
    "position": "words",
    "trial": "trials",
    "surprisal": "bits",
    "surprisal_1": "bits",
    "surprisal_2": "bits",
}
_UNKNOWN = {
    "log_frequency": "wordfreq has no frequencies of the suite's language, or the suite does not state it",
    "trial": "not known for all observations",
}
"""Why a predictor can be unknown."""
MAX_CROSSED = 1_000_000
"""Observations; above, models are fitted to means by item and word. A million take 2 s for REML and ML on one core, and
7 s for cross-validation (`benchmarks/people`)."""
MAX_STEPS = 500_000_000
"""Multiplications in one evaluation of the likelihood (levels of the larger grouping times the square of those of the
smaller one), which take 0.1 s; above, means are fitted."""
_DEPENDENT = 1e-8
"""Share of a predictor's variance that the others must leave unexplained."""


@dataclass(frozen=True)
class Options:
    """Settings of a comparison with people.

    Attributes:
        spill_over: number of previous words or regions whose surprisal is a predictor, 0 to 2.
        transform: "log" fits natural logarithms of times, which must be positive.
        regions: numbers of the regions whose observations are fitted; None = all.
        language: BCP 47 tag for frequencies; None = that of the suite, "" = no frequencies.
        controls: predictors of the baseline, of CONTROLS and FLAGS.
        folds: of the cross-validation.
        slopes: the fits have random slopes of the surprisal, by participant and by item; gains are of fits with
            intercepts only.
    """

    spill_over: int = 1
    transform: Transform = "none"
    regions: Collection[int] | None = None
    language: str | None = None
    controls: Collection[str] = CONTROLS
    folds: int = 10
    slopes: bool = False

    def __post_init__(self) -> None:
        if self.spill_over not in (0, 1, 2):
            raise InvalidArgument(f"spill_over={self.spill_over!r} must be 0, 1 or 2.")
        if self.transform not in ("none", "log"):
            raise InvalidArgument(f"transform={self.transform!r} must be 'none' or 'log'.")
        if unknown := [name for name in self.controls if name not in (*CONTROLS, *FLAGS)]:
            raise InvalidArgument(f"Unknown control {unknown[0]!r}. Choose {', '.join((*CONTROLS, *FLAGS))}.")
        if self.folds < 2:
            raise InvalidArgument(f"folds={self.folds!r} must be at least 2.")

    @property
    def surprisal_terms(self) -> tuple[str, ...]:
        return ("surprisal", *(f"surprisal_{k}" for k in range(1, self.spill_over + 1)))


@dataclass(frozen=True, eq=False)
class FitData:
    """Observations with predictors, as columns of equal length. Rows without one of the predictors, in any model, are
    left out, so that likelihoods of models can be compared.

    Attributes:
        unit: int64[n], index into `units`.
        participant: int64[n], index into `participants`; empty for means.
        item: int64[n], index into `items`.
        time: float64[n], in ms.
        weight: float64[n], participants that the time is a mean of.
        trial: int64[n]; 0 = unknown.
        surprisals: float64[units] by model, in bits.
        left_out: observations that are not used, by reason.
        reduced: why means by item and word are fitted instead of single observations; "" if they are not.
    """

    document: SuiteDocument
    options: Options
    units: Units
    participants: tuple[str, ...]
    items: tuple[int, ...]
    unit: Ints
    participant: Ints
    item: Ints
    time: Floats
    weight: Floats
    trial: Ints
    surprisals: Mapping[str, Floats]
    left_out: Mapping[str, int] = field(default_factory=dict)
    reduced: str = ""

    def __len__(self) -> int:
        return len(self.time)

    @property
    def are_means(self) -> bool:
        return not self.participants

    @property
    def level(self) -> Level:
        return self.units.level

    @cached_property
    def y(self) -> Floats:
        """What is fitted: times, or their logarithms."""
        return np.log(self.time) if self.options.transform == "log" else self.time

    @cached_property
    def groupings(self) -> dict[str, Grouping]:
        """Random intercepts by name, without groupings of one level, or of as many levels as observations."""
        sizes = {
            "participant": (self.participant, len(self.participants)),
            "item": (self.item, len(self.items)),
        }
        return {
            name: Grouping(levels, size)
            for name, (levels, size) in sizes.items()
            if 2 <= size < len(self.time)
        }

    def groupings_with_slopes(self, model: str) -> dict[str, Grouping]:
        """Random intercepts, and slopes of the centred surprisal."""
        bits = self.surprisal(model, 0)
        columns = np.column_stack([np.ones(len(self)), bits - bits.mean()])
        return {name: replace(grouping, columns=columns) for name, grouping in self.groupings.items()}

    def column(self, term: str) -> Floats | None:
        """Return a predictor of the baseline; None if it is not known for all observations."""
        units, own = self.units, self.unit
        if term == "trial":
            return self.trial.astype(np.float64) if (self.trial > 0).all() else None
        if term == "log_frequency":
            return None if units.log_frequency is None else units.log_frequency[own]
        name = {"position": "word"}.get(term, term)
        return np.asarray(getattr(units, name)[own], dtype=np.float64)

    def surprisal(self, model: str, distance: int) -> Floats:
        """Return the bits of the unit `distance` units before; NaN if there is none."""
        return self.units.before(self.surprisals[model], distance)[self.unit]

    @cached_property
    def baseline(self) -> tuple[tuple[str, ...], Floats]:
        """Names and columns of the baseline, with an intercept; constant and dependent predictors are left out."""
        kept = {name: column for name in self.options.controls if (column := self.column(name)) is not None}
        return _independent(np.ones((len(self), 1)), kept)

    def with_surprisal(self, model: str) -> tuple[tuple[str, ...], Floats]:
        """Names and columns of the baseline and the surprisal terms of a model."""
        names, columns = self.baseline
        terms = {name: self.surprisal(model, k) for k, name in enumerate(self.options.surprisal_terms)}
        more, columns = _independent(columns, terms)
        return (*names, *more), columns

    @cached_property
    def dropped_controls(self) -> dict[str, str]:
        """Controls that were chosen but are not predictors, and why."""
        expected = [name for name in self.options.controls if not (name == "words" and self.level == "word")]
        return {
            name: _UNKNOWN.get(name, "unknown")
            if self.column(name) is None
            else "constant, or determined by the others"
            for name in expected
            if name not in self.baseline[0]
        }


def _independent(columns: Floats, more: Mapping[str, Floats]) -> tuple[tuple[str, ...], Floats]:
    """Append the columns that do not depend linearly on those before them. The first column is ones."""
    names = []
    for name, column in more.items():
        spread = column - column.mean()
        if float(spread @ spread) <= _DEPENDENT * float(column @ column):
            continue
        rest = columns[:, 1:] - columns[:, 1:].mean(axis=0)
        slopes = np.linalg.lstsq(rest.T @ rest, rest.T @ spread, rcond=None)[0]
        residual = spread - rest @ slopes
        if residual @ residual > _DEPENDENT * (spread @ spread):
            names.append(name)
            columns = np.column_stack([columns, column])
    return tuple(names), columns


def fit_data(
    observations: Observations,
    document: SuiteDocument,
    models: Mapping[str, Iterable[ScoredSentence]],
    options: Options,
) -> FitData:
    """Select the observations that can be fitted, with their predictors.

    Raises:
        InvalidArgument: mixed observations, or a run on another text.
    """
    units = units_for(observations, document, options.language)
    if units.level == "sentence":
        options = replace(options, spill_over=0)
    surprisals = {name: unit_surprisals(document, units, rows) for name, rows in models.items()}
    unit = unit_of(observations, document, units)
    usable = np.ones(len(units), np.bool_)
    for bits in surprisals.values():
        for distance in range(options.spill_over + 1):
            usable &= ~np.isnan(units.before(bits, distance))
    has_before = ~np.isnan(units.before(np.zeros(len(units)), options.spill_over))
    in_regions = np.isin(units.region, list(options.regions or ())) | (options.regions is None)
    positive = (observations.value > 0) | (options.transform == "none")
    opening = f"first {units.level}" if options.spill_over < 2 else f"first two {units.level}s"
    reasons: dict[str, Bools] = {
        "not in the suite": unit < 0,
        "in other regions": ~in_regions[unit],
        f"of the {opening} of the sentence": ~has_before[unit],
        "without a surprisal, or without one before it": ~usable[unit],
        "of 0 or less, so without a logarithm": ~positive,
    }
    kept, left_out = np.ones(len(unit), np.bool_), {}
    for reason, affected in reasons.items():
        if n := int((kept & affected).sum()):
            left_out[reason] = n
        kept &= ~affected
    rows = np.flatnonzero(kept)
    sentences = document.sentences
    item_of = np.array([sentence.item for sentence in sentences], dtype=np.int64)[units.sentence]
    items, item = np.unique(item_of[unit[rows]], return_inverse=True)
    people, participant = np.unique(observations.participant[rows], return_inverse=True)
    means = observations.are_means
    data = FitData(
        document=document,
        options=options,
        units=units,
        participants=() if means else tuple(observations.participants[k] for k in people.tolist()),
        items=tuple(items.tolist()),
        unit=unit[rows],
        participant=np.zeros(0, np.int64) if means else participant.astype(np.int64),
        item=item.astype(np.int64),
        time=observations.value[rows],
        weight=observations.n_participants[rows].astype(np.float64),
        trial=observations.trial[rows].astype(np.int64),
        surprisals=surprisals,
        left_out=left_out,
    )
    if means:
        return data
    small, large = sorted((len(data.participants), len(data.items)))
    if len(data) > MAX_CROSSED:
        return _averaged(data, f"there are {count(len(data), 'observation')}, more than {MAX_CROSSED:,}")
    if large * small**2 > MAX_STEPS:
        return _averaged(
            data, f"there are {len(data.participants):,} participants and {len(data.items):,} items"
        )
    return data


def _averaged(data: FitData, reason: str) -> FitData:
    """Average over participants, by item and word or region. With logarithms, times are geometric means."""
    units, place = np.unique(data.unit, return_inverse=True)
    weight = np.bincount(place, data.weight).astype(np.float64)
    means = np.bincount(place, data.weight * data.y) / weight
    return replace(
        data,
        participants=(),
        participant=np.zeros(0, np.int64),
        unit=units,
        item=data.item[np.unique(place, return_index=True)[1]],
        time=np.exp(means) if data.options.transform == "log" else means,
        weight=weight,
        trial=np.zeros(len(units), np.int64),
        reduced=reason,
    )
