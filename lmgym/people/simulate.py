"""Simulated self-paced reading with a known effect of surprisal: Observations, and a PCIbex results file of them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from lmgym.people.intake.pcibex import encoded
from lmgym.people.intake.words import words_of
from lmgym.people.observations import WHOLE_SENTENCE, Measure, Observations
from lmgym.suites.formats.documents import SuiteDocument

LOG_SD = 0.6
"""Standard deviation of the logarithm of log-normal noise before it is scaled; its skewness is 2.3."""
MEASURE = Measure("self-paced reading time", "reading time")


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


DEFAULT = Experiment()


def simulate(
    document: SuiteDocument,
    surprisals: Mapping[tuple[int, str], Sequence[float]],
    experiment: Experiment = DEFAULT,
    *,
    seed: int,
    by: Literal["word", "region"] = "word",
) -> Observations:
    """Simulate reading times of every word or region of the sentences that each participant reads.

    Args:
        surprisals: (item, condition) to bits of each word (see `words_of`) or region of the sentence. NaN, as for an
            unscored first word, counts as the mean.
        seed: equal seeds and arguments give equal times, rounded to whole ms.

    Returns:
        Observations in the order in which they were read; participants are called p001, p002, …

    Raises:
        ValueError: a sentence lacks surprisals, or has another number of them than words or regions.
    """
    random = np.random.default_rng(seed)
    stimuli = _stimuli(document, surprisals, experiment, by)
    items = {number: k for k, number in enumerate(document.items)}
    people = _effects(
        random, experiment.n_participants, experiment.sd_participants, experiment.sd_slope_participants
    )
    of_items = _effects(random, len(items), experiment.sd_items, experiment.sd_slope_items)
    blocks: list[_Trial] = []
    owners: list[int] = []
    for reader in range(experiment.n_participants):
        sentences = _list(document, reader % len(document.conditions))
        for k in random.permutation(len(sentences)).tolist():
            blocks.append(stimuli[sentences[k]])
            owners.append(reader)
    lengths = [len(block.word) for block in blocks]
    person = np.repeat(owners, lengths)
    place = np.repeat([items[block.item] for block in blocks], lengths)
    expected = np.concatenate([block.effect for block in blocks])
    bits = np.concatenate([block.bits for block in blocks])
    value = experiment.intercept + expected + people[0][person] + of_items[0][place]
    value += bits * (people[1][person] + of_items[1][place])
    value = np.maximum(np.round(value + _noise(random, experiment, len(value))), experiment.minimum)
    firsts = np.concatenate([[0], np.cumsum(np.bincount(owners, minlength=experiment.n_participants))])[:-1]
    trial = np.repeat(np.arange(len(blocks)) - firsts[owners] + 1, lengths)
    return Observations(
        MEASURE,
        tuple(f"p{k + 1:03d}" for k in range(experiment.n_participants)),
        document.conditions,
        person.astype(np.int32),
        np.repeat([block.item for block in blocks], lengths).astype(np.int32),
        np.repeat([document.conditions.index(block.condition) for block in blocks], lengths).astype(np.int16),
        np.concatenate([block.region for block in blocks]).astype(np.int16),
        np.concatenate([block.word for block in blocks]).astype(np.int16),
        value,
        trial=trial.astype(np.int32),
    )


@dataclass(frozen=True)
class _Trial:
    """A sentence: words or regions, centred surprisals, and their expected effect in ms."""

    item: int
    condition: str
    word: NDArray[np.int64]
    region: NDArray[np.int64]
    bits: NDArray[np.float64]
    effect: NDArray[np.float64]


def _stimuli(
    document: SuiteDocument,
    surprisals: Mapping[tuple[int, str], Sequence[float]],
    experiment: Experiment,
    by: Literal["word", "region"],
) -> dict[tuple[int, str], _Trial]:
    """Return the sentences, with surprisals centred on the mean of all of them."""
    known = [value for values in surprisals.values() for value in values if not math.isnan(value)]
    mean = float(np.mean(known)) if known else 0.0
    stimuli = {}
    for sentence in document.sentences:
        key = (sentence.item, sentence.condition)
        chunks = [
            (chunk.word, chunk.region, chunk.region - 1 if by == "region" else chunk.word - 1)
            for chunk in words_of(sentence)
        ]
        if by == "region":
            chunks = list(dict.fromkeys((WHOLE_SENTENCE, region, place) for _, region, place in chunks))
        n = len(sentence.contents) if by == "region" else len(chunks)
        values = np.asarray(surprisals.get(key, ()), np.float64)
        if len(values) != n:
            raise ValueError(f"item {key[0]}, {key[1]}: {n} {by}s, but {len(values)} surprisals")
        word, region, place = (np.array(column, np.int64) for column in zip(*chunks, strict=True))
        bits = np.nan_to_num(values[place] - mean, nan=0.0)
        effect = experiment.slope * bits
        for back, slope in enumerate(experiment.spill_over, start=1):
            effect[back:] += slope * bits[:-back]
        stimuli[key] = _Trial(*key, word, region, bits, effect)
    return stimuli


def _list(document: SuiteDocument, number: int) -> list[tuple[int, str]]:
    """Return the sentences of a list of the Latin square: item k in condition k + number."""
    table = document.table()
    keys = [
        (item, document.conditions[(k + number) % len(document.conditions)])
        for k, item in enumerate(document.items)
    ]
    return [key for key in keys if key in table]


def _effects(random: np.random.Generator, n: int, sd: float, sd_slope: float) -> NDArray[np.float64]:
    """Draw random intercepts and slopes: float64[2, n]."""
    return np.stack([random.normal(0, sd, n), random.normal(0, sd_slope, n)])


def _noise(random: np.random.Generator, experiment: Experiment, n: int) -> NDArray[np.float64]:
    """Draw residuals with mean 0 and the experiment's standard deviation."""
    if experiment.noise == "normal":
        return random.normal(0, experiment.sd_noise, n)
    drawn = random.lognormal(0, LOG_SD, n)
    mean, sd = math.exp(LOG_SD**2 / 2), math.sqrt((math.exp(LOG_SD**2) - 1) * math.exp(LOG_SD**2))
    return (drawn - mean) / sd * experiment.sd_noise


# --- PCIbex ---

_COMMON = (
    "Results reception time",
    "MD5 hash of participant's IP address",
    "Controller name",
    "Order number of item",
    "Inner element number",
    "Label",
    "Latin Square Group",
    "PennElementType",
    "PennElementName",
    "Parameter",
    "Value",
    "EventTime",
)
_OF_WORDS = ("Reading time", "Newline?", "Sentence (or sentence MD5)", "Condition", "Item", "Comments")
_START = 1_600_000_000


def pcibex_results(observations: Observations, document: SuiteDocument) -> str:
    """Write observations by word or region as a results file of PCIbex with DashedSentence trials, one block of header
    and rows per participant. Values are written as whole ms."""
    return "\n".join(_lines(observations, document)) + "\n"


def _lines(observations: Observations, document: SuiteDocument) -> Iterator[str]:
    table = document.table()
    words = {key: {chunk.word: chunk.text for chunk in words_of(sentence)} for key, sentence in table.items()}
    for person, name in enumerate(observations.participants):
        rows = np.flatnonzero(observations.participant == person)
        received = str(_START + person)
        yield from ("#", "# Results on a simulated day", "# USER AGENT: simulation", "#")
        yield "# Columns below this comment are as follows:"
        yield from (f"# {k}. {column}." for k, column in enumerate((*_COMMON, "Comments"), start=1))
        yield f"{received},{name},PennController,0,0,consent,NULL,PennController,0,_Trial_,Start,{received}000,NULL"
        yield from (f"# {k}. {column}." for k, column in enumerate(_OF_WORDS, start=len(_COMMON) + 1))
        previous, chunk = -1, 0
        for row in rows.tolist():
            item, condition = (
                int(observations.item[row]),
                observations.conditions[observations.condition[row]],
            )
            sentence, trial = table[item, condition], int(observations.trial[row])
            chunk = chunk + 1 if trial == previous else 1
            previous = trial
            word, region = int(observations.word[row]), int(observations.region[row])
            text = words[item, condition][word] if word else sentence.contents[region - 1]
            yield ",".join(
                (
                    *(received, name, "PennController", str(trial), "0", "trial", "NULL"),
                    *(
                        "Controller-DashedSentence",
                        "DashedSentence",
                        str(chunk),
                        encoded(text),
                        f"{received}000",
                    ),
                    *(f"{observations.value[row]:.0f}", "false", encoded(sentence.text), encoded(condition)),
                    *(str(item), "NULL"),
                )
            )
