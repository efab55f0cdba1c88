"""Human data of a suite as columns, one entry per observation.

Every importer ends here and every statistic starts here. Arrays of equal length instead of objects: an experiment has
up to a few million reading times.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Literal, Self

import numpy as np
from numpy.typing import NDArray

Kind = Literal["reading time", "rating", "binary", "forced choice"]
UNITS: dict[str, str] = {
    "reading time": "ms",
    "rating": "points",
    "binary": "share",
    "forced choice": "share",
}
WHOLE_SENTENCE = 0
"""`region` and `word` of an observation of the whole sentence."""


@dataclass(frozen=True)
class Measure:
    """What was measured.

    Attributes:
        name: as the field calls it, such as "self-paced reading time", "first-pass time", "acceptability".
        kind: reading times are in ms; ratings are points of a scale; "binary" is 0 or 1 for a sentence; "forced choice"
            is 1 for the sentence that was chosen, 0 for the one that was not.
        scale: lowest and highest point of a rating scale; None if unknown or no rating.
    """

    name: str
    kind: Kind
    scale: tuple[float, float] | None = None

    @property
    def unit(self) -> str:
        return UNITS[self.kind]


@dataclass(frozen=True)
class Observations:
    """Observations of one measure for the sentences of one suite.

    Attributes:
        participants: salted keys, in the order of first appearance; empty if the data are means over participants.
        conditions: condition names of the suite, in its order.
        participant: int32[n], index into `participants`; -1 for means over participants.
        item: int32[n], item number of the suite.
        condition: int16[n], index into `conditions`.
        region: int16[n], region number from 1, `WHOLE_SENTENCE` for an observation of the whole sentence.
        word: int16[n], word number in the sentence from 1 (words are separated by whitespace), `WHOLE_SENTENCE` if the
            observation is of a whole region or sentence.
        value: float64[n], in `measure.unit`; never NaN.
        n_participants: int32[n], how many participants the value is a mean of; 1 for single observations.
        trial: int32[n], place of the trial in the participant's session, from 1; 0 if unknown.
    """

    measure: Measure
    participants: tuple[str, ...]
    conditions: tuple[str, ...]
    participant: NDArray[np.int32]
    item: NDArray[np.int32]
    condition: NDArray[np.int16]
    region: NDArray[np.int16]
    word: NDArray[np.int16]
    value: NDArray[np.float64]
    n_participants: NDArray[np.int32] = field(default_factory=lambda: np.empty(0, np.int32))
    trial: NDArray[np.int32] = field(default_factory=lambda: np.empty(0, np.int32))

    def __post_init__(self) -> None:
        n = len(self.value)
        if not len(self.n_participants):
            object.__setattr__(self, "n_participants", np.ones(n, np.int32))
        if not len(self.trial):
            object.__setattr__(self, "trial", np.zeros(n, np.int32))
        lengths = {name: len(getattr(self, name)) for name in COLUMNS}
        if len(set(lengths.values())) > 1:
            raise ValueError(f"columns of different lengths: {lengths}")
        if np.isnan(self.value).any():
            raise ValueError("values must not be NaN; leave missing observations out")

    def __len__(self) -> int:
        return len(self.value)

    @property
    def are_means(self) -> bool:
        """Whether the values are means over participants, so that nothing can be said about single participants."""
        return not self.participants

    def take(self, rows: NDArray[np.bool_] | NDArray[np.int64] | Sequence[int]) -> Self:
        """Select rows by a mask or by indices. Participants without rows keep their key."""
        return replace(self, **{name: getattr(self, name)[rows] for name in COLUMNS})


COLUMNS = tuple(
    name.name for name in fields(Observations) if name.name not in ("measure", "participants", "conditions")
)
"""Names of the arrays of `Observations`."""
