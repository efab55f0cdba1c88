"""The long tables of results: a frozen dataclass for each kind of row, whose fields are the names of its columns.

Everything that shows a result uses these names: frames of `lmgym.Result`, CSV and Parquet, JSON, the API, the client.
docs/names.md is made from these classes (`lmgym.runs.names`). Rows are plain tuples in the order of the fields: a
table of tokens has millions, and an instance of the class takes 8 µs, a tuple 0.1 µs (CPython 3.11).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from lmgym.runs.against_chance import CHANCE_TEST, Verdict
from lmgym.runs.compute import RegionBits, TokenBits
from lmgym.runs.outcomes import COUNTS, OUTCOME_NAMES
from lmgym.runs.rules import MARGINS
from lmgym.stats import MarginSummary
from lmgym.text.columns import Row, columns
from lmgym.text.columns import described as _is


@dataclass(frozen=True)
class RunFacts:
    """The run that a row is of. Values of different `score_kind` or `whitespace` are not comparable."""

    suite: str = _is("name of the suite; its slug on a site")
    suite_sha256: str = _is("digest of the suite's content")
    model: str = _is("name of the model; its slug on a site")
    score_kind: str | None = _is("what the values are: surprisal, or a pseudo-log-likelihood")
    whitespace: str | None = _is("correction of the values for whitespace: none or trailing")


@dataclass(frozen=True)
class StoredRunFacts:
    """The stored run that a row of a site's file is of; on a site, names of suites and models are their slugs."""

    run: str = _is("id of the run")
    suite: str = _is("name of the suite; its slug on a site")
    revision: int = _is("number of the suite's revision")
    suite_sha256: str = _is("digest of the suite's content")
    model: str = _is("name of the model; its slug on a site")
    source: str = _is("computed or uploaded")
    score_kind: str | None = _is("what the values are: surprisal, or a pseudo-log-likelihood")
    whitespace: str | None = _is("correction of the values for whitespace: none or trailing")


@dataclass(frozen=True)
class Policy:
    """How the sentences were scored."""

    bos: str | None = _is("start token: auto, always, never, or the token")
    eos: str | None = _is("whether the end of the sentence was scored")
    join: str | None = _is("how regions were joined to a text: space, natural or none")
    metric: str | None = _is(
        "how a region's value is made of its tokens: sum, mean, median, range, max or min"
    )


@dataclass(frozen=True)
class Predicted:
    """The prediction that a row is about."""

    prediction_number: int = _is("place of the prediction in its suite, from 1")
    prediction: str = _is("name of the prediction, or “Prediction 2”")
    formula: str = _is("formula of the prediction")


@dataclass(frozen=True)
class Rate(Predicted):
    """A prediction over all items (`rates()`; the site's table `predictions`)."""

    n: int = _is("items", "items")
    passed: int = _is("items for which it holds", "items")
    rate: float | None = _is("pass rate", "0 to 1")
    low: float | None = _is("lower limit of the rate’s 95% interval (Wilson)", "0 to 1")
    high: float | None = _is("upper limit of that interval", "0 to 1")
    chance: float | None = _is("chance level of the rate", "0 to 1")
    chance_standard_error: float | None = _is("standard error of the chance level; 0: exact", "0 to 1")
    ties: int = _is("outcomes decided by equal sides; they do not pass", "items")
    too_close: int = _is("outcomes within the bound on the numeric error, counted by their sign", "items")
    not_evaluable: int = _is("outcomes with a region without a value; they do not pass", "items")
    mean_margin: float | None = _is("mean of the items’ margins", "bits")
    p: float | None = _is("exact one-sided p of the rate against chance, upper tail")
    p_below: float | None = _is("exact p of the lower tail; 1 where the rate is not below chance")
    p_corrected: float | None = _is("p, corrected by Holm for the predictions of the run")
    p_below_corrected: float | None = _is("p_below, corrected likewise")
    against_chance: str = _is("verdict: above, at, below, tied, unknown-words, or empty")
    margin_low: float | None = _is("lower limit of the 95% interval of the mean margin", "bits")
    margin_high: float | None = _is("upper limit of the 95% interval of the mean margin", "bits")
    effect_size_g: float | None = _is("Hedges’ g: mean over standard deviation, corrected for few items")


@dataclass(frozen=True)
class Outcome(Predicted):
    """A prediction for one item (`outcomes()`)."""

    item: int = _is("number of the item in its suite")
    outcome: str = _is("held, failed, tie or not evaluable")
    passed: bool = _is("whether it holds")
    margin: float | None = _is("by how much it holds (+) or fails (−)", "bits")
    too_close: bool | None = _is("whether the margin is within the bound on the numeric error")


@dataclass(frozen=True)
class Region:
    """A region of a sentence (`regions()`)."""

    item: int = _is("number of the item in its suite")
    condition: str = _is("name of the condition")
    region_number: int = _is("place of the region in its sentence, from 1")
    region: str = _is("name of the region")
    content: str = _is("text of the region")
    surprisal: float | None = _is(
        "−log₂ of the probability, of the kind that score_kind says; empty: no value", "bits"
    )
    not_computed: bool = _is("no value, because the run has tokens=needed")


@dataclass(frozen=True)
class Token:
    """A token of a sentence, start and end tokens included (`tokens()`)."""

    item: int = _is("number of the item in its suite")
    condition: str = _is("name of the condition")
    token_number: int = _is("place of the token in its sentence, from 1")
    token: str = _is("the token as the vocabulary spells it")
    token_id: int = _is("its number in the vocabulary")
    start: int = _is("place of its first character in the text", "characters, from 0")
    end: int = _is("place behind its last character in the text", "characters, from 0")
    region_number: int | None = _is("place of its region in the sentence, from 1; empty outside regions")
    straddles: bool = _is("whether it belongs to two regions")
    special: bool = _is("whether it is outside regions, as start and end tokens are")
    surprisal: float | None = _is(
        "−log₂ of the probability, of the kind that score_kind says; empty: no value", "bits"
    )
    not_computed: bool = _is("no value, because the run has tokens=needed")


@dataclass(frozen=True)
class Compared(Predicted):
    """A prediction under two models (`compare()`): the second less the first."""

    n: int = _is("items that both have", "items")
    first_rate: float | None = _is("pass rate of the first", "0 to 1")
    second_rate: float | None = _is("pass rate of the second", "0 to 1")
    difference: float | None = _is("second_rate − first_rate", "−1 to 1")
    low: float | None = _is("lower limit of the difference’s 95% interval")
    high: float | None = _is("upper limit of the difference’s 95% interval")
    only_first: int = _is("items that only the first gets right", "items")
    only_second: int = _is("items that only the second gets right", "items")
    p: float = _is("exact two-sided p of McNemar’s test")
    p_corrected: float = _is("p, corrected over all rows")


@dataclass(frozen=True)
class Score:
    """A run under a scoring rule (the site's table `scores`)."""

    rule: str = _is("scoring rule: each, all or first")
    n: int = _is("items", "items")
    passed: int = _is("outcomes that hold, of those judged")
    judged: int = _is("items, or items times predictions under the rule `each`")
    rate: float | None = _is("pass rate under the rule", "0 to 1")
    low: float | None = _is("lower limit of the rate’s 95% interval")
    high: float | None = _is("upper limit of the rate’s 95% interval")
    chance: float | None = _is("chance level under the rule", "0 to 1")
    p: float | None = _is("exact one-sided p of the rate against chance, upper tail")
    ties: int = _is("outcomes decided by equal sides, of those judged")
    too_close: int = _is("outcomes within the bound on the numeric error, of those judged")
    not_evaluable: int = _is("outcomes with a region without a value, of those judged")
    p_below: float | None = _is("exact p of the lower tail; 1 where the rate is not below chance")
    against_chance: str = _is("verdict: above, at, below, tied, unknown-words, or empty")
    mean_margin: float | None = _is("mean of the items’ margins", "bits")
    margin_low: float | None = _is("lower limit of the 95% interval of the mean margin", "bits")
    margin_high: float | None = _is("upper limit of the 95% interval of the mean margin", "bits")
    effect_size_g: float | None = _is("Hedges’ g: mean over standard deviation, corrected for few items")
    n_words: int | None = _is("different words in the run’s sentences; empty: not counted")
    n_unknown_words: int | None = _is("words that the model does not know or spells in pieces")
    coverage: float | None = _is("share of the different words that the model knows", "0 to 1")


IN_BITS = frozenset(
    one.name
    for kind in (Rate, Outcome, Region, Token, Score)
    for one in fields(kind)
    if one.metadata["unit"] == "bits"
)
"""Names of values in bits, for headings."""


_RATES = (*COUNTS, "p")


def region_row(item: int, condition: str, one: RegionBits) -> Row:
    return item, condition, *one


def token_row(item: int, condition: str, number: int, one: TokenBits) -> Row:
    """`number` counts from 1."""
    return (
        item, condition, number, one.token, one.token_id, one.start, one.end, one.region_number, one.straddles,
        one.region_number is None, one.surprisal, one.not_computed,
    )  # fmt: skip


def outcome_rows(position: int, label: str, formula: str, items: Sequence[int], result: Any) -> Iterator[Row]:
    """`result`: a PredictionOutcome or its row. Older results and uploaded outcomes do not say what is too close."""
    near = result.close or [None] * len(items)
    for item, code, margin, close in zip(items, result.outcomes, result.margins, near, strict=True):
        name = OUTCOME_NAMES[code] if code < len(OUTCOME_NAMES) else "not held"
        yield position + 1, label, formula, item, name, code == 1, margin, close


def rate_row(
    position: int,
    label: str,
    formula: str,
    result: Any,
    verdict: Verdict,
    margin: MarginSummary,
    policy: Mapping[str, Any],
) -> Row:
    """`result`: a PredictionOutcome or its row."""
    return (
        position + 1, label, formula, *values(result, _RATES), *values(verdict, CHANCE_TEST),
        *values(margin, MARGINS[1:]), *policy_values(policy),
    )  # fmt: skip


def policy_values(policy: Mapping[str, Any]) -> Row:
    return tuple(str(policy[name]) if name in policy else None for name, _ in columns(Policy))


def values(row: Any, names: Iterable[str]) -> Row:
    return tuple(getattr(row, name) for name in names)
