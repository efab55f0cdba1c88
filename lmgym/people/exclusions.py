"""Exclusion of participants and observations, and trimming, with what each setting dropped."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from lmgym.people.observations import Observations
from lmgym.text import count

Trimming = Literal["none", "sd", "mad"]
Within = Literal["all", "participant", "condition", "participant and condition"]

MAD_SCALE = 1.4826
"""Median absolute deviation of a normal distribution, as a share of its standard deviation, inverted."""


@dataclass(frozen=True)
class Exclusions:
    """Settings, in the order in which they are applied. The defaults drop nothing.

    Attributes:
        minimum_accuracy: participants with a smaller share of correct answers are dropped; None = all are kept.
            Participants whose accuracy is unknown are kept.
        practice_trials: number of first trials of each participant among the data that are dropped, by trial order.
        minimum, maximum: values outside are dropped, in the measure's unit (ms); None = no limit.
        trimming: "sd" drops values more than `cutoff` standard deviations from the mean, "mad" those more than `cutoff`
            scaled median absolute deviations (1.4826 x MAD) from the median, after the limits above.
        within: groups in which the mean or median is computed.
        maximum_dropped: participants who lost a larger share of their observations to the limits and the trimming are
            dropped altogether; None = all are kept.
        log: models and intervals use the natural logarithm of reading times. Values are stored untransformed.
    """

    minimum_accuracy: float | None = None
    practice_trials: int = 0
    minimum: float | None = None
    maximum: float | None = None
    trimming: Trimming = "none"
    cutoff: float = 2.5
    within: Within = "participant"
    maximum_dropped: float | None = None
    log: bool = False

    def __post_init__(self) -> None:
        """Raise ValueError for settings that make no sense."""
        for name in ("minimum_accuracy", "maximum_dropped"):
            share = getattr(self, name)
            if share is not None and not 0 <= share <= 1:
                raise ValueError(f"{name} is a share between 0 and 1, not {share}")
        if self.minimum is not None and self.maximum is not None and self.minimum >= self.maximum:
            raise ValueError(f"minimum ({self.minimum:g}) must be below maximum ({self.maximum:g})")
        if self.trimming not in get_args(Trimming) or self.within not in get_args(Within):
            raise ValueError(f"trimming is one of {get_args(Trimming)}, within one of {get_args(Within)}")
        if not self.cutoff > 0:
            raise ValueError(f"cutoff must be above 0, not {self.cutoff}")
        if self.practice_trials < 0:
            raise ValueError(f"practice_trials must not be negative, but is {self.practice_trials}")


NO_EXCLUSIONS = Exclusions()


@dataclass(frozen=True)
class Dropped:
    """What one setting dropped.

    Attributes:
        setting: name of the field of `Exclusions`.
        label: the setting in words: "shorter than 100 ms".
        n_observations: number of observations that it dropped; those dropped before are not counted again.
        participants: keys of participants that it dropped altogether.
    """

    setting: str
    label: str
    n_observations: int
    participants: tuple[str, ...] = ()


@dataclass(frozen=True)
class Applied:
    """Observations that remain, and what each setting dropped, in the order applied.

    `kept` is bool[n] over the observations before. `observations.participants` keeps dropped participants' keys.
    """

    observations: Observations
    kept: NDArray[np.bool_]
    dropped: tuple[Dropped, ...]
    log: bool = False


def exclude(
    observations: Observations,
    settings: Exclusions = NO_EXCLUSIONS,
    accuracy: NDArray[np.float64] | None = None,
) -> Applied:
    """Apply the settings.

    Args:
        accuracy: float64[n_participants], as `Matched.accuracy`; needed for `minimum_accuracy`.

    Raises:
        ValueError: the data lack what a setting needs (participants, order of trials, accuracy), or `log` is set for
            data that are no reading times.
    """
    _check(observations, settings, accuracy)
    state = _State(observations, np.ones(len(observations), bool))
    if settings.minimum_accuracy is not None and accuracy is not None:
        low = accuracy < settings.minimum_accuracy  # NaN, which is unknown, compares false
        state.drop_people("minimum_accuracy", f"accuracy below {_percent(settings.minimum_accuracy)}", low)
    if settings.practice_trials:
        label = f"first {count(settings.practice_trials, 'trial')}"
        state.drop("practice_trials", label, _practice(observations, settings.practice_trials))
    start = state.kept.copy()
    unit = observations.measure.unit
    if settings.minimum is not None:
        state.drop("minimum", f"below {settings.minimum:g} {unit}", observations.value < settings.minimum)
    if settings.maximum is not None:
        state.drop("maximum", f"above {settings.maximum:g} {unit}", observations.value > settings.maximum)
    if settings.trimming != "none":
        state.drop("trimming", _trimming_label(settings), _outliers(observations, state.kept, settings))
    if settings.maximum_dropped is not None:
        n = len(observations.participants)
        before = np.bincount(observations.participant[start], minlength=n)
        after = np.bincount(observations.participant[state.kept], minlength=n)
        many = before - after > settings.maximum_dropped * before
        label = f"more than {_percent(settings.maximum_dropped)} of a participant’s observations dropped"
        state.drop_people("maximum_dropped", label, many)
    return Applied(observations.take(state.kept), state.kept, tuple(state.dropped), settings.log)


def _percent(share: float) -> str:
    return f"{round(100 * share, 6):g}%"


def _check(observations: Observations, settings: Exclusions, accuracy: NDArray[np.float64] | None) -> None:
    needs_people = (
        settings.minimum_accuracy is not None
        or settings.maximum_dropped is not None
        or settings.practice_trials
    )
    if observations.are_means and (
        needs_people or (settings.trimming != "none" and "participant" in settings.within)
    ):
        raise ValueError(
            "the data are means over participants, so single participants cannot be excluded or trimmed"
        )
    if settings.practice_trials and not observations.trial.any():
        raise ValueError("the order of trials is unknown, so the first ones cannot be dropped")
    if settings.minimum_accuracy is not None and (accuracy is None or np.isnan(accuracy).all()):
        raise ValueError("the accuracy of participants is unknown")
    if settings.log and observations.measure.kind != "reading time":
        raise ValueError("only reading times can be log-transformed")


@dataclass
class _State:
    observations: Observations
    kept: NDArray[np.bool_]
    dropped: list[Dropped] = field(default_factory=list)

    def drop(self, setting: str, label: str, rows: NDArray[np.bool_], people: tuple[str, ...] = ()) -> None:
        """Drop observations that are not dropped yet, and count them."""
        self.dropped.append(Dropped(setting, label, int((rows & self.kept).sum()), people))
        self.kept = self.kept & ~rows

    def drop_people(self, setting: str, label: str, people: NDArray[np.bool_]) -> None:
        keys = tuple(key for key, drop in zip(self.observations.participants, people, strict=True) if drop)
        self.drop(setting, label, people[self.observations.participant], keys)


def _practice(observations: Observations, n: int) -> NDArray[np.bool_]:
    """Select observations of each participant's first n trials among those of the data."""
    people, trials = observations.participant.astype(np.int64), observations.trial.astype(np.int64)
    width = int(trials.max()) + 1
    seen, codes = np.unique(people * width + trials, return_inverse=True)
    owners = seen // width
    rank = np.arange(len(seen)) - np.searchsorted(owners, owners)
    early: NDArray[np.bool_] = (rank < n)[codes]
    return early


def _groups(observations: Observations, within: Within) -> NDArray[np.int64]:
    people, conditions = observations.participant.astype(np.int64), observations.condition.astype(np.int64)
    if within == "participant":
        return people
    if within == "condition":
        return conditions
    if within == "all":
        return np.zeros(len(people), np.int64)
    return people * len(observations.conditions) + conditions


def _outliers(observations: Observations, kept: NDArray[np.bool_], settings: Exclusions) -> NDArray[np.bool_]:
    """Select values far from the centre of their group, computed over the observations kept so far."""
    drop = np.zeros(len(kept), bool)
    rows = np.flatnonzero(kept)
    _, codes = np.unique(_groups(observations, settings.within)[rows], return_inverse=True)
    order = np.argsort(codes, kind="stable")
    for members in np.split(rows[order], np.cumsum(np.bincount(codes))[:-1]):
        values = observations.value[members]
        if settings.trimming == "sd":
            centre, spread = values.mean(), values.std(ddof=1) if len(values) > 1 else 0.0
        else:
            centre = np.median(values)
            spread = MAD_SCALE * np.median(np.abs(values - centre))
        if spread > 0:
            drop[members] = np.abs(values - centre) > settings.cutoff * spread
    return drop


def _trimming_label(settings: Exclusions) -> str:
    spread = "standard deviations from the mean" if settings.trimming == "sd" else "MADs from the median"
    of = {
        "all": "of all values",
        "participant": "of the participant",
        "condition": "of the condition",
        "participant and condition": "of the participant in the condition",
    }[settings.within]
    return f"more than {settings.cutoff:g} {spread} {of}"
