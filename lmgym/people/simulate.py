"""Simulated self-paced reading with a known effect of surprisal: Observations, and a PCIbex results file of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from lmgym.people.observations import Observations
from lmgym.suites.formats.documents import SuiteDocument


@dataclass(frozen=True)
class Experiment:
    """Settings of a simulated experiment. Times are in ms.

    Attributes:
        n_participants: divided evenly over the lists of a Latin square: each reads each item in one condition.
        intercept: expected reading time at mean surprisal.
        slope: effect of the word's surprisal, ms a bit.
        spill_over: effects of the surprisals of previous words, ms a bit; the first is that of the previous word.
        sd_participants, sd_items: standard deviations of random intercepts.
        sd_slope_participants, sd_slope_items: standard deviations of random slopes, ms a bit.
        sd_noise: standard deviation of the residual.
        noise: "normal"; "log-normal" noise is skewed, with the same mean (0) and standard deviation.
        minimum: times are not shorter than this, as nobody presses a key faster.
    """

    n_participants: int = 40
    intercept: float = 350.0
    slope: float = 3.0
    spill_over: tuple[float, ...] = ()
    sd_participants: float = 60.0
    sd_items: float = 15.0
    sd_slope_participants: float = 0.0
    sd_slope_items: float = 0.0
    sd_noise: float = 90.0
    noise: Literal["normal", "log-normal"] = "log-normal"
    minimum: float = 50.0


def simulate(
    document: SuiteDocument,
    surprisals: Mapping[tuple[int, str], Sequence[float]],
    experiment: Experiment = Experiment(),
    *,
    seed: int,
    by: Literal["word", "region"] = "word",
) -> Observations:
    """Simulate reading times of every word or region of the sentences that each participant reads.

    Args:
        surprisals: (item, condition) to bits of each word (words are separated by whitespace) or region of the sentence.
            NaN, as for an unscored first word, counts as the mean.
        seed: equal seeds and arguments give equal times, rounded to whole ms.

    Returns:
        Observations in the order in which they were read; participants are called p001, p002, …

    Raises:
        ValueError: a sentence lacks surprisals, or has another number of them than words or regions.
    """
    raise NotImplementedError


def pcibex_results(observations: Observations, document: SuiteDocument) -> str:
    """Write observations by word or region as a results file of PCIbex with DashedSentence trials, one block of header
    and rows per participant."""
    raise NotImplementedError
