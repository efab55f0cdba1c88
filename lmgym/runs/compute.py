"""Compute the outcomes of a run from token surprisals, on the site and in the library.

Pure: no Django, no torch. Input: a document and one score per sentence. Output: region values, outcomes, margins and
rates. Values are in bits.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from lmgym.models.engine import ScoringFailure, ScoringPolicy, TokenError
from lmgym.runs.needed import needed_cells
from lmgym.runs.outcomes import (
    ASSUMED_ERROR,
    Grid,
    PredictionOutcome,
    Reference,
    evaluate_predictions,
    listed,
)
from lmgym.runs.token_arrays import (
    Aligned,
    Bools,
    Columns,
    Floats,
    Ints,
    Scores,
    Values,
    align_all,
    columns_of,
    needed_alone,
    share_prefixes,
    values_of,
    without_leading_blanks,
)
from lmgym.stats.intervals import mean_interval
from lmgym.suites.formats import SentenceDoc, SuiteDocument
from lmgym.suites.regions import JoinedSentence, join

StoredToken: TypeAlias = list[Any]
"""The values of a TokenRow as JSON stores them."""


class TokenRow(NamedTuple):
    """A token as stored; `region` is 0-based, −1 outside regions. `surprisal` is in bits."""

    token: str
    token_id: int
    start: int
    end: int
    surprisal: float | None
    region: int
    straddles: bool


@dataclass(frozen=True)
class SentenceResult:
    """Surprisals of one sentence, in bits.

    Attributes:
        regions: by region; None = no value.
        special_surprisal: sum over tokens outside regions.
        surprisal: of the whole sentence; None = no value.
        tokens: for each token, the values of a TokenRow.
        not_computed: indices of tokens that were not scored because no prediction needs them.
    """

    position: int
    item: int
    condition: str
    text: str
    regions: list[float | None]
    special_surprisal: float
    surprisal: float | None
    tokens: list[StoredToken]
    failure: str = ""
    not_computed: list[int] = field(default_factory=list)

    def columns(self) -> dict[str, Any]:
        """Return the values of the stored columns."""
        return {name: getattr(self, name) for name in STORED}


STORED = ("text", "regions", "special_surprisal", "surprisal", "tokens", "failure", "not_computed")
"""Attributes of a `SentenceResult` that are columns of its database row under the same names."""


class RegionBits(NamedTuple):
    """A region of a sentence as written to every output, numbered from 1. `surprisal` is in bits."""

    region_number: int
    region: str
    content: str
    surprisal: float | None
    not_computed: bool


class TokenBits(NamedTuple):
    """A token of a sentence as written to every output; `region_number` is None outside regions. `surprisal`
    is in bits."""

    token: str
    token_id: int
    start: int
    end: int
    surprisal: float | None
    region_number: int | None
    straddles: bool
    not_computed: bool


def region_bits(names: Sequence[str], contents: Sequence[str], result: Any) -> Iterator[RegionBits]:
    """Yield the regions of a SentenceResult or its database row. A region with a token that was not scored because no
    prediction needs it is marked `not_computed`."""
    skipped = {TokenRow(*result.tokens[number]).region for number in result.not_computed}
    cells = zip(names, contents, result.regions, strict=True)
    for place, (name, content, bits) in enumerate(cells):
        yield RegionBits(place + 1, name, content, bits, place in skipped)


def token_bits(result: Any) -> Iterator[TokenBits]:
    """Yield the tokens of a SentenceResult or its database row."""
    skipped = set(result.not_computed)
    for place, stored in enumerate(result.tokens):
        token = TokenRow(*stored)
        home = token.region + 1 if token.region >= 0 else None
        yield TokenBits(*token[:5], home, bool(token.straddles), place in skipped)


@dataclass(frozen=True)
class RunResult:
    items: list[int]
    sentences: list[SentenceResult]
    predictions: list[PredictionOutcome]
    region_summary: list[dict[str, object]]

    @property
    def n_unscored(self) -> int:
        return sum(bool(row.failure) for row in self.sentences)

    @property
    def complete(self) -> bool:
        """Whether all tokens were requested, not only those that predictions need."""
        return not any(row.not_computed for row in self.sentences)


def metric_of(document: SuiteDocument) -> str:
    """Return the metric a run uses by default: the document's, the first of a list, or `sum` for "all"."""
    return default_metric(document.metric)


def default_metric(metric: str | Sequence[str]) -> str:
    """Return the default metric (see `metric_of`) for a value of `meta.metric`."""
    if isinstance(metric, str):
        return "sum" if metric == "all" else metric
    return str(metric[0]) if metric else "sum"


def joined_sentences(document: SuiteDocument, policy: ScoringPolicy) -> list[JoinedSentence]:
    """Join the regions of every sentence into the text that is scored, in document order."""
    return [join(row.contents, policy.join) for row in document.sentences]


@dataclass(frozen=True)
class Measured:
    """All sentences of a document with their values as arrays; see `token_arrays`."""

    document: SuiteDocument
    joined: Sequence[JoinedSentence]
    scores: Sequence[Scores]
    policy: ScoringPolicy
    columns: Columns
    aligned: Aligned
    values: Values

    def grid(self) -> Grid:
        values = self.values
        moved = (
            2 if self.policy.whitespace == "trailing" else 0
        )  # the whitespace correction adds a boundary value before and after a region
        tokens, all_tokens = (n + moved * (n > 0) for n in (values.tokens, values.all_tokens))
        grid = _grid(self.document, values.regions, values.total, tokens, all_tokens)
        sums = _sums(self.document.sentences, values.regions, values.tokens, self.policy.metric)
        if sums is None:
            return grid
        by_length = _grid(self.document, sums, values.total, values.tokens, values.all_tokens)
        return replace(grid, sums=by_length.bits, lengths=by_length.tokens)

    def summary(self) -> list[dict[str, object]]:
        columns, skipped = self.columns, np.zeros(self.values.regions.shape, np.bool_)
        tokens = np.flatnonzero(columns.not_computed & (self.aligned.region >= 0))
        skipped[columns.sentence[tokens], self.aligned.region[tokens]] = True
        return _summarise(self.document, self.values.regions, skipped)

    def rows(self) -> list[SentenceResult]:
        """Return one result per sentence, to store and export."""
        regions, total = listed(self.values.regions), listed(self.values.total)
        bits, region = listed(self.columns.bits), self.aligned.region.tolist()
        straddles, special = self.aligned.straddles.tolist(), self.values.special.tolist()
        starts, rows = self.columns.starts.tolist(), []
        skipped = self.columns.not_computed
        for at, (sentence, joined, scores) in enumerate(
            zip(self.document.sentences, self.joined, self.scores, strict=True)
        ):
            head = (at, sentence.item, sentence.condition, joined.text)
            if isinstance(scores, ScoringFailure):
                empty: list[float | None] = [None] * len(joined.spans)
                rows.append(SentenceResult(*head, empty, 0.0, None, [], scores.reason))
                continue
            own = slice(starts[at], starts[at + 1])
            tokens = zip(
                scores.tokens, scores.ids, scores.offsets, bits[own], region[own], straddles[own], strict=True
            )
            rows.append(
                SentenceResult(
                    *head,
                    regions[at],
                    special[at],
                    total[at],
                    [[token, number, a, b, *rest] for token, number, (a, b), *rest in tokens],
                    not_computed=np.flatnonzero(skipped[own]).tolist(),
                )
            )
        return rows


def measure(
    document: SuiteDocument,
    scores: Sequence[Scores],
    policy: ScoringPolicy,
    *,
    left_to_right: bool,
    joined: Sequence[JoinedSentence] | None = None,
) -> Measured:
    """Compute the region values of every sentence.

    Args:
        scores: one per sentence of the document, in order.
        left_to_right: if True, equal prefixes get equal bits, so that ties are exact.
        joined: texts that were scored; by default, the regions joined by the policy.
    """
    joined = joined_sentences(document, policy) if joined is None else joined
    n_regions = len(document.region_names)
    columns = columns_of(scores)
    aligned = align_all(joined, columns, n_regions)
    if policy.tokens == "needed":
        columns = needed_alone(columns, aligned, needed_cells(document))
    if left_to_right:
        share_prefixes(columns)
    if policy.whitespace == "trailing":
        columns = without_leading_blanks(columns, joined)
    values = values_of(columns, aligned, n_regions, policy.metric)
    values.regions[[isinstance(row, ScoringFailure) for row in scores]] = math.nan
    return Measured(document, joined, scores, policy, columns, aligned, values)


def evaluate_document(
    document: SuiteDocument,
    scores: Sequence[Scores],
    policy: ScoringPolicy,
    error: TokenError = ASSUMED_ERROR,
    *,
    left_to_right: bool,
) -> RunResult:
    """Compute region values, outcomes and rates of a document.

    Args:
        error: numerical error of one token's value.
        left_to_right: see `ModelFacts`.
    """
    measured = measure(document, scores, policy, left_to_right=left_to_right)
    grid = measured.grid()
    return RunResult(
        grid.items, measured.rows(), evaluate_predictions(document, grid, error), measured.summary()
    )


def result_of_rows(
    document: SuiteDocument,
    rows: list[SentenceResult],
    error: TokenError = ASSUMED_ERROR,
    *,
    metric: str = "",
) -> RunResult:
    """Compute outcomes and rates from existing sentence values, e.g. of an upload. A region without known tokens counts
    as one token. `metric`: of the region values, if known."""
    n, width = len(rows), len(document.region_names)
    regions = np.array([row.regions for row in rows], dtype=np.float64).reshape(n, width)
    total = np.array([row.surprisal for row in rows], dtype=np.float64)
    homes = [[TokenRow(*token).region for token in row.tokens] for row in rows]
    tokens = np.array(
        [[max(1, sentence_regions.count(k)) for k in range(width)] for sentence_regions in homes],
        dtype=np.int64,
    )
    tokens = tokens.reshape(n, width)
    grid = _grid(document, regions, total, tokens, tokens.sum(axis=1), rows)
    lengths = np.array([[h.count(k) for k in range(width)] for h in homes], dtype=np.int64).reshape(n, width)
    sums = _sums([document.sentences[row.position] for row in rows], regions, lengths, metric)
    if sums is not None and all(row.tokens or row.failure for row in rows):
        scored = [sum(TokenRow(*token).surprisal is not None for token in row.tokens) for row in rows]
        by_length = _grid(document, sums, total, lengths, np.array(scored, dtype=np.int64), rows)
        grid = replace(grid, sums=by_length.bits, lengths=by_length.tokens)
    summary = _summarise(document, regions, np.zeros(regions.shape, np.bool_), rows)
    return RunResult(grid.items, rows, evaluate_predictions(document, grid, error), summary)


def _grid(
    document: SuiteDocument,
    regions: Floats,
    total: Floats,
    tokens: Ints,
    all_tokens: Ints,
    rows: Sequence[SentenceResult] | Sequence[SentenceDoc] | None = None,
) -> Grid:
    """Arrange sentences (rows of the arrays) by condition and item."""
    rows = document.sentences if rows is None else rows
    items = list(dict.fromkeys(row.item for row in rows))
    index = {item: place for place, item in enumerate(items)}
    place = np.array([index[row.item] for row in rows], dtype=np.int64)
    bits_of: dict[Reference, Floats] = {}
    tokens_of: dict[Reference, Ints] = {}
    of_condition = _by_condition(document, rows)
    for condition in document.conditions:
        chosen = of_condition[condition]
        for region in (*range(1, len(document.region_names) + 1), "*"):
            values, counts = (
                (total, all_tokens)
                if isinstance(region, str)
                else (regions[:, region - 1], tokens[:, region - 1])
            )
            bits_of[condition, region] = np.full(len(items), math.nan)
            bits_of[condition, region][place[chosen]] = values[chosen]
            tokens_of[condition, region] = np.zeros(len(items), np.int64)
            tokens_of[condition, region][place[chosen]] = counts[chosen]
    return Grid(items, bits_of, tokens_of)


def _sums(sentences: Sequence[SentenceDoc], regions: Floats, tokens: Ints, metric: str) -> Floats | None:
    """Return the sum of bits of every region from its value; None unless the metric is sum or mean."""
    if metric == "sum":
        return regions
    if metric != "mean":
        return None
    filled = np.array([[bool(text) for text in row.contents] for row in sentences], dtype=np.bool_)
    without_tokens = np.where(filled.reshape(regions.shape), math.nan, 0.0)
    return np.where(tokens > 0, regions * tokens, without_tokens)


def _by_condition(
    document: SuiteDocument, rows: Sequence[SentenceResult] | Sequence[SentenceDoc]
) -> Mapping[str, Ints]:
    """Return the row indices of each condition, in order."""
    numbers = {condition: number for number, condition in enumerate(document.conditions)}
    code = np.array([numbers[row.condition] for row in rows], dtype=np.int64)
    return {condition: np.flatnonzero(code == number) for condition, number in numbers.items()}


def _summarise(
    document: SuiteDocument,
    regions: Floats,
    skipped: Bools,
    rows: Sequence[SentenceResult] | None = None,
) -> list[dict[str, object]]:
    """Compute mean bits by condition and region, over sentences in which the region has text and a value. `skipped`:
    bool[n, r], regions with a token that was not computed."""
    sentences = document.sentences if rows is None else [document.sentences[row.position] for row in rows]
    filled = np.array([[bool(text) for text in row.contents] for row in sentences], dtype=np.bool_)
    shown = np.where(filled.reshape(regions.shape), regions, math.nan)
    summary: list[dict[str, object]] = []
    for condition, chosen in _by_condition(document, sentences).items():
        means = [mean_interval(column) for column in shown[chosen].T]
        gone: list[bool] = np.any(skipped[chosen], axis=0).tolist()
        cells = [
            {"n": m.n, "mean": m.mean, "low": m.low, "high": m.high, "not_computed": skip}
            for m, skip in zip(means, gone, strict=True)
        ]
        summary.append({"condition": condition, "regions": cells})
    return summary
