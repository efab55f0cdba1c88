"""Exclusion of participants and observations, and trimming, with what each setting dropped."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from lmgym.people.observations import Observations

Trimming = Literal["none", "sd", "mad"]
Within = Literal["all", "participant", "condition", "participant and condition"]


@dataclass(frozen=True)
class Exclusions:
    """Settings, in the order in which they are applied. The defaults drop nothing.

    Attributes:
        minimum_accuracy: participants with a smaller share of correct answers are dropped; None = all are kept.
            Participants whose accuracy is unknown are kept.
        practice_trials: number of first trials of each participant that are dropped, by trial order.
        minimum, maximum: values outside are dropped, in the measure's unit (ms); None = no limit.
        trimming: "sd" drops values more than `cutoff` standard deviations from the mean, "mad" those more than `cutoff`
            scaled median absolute deviations (1.4826 x MAD) from the median, after the limits above.
        within: groups in which the mean or median is computed.
        maximum_dropped: participants of whose observations a larger share was dropped by the settings above are dropped
            altogether; None = all are kept.
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
        ValueError: the data lack what a setting needs (participants, order of trials, accuracy), or `log` with data that are
            no reading times.
    """
    raise NotImplementedError
