"""Rows of the tables of models against people: one frozen dataclass per kind of row, its fields are the columns.

The frames of `Against`, files, JSON and docs/names.md take names, types, units and meanings from the fields
(`lmgym.text.columns`). Reading times are in ms, judgments in points or shares; negated where the meaning says so.
"""

from __future__ import annotations

from dataclasses import dataclass

from lmgym.runs.tables import Predicted
from lmgym.stats import Comparison
from lmgym.text.columns import described


@dataclass(frozen=True)
class Model:
    """The model a row is about."""

    model: str = described("name of the model; its slug on a site")


@dataclass(frozen=True)
class Fit(Model):
    """The mixed model of reading times with the surprisals of one model."""

    fixed_formula: str = described("formula of the fit, as lme4 writes it")
    n: int = described("observations", "observations")
    n_participants: int | None = described("participants; empty: means over participants", "participants")
    n_items: int = described("items", "items")
    participant_sd: float | None = described(
        "standard deviation of the participants’ intercepts", "ms or log ms"
    )
    item_sd: float | None = described("standard deviation of the items’ intercepts", "ms or log ms")
    participant_slope_sd: float | None = described(
        "standard deviation of the participants’ slopes of surprisal; empty: none were fitted",
        "ms or log ms per bit",
    )
    item_slope_sd: float | None = described(
        "standard deviation of the items’ slopes of surprisal; empty: none were fitted",
        "ms or log ms per bit",
    )
    residual_sd: float = described("standard deviation of the residuals", "ms or log ms")
    log_likelihood: float = described("log-likelihood, estimated by ML", "nats")
    restricted_log_likelihood: float = described("restricted log-likelihood (REML)", "nats")


@dataclass(frozen=True)
class Coefficient(Model):
    """A slope of the mixed model of reading times, estimated by REML."""

    term: str = described("predictor: a column of the table of observations, or (Intercept)")
    estimate: float = described("slope", "ms, or log ms, per unit of the term")
    standard_error: float = described("its standard error", "as the estimate")
    low: float = described("lower limit of its 95% interval (Wald)", "as the estimate")
    high: float = described("upper limit of its 95% interval (Wald)", "as the estimate")
    term_unit: str = described(
        "unit of the term: bits, characters, Zipf, words, trials; empty: the intercept"
    )


@dataclass(frozen=True)
class Gain(Model):
    """By how much the surprisals of a model improve the prediction of reading times of held-out items."""

    rank: int = described("place among the models, from 1: the largest gain")
    n: int = described("observations", "observations")
    n_items: int = described("items", "items")
    gain: float = described(
        "log-likelihood minus that of the baseline without surprisal", "nats per observation"
    )
    low: float | None = described("lower limit of its 95% interval over items", "nats per observation")
    high: float | None = described("upper limit of its 95% interval over items", "nats per observation")


@dataclass(frozen=True)
class Contrast(Predicted, Model):
    """A comparison in a prediction, as the difference in the predicted direction."""

    contrast: str = described("difference that the prediction says is positive")


@dataclass(frozen=True)
class ItemEffect(Contrast):
    """A contrast of one item in the model and in people."""

    item: int = described("number of the item in its suite")
    bits: float | None = described("difference of surprisals", "bits")
    people: float | None = described(
        "difference of people’s means; of judgments: of negated means, so that worse is higher",
        "ms, points or share",
    )
    predicted: float | None = described(
        "difference that the slopes of surprisal predict; empty for judgments and log times", "ms"
    )


@dataclass(frozen=True)
class Effect(Contrast):
    """A contrast over all items, in the model and in people."""

    n: int = described("items with a value in the model and in people", "items")
    bits: float | None = described("mean difference of surprisals over these items", "bits")
    people: float | None = described(
        "people’s mean difference over these items; of judgments: of negated means, so that worse is higher",
        "ms, points or share",
    )
    people_low: float | None = described(
        "lower limit of its 95% interval over participants and items", "as people"
    )
    people_high: float | None = described(
        "upper limit of its 95% interval over participants and items", "as people"
    )
    predicted: float | None = described(
        "mean difference over these items that the slopes of surprisal predict; empty for judgments and log times",
        "ms",
    )
    same_direction: int = described("items in which model and people prefer the same condition", "items")
    agreement: float | None = described("share of items in which they do", "0 to 1")
    agreement_low: float | None = described("lower limit of its 95% interval (Wilson)", "0 to 1")
    agreement_high: float | None = described("upper limit of its 95% interval (Wilson)", "0 to 1")
    pearson: float | None = described("correlation over items of the model’s and people’s differences")
    pearson_low: float | None = described("lower limit of its 95% interval (Fisher’s z)")
    pearson_high: float | None = described("upper limit of its 95% interval (Fisher’s z)")
    spearman: float | None = described("rank correlation over items of the model’s and people’s differences")
    spearman_low: float | None = described("lower limit of its 95% interval (Bonett and Wright)")
    spearman_high: float | None = described("upper limit of its 95% interval (Bonett and Wright)")
    reliability: float | None = described(
        "reliability of people’s differences: mean correlation of random halves of the participants, Spearman–Brown"
    )
    ceiling: float | None = described("highest correlation to be expected: square root of the reliability")


@dataclass(frozen=True)
class CellCorrelation(Model):
    """Correlation of surprisal and people’s means over items and conditions, of one region or of sentences."""

    region_number: int | None = described("number of the region in its sentence, from 1; empty: the sentence")
    n: int = described("items in one condition with a value in the model and in people")
    pearson: float | None = described("correlation over items and conditions; of judgments: of negated means")
    pearson_low: float | None = described("lower limit of its 95% interval (Fisher’s z)")
    pearson_high: float | None = described("upper limit of its 95% interval (Fisher’s z)")
    spearman: float | None = described(
        "rank correlation over items and conditions; of judgments: of negated means"
    )
    spearman_low: float | None = described("lower limit of its 95% interval (Bonett and Wright)")
    spearman_high: float | None = described("upper limit of its 95% interval (Bonett and Wright)")
    reliability: float | None = described(
        "reliability of people’s means: mean correlation of random halves of the participants, Spearman–Brown"
    )
    ceiling: float | None = described("highest correlation to be expected: square root of the reliability")


@dataclass(frozen=True)
class Observation(Model):
    """An observation with all predictors. Those that the mixed models cannot use are left out."""

    participant: str | None = described("salted key of the participant; empty: a mean over participants")
    item: int = described("number of the item in its suite")
    condition: str = described("name of the condition")
    region_number: int = described("number of the region in its sentence, from 1")
    word_number: int | None = described("number of the word in its sentence, from 1; empty: a whole region")
    content: str = described("text of the word or region")
    time: float = described("reading time", "ms")
    log_time: float | None = described("its natural logarithm; empty: not positive", "log ms")
    n_participants: int = described("participants that the time is a mean of", "participants")
    surprisal: float = described("−log₂ of the probability of the word or region", "bits")
    surprisal_1: float | None = described("surprisal of the word or region before it", "bits")
    surprisal_2: float | None = described("surprisal of the word or region before that", "bits")
    length: int = described("characters without spaces", "characters")
    log_frequency: float | None = described(
        "Zipf frequency in the corpora of wordfreq, summed over words; empty: no frequencies of the language",
        "Zipf",
    )
    words: int = described("words in the region; 1 for a word", "words")
    position: int = described("number of the first word in its sentence, from 1", "words")
    is_first: bool = described("true for the first word or region with text")
    is_last: bool = described("true for the last word or region with text")
    trial: int | None = described("place of the trial in the session, from 1; empty: unknown", "trials")


@dataclass(frozen=True)
class HumanValue:
    """An observation of a data set, with all that reading the file again needs."""

    participant: str | None = described("the participant; empty: mean over participants")
    item: int = described("number of the item in its suite; -1: mean over all items")
    condition: str = described("name of the condition")
    region_number: int | None = described("number of the region in its sentence, from 1; empty: the sentence")
    region: str | None = described("name of the region")
    word_number: int | None = described(
        "number of the word in its sentence, from 1; empty: region or sentence"
    )
    text: str | None = described("the word, region or sentence in the suite; empty: mean over all items")
    value: float = described("the measure", "ms, points or share")
    n_participants: int = described("participants that the value is a mean of", "participants")
    trial: int | None = described("place of the trial in the session, from 1; empty: unknown", "trials")
    used: bool = described("false: dropped by the exclusions")
    measure: str = described("what was measured")
    kind: str = described("reading time, rating, binary or forced choice")
    scale_low: float | None = described("lowest point of the rating scale; empty: unknown or no rating")
    scale_high: float | None = described("highest point of the rating scale; empty: unknown or no rating")


@dataclass(frozen=True)
class PeopleMean:
    """People’s mean in a region of a condition."""

    condition: str = described("name of the condition")
    region_number: int | None = described("number of the region in its sentence, from 1; empty: the sentence")
    region: str = described("name of the region")
    n: int = described("participants; items if the values are means over participants")
    mean: float | None = described("mean of the participants’ means", "ms, points or share")
    low: float | None = described("lower limit of its 95% interval", "as the mean")
    high: float | None = described("upper limit of its 95% interval", "as the mean")


@dataclass(frozen=True)
class PeopleValue:
    """People’s mean in a region of a sentence."""

    item: int = described("number of the item in its suite")
    condition: str = described("name of the condition")
    region_number: int | None = described("number of the region in its sentence, from 1; empty: the sentence")
    content: str = described("text of the region")
    n: int = described("participants")
    mean: float = described("mean over participants", "ms, points or share")


TABLES: dict[str, tuple[type, ...]] = {
    "human data": (HumanValue,),
    "people means": (PeopleMean,),
    "people values": (PeopleValue,),
    "against: fits": (Fit,),
    "against: coefficients": (Coefficient,),
    "against: gains": (Gain,),
    "against: differences": (Comparison,),
    "against: effects": (Effect,),
    "against: item_effects": (ItemEffect,),
    "against: cells": (CellCorrelation,),
    "against: table": (Observation,),
}
"""Classes of the tables of docs/names.md."""
