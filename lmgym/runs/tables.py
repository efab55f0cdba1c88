"""Rows of result tables: one frozen dataclass per kind of row; its field names are the column names.

The frames of `lmgym.Result`, CSV and Parquet files, JSON, the API and the client all use these names, and docs/names.md
is generated from the classes (`lmgym.runs.names`). Rows are plain tuples in the order of the fields: a table of tokens
has millions, and an instance takes 8 µs to create, a tuple 0.1 µs (CPython 3.11). Comparisons: `lmgym.runs.comparison`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from lmgym.runs.against_chance import CHANCE_TEST, Verdict
from lmgym.runs.compute import RegionBits, TokenBits
from lmgym.runs.coverage import WordCounts
from lmgym.runs.outcomes import COUNTS
from lmgym.runs.rules import RuleCounts
from lmgym.runs.statistics import STATISTICS, RunStatistics
from lmgym.suites.formulas import OUTCOME_NAMES, TRUE
from lmgym.text.columns import Row, columns, described


@dataclass(frozen=True)
class SuiteFacts:
    """The suite a row belongs to."""

    suite: str = described("name of the suite; its slug on a site")
    suite_sha256: str = described("digest of the suite’s content")


@dataclass(frozen=True)
class RunFacts(SuiteFacts):
    """The run a row belongs to. Values of different `score_kind` or `whitespace` are not comparable."""

    model: str = described("name of the model; its slug on a site")
    score_kind: str | None = described("kind of the values: surprisal, or a pseudo-log-likelihood")
    whitespace: str | None = described("whitespace correction of the values: none or trailing")


@dataclass(frozen=True)
class StoredRunFacts:
    """The stored run a row belongs to, in files of a site. Suites and models are named by their slugs."""

    run: str = described("id of the run")
    suite: str = described("name of the suite; its slug on a site")
    revision: int = described("number of the suite’s revision")
    suite_sha256: str = described("digest of the suite’s content")
    model: str = described("name of the model; its slug on a site")
    source: str = described("computed or uploaded")
    score_kind: str | None = described("kind of the values: surprisal, or a pseudo-log-likelihood")
    whitespace: str | None = described("whitespace correction of the values: none or trailing")


@dataclass(frozen=True)
class Policy:
    """Scoring policy: how the sentences were scored."""

    bos: str | None = described("start token: auto, always, never, or the token")
    eos: bool | None = described("whether the end token was scored")
    join: str | None = described("how regions were joined into text: space, natural or none")
    metric: str | None = described(
        "how a region’s value is computed from its tokens: sum, mean, median, range, max or min"
    )


@dataclass(frozen=True)
class Predicted:
    """The prediction a row is about."""

    prediction_number: int = described("number of the prediction in its suite, from 1")
    prediction: str = described("name of the prediction, or “Prediction N” if it has none")
    formula: str = described("formula of the prediction")


@dataclass(frozen=True)
class Rate(Predicted):
    """Counts of a prediction over all items, and their tests against chance."""

    n: int = described("items", "items")
    passed: int = described("items that pass", "items")
    rate: float | None = described("pass rate", "0 to 1")
    low: float | None = described("lower limit of the rate’s 95% interval (Wilson)", "0 to 1")
    high: float | None = described("upper limit of the rate’s 95% interval (Wilson)", "0 to 1")
    chance: float | None = described("chance level of the rate", "0 to 1")
    chance_standard_error: float | None = described("standard error of the chance level; 0: exact", "0 to 1")
    ties: int = described("outcomes decided by equal sides; they do not pass", "items")
    too_close: int = described(
        "outcomes whose margin is within the bound on the numeric error; the sign of the margin decides",
        "items",
    )
    not_evaluable: int = described("outcomes in which a region has no value; they do not pass", "items")
    passed_with_sums: int | None = described(
        "items that pass if sums of bits are compared; empty: compared regions have equally many tokens, or the "
        "numbers of tokens are unknown",
        "items",
    )
    passed_with_means: int | None = described(
        "items that pass if means of bits per token are compared, also of sentences (`*`)", "items"
    )
    changed_by_length: int | None = described(
        "items that pass with sums or with means, but not with both", "items"
    )
    p: float | None = described("exact one-sided p of the rate against chance, upper tail")
    p_below: float | None = described("exact p of the lower tail; 1 where the rate is not below chance")
    p_corrected: float | None = described("p, Holm-corrected for the number of predictions in the run")
    p_below_corrected: float | None = described(
        "p_below, Holm-corrected for the number of predictions in the run"
    )
    against_chance: str = described("verdict: above, at, below, tied, missing, unknown-words, or empty")


@dataclass(frozen=True)
class PredictionRate(RunStatistics, Rate):
    """A prediction over all items (`rates()`; the site's table `predictions`)."""


@dataclass(frozen=True)
class GroupCounts(Predicted):
    """Counts of a prediction over the items with one value of item data."""

    item_data: str = described("name of the item data")
    group: str | None = described("value that these items have; empty: they have none")
    n: int = described("items", "items")
    passed: int = described("items that pass", "items")
    rate: float | None = described("pass rate", "0 to 1")
    low: float | None = described("lower limit of the rate’s 95% interval (Wilson)", "0 to 1")
    high: float | None = described("upper limit of the rate’s 95% interval (Wilson)", "0 to 1")
    chance: float | None = described("chance level of the rate", "0 to 1")
    ties: int = described("outcomes decided by equal sides; they do not pass", "items")
    not_evaluable: int = described("outcomes in which a region has no value; they do not pass", "items")


@dataclass(frozen=True)
class GroupRate(RunStatistics, GroupCounts):
    """The items with one value of item data, under one prediction (`rates_by()`)."""


@dataclass(frozen=True)
class Outcome(Predicted):
    """One item under one prediction (`outcomes()`)."""

    item: int = described("number of the item in its suite")
    outcome: str = described(", ".join(OUTCOME_NAMES))
    passed: bool = described("true if the item passes")
    margin: float | None = described("by how much the prediction holds (+) or fails (−)", "bits")
    too_close: bool | None = described(
        "true if the margin is within the bound on the numeric error; empty: unknown"
    )


@dataclass(frozen=True)
class Region:
    """A region of a sentence (`regions()`)."""

    item: int = described("number of the item in its suite")
    condition: str = described("name of the condition")
    region_number: int = described("number of the region in its sentence, from 1")
    region: str = described("name of the region")
    content: str = described("text of the region")
    surprisal: float | None = described(
        "−log₂ of the probability; score_kind names the kind; empty: no value", "bits"
    )
    not_computed: bool = described("true: no value, because the run has tokens=needed")


@dataclass(frozen=True)
class Token:
    """A token of a sentence, start and end tokens included (`tokens()`)."""

    item: int = described("number of the item in its suite")
    condition: str = described("name of the condition")
    token_number: int = described("number of the token in its sentence, from 1")
    token: str = described("the token as the vocabulary spells it")
    token_id: int = described("number of the token in the vocabulary")
    start: int = described("offset of its first character in the text", "characters, from 0")
    end: int = described("offset after its last character in the text", "characters, from 0")
    region_number: int | None = described(
        "number of its region in the sentence, from 1; empty outside regions"
    )
    straddles: bool = described("true if the token spans more than one region")
    special: bool = described("true for a token outside regions, such as a start or end token")
    surprisal: float | None = described(
        "−log₂ of the probability; score_kind names the kind; empty: no value", "bits"
    )
    not_computed: bool = described("true: no value, because the run has tokens=needed")


@dataclass(frozen=True)
class ScoredBy:
    """The scoring rule a row is about."""

    rule: str = described("scoring rule: each, all or first")


@dataclass(frozen=True)
class Score(RuleCounts, ScoredBy):
    """Counts of a run under a scoring rule, and their test against chance."""

    p_below: float | None = described("exact p of the lower tail; 1 where the rate is not below chance")
    against_chance: str = described("verdict: above, at, below, tied, missing, unknown-words, or empty")


@dataclass(frozen=True)
class RuleScore(RunStatistics, Score):
    """A run under a scoring rule (the site's table `scores`)."""


RATES = (PredictionRate, Policy)
"""Columns of the predictions table: the frame of `rates()` and the site's table `predictions`."""
SCORES = (RuleScore, WordCounts, Policy)
"""Columns of the site's table `scores`."""

IN_BITS = frozenset(
    column.name
    for kind in (PredictionRate, Outcome, Region, Token, RuleScore)
    for column in fields(kind)
    if column.metadata["unit"] == "bits"
)
"""Columns in bits, for headings."""


_COUNTS_OF_RATES = tuple(name for name in (*COUNTS, "p") if name not in STATISTICS)


def region_row(item: int, condition: str, region: RegionBits) -> Row:
    return item, condition, *region


def token_row(item: int, condition: str, number: int, token: TokenBits) -> Row:
    """Build the row of a token; `number` from 1."""
    return (
        item, condition, number, token.token, token.token_id, token.start, token.end, token.region_number,
        token.straddles, token.region_number is None, token.surprisal, token.not_computed,
    )  # fmt: skip


def outcome_rows(position: int, label: str, formula: str, items: Sequence[int], result: Any) -> Iterator[Row]:
    """Yield the rows of a prediction. `result`: a PredictionOutcome or its database row. Uploads do not record which
    outcomes are too close."""
    near = result.close or [None] * len(items)
    for item, code, margin, close in zip(items, result.outcomes, result.margins, near, strict=True):
        yield position + 1, label, formula, item, OUTCOME_NAMES[code], code == TRUE, margin, close


def prediction_rate(
    position: int, label: str, formula: str, result: Any, verdict: Verdict, statistics: Any
) -> PredictionRate:
    """Build the row of a prediction. `result`: a PredictionOutcome or its database row; `statistics`: RunStatistics or
    the database row."""
    return PredictionRate(
        position + 1, label, formula, *values(result, _COUNTS_OF_RATES), *values(verdict, CHANCE_TEST),
        *values(statistics, STATISTICS),
    )  # fmt: skip


def policy_values(policy: Mapping[str, Any]) -> Row:
    return tuple(policy.get(name) for name, _ in columns(Policy))


def values(row: Any, names: Iterable[str]) -> Row:
    return tuple(getattr(row, name) for name in names)
