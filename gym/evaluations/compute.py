"""From token surprisals to outcomes: the arithmetic of a run, shared by the worker and the command line.

Pure: no Django, no torch. A document and one score per sentence go in; region bits, outcomes, margins and rates come
out. Units are bits throughout.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gym.evaluations.statistics import mean_interval, wilson
from models_registry.engine import ScoringFailure, ScoringPolicy, TokenScores, share_prefix_scores
from suites.formats import PredictionDoc, SuiteDocument
from suites.formulas import FALSE, NOT_EVALUABLE, TIE, TRUE, Formula, parse
from suites.regions import JoinedSentence, align, join, region_values

CHUNK_SENTENCES = 64
NOISE_BITS = 1e-3
"""Margins smaller than this are within the numeric noise of 32-bit scoring; they are counted as near ties."""

ROUNDING_BITS = 1e-9
"""Margins smaller than this are float64 rounding, not a difference."""

Scores = TokenScores | ScoringFailure
TokenRow = list[object]  # [token, id, start, end, bits, region index or -1, straddles]


@dataclass(frozen=True)
class SentenceResult:
    """One row of the grid with its bits. `regions[k]` is region k+1; None = no value."""

    position: int
    item: int
    condition: str
    text: str
    regions: list[float | None]
    special: float
    total: float | None
    tokens: list[TokenRow]
    failure: str = ""


@dataclass(frozen=True)
class PredictionOutcome:
    """One formula over all items, in the order of `RunResult.items`."""

    position: int
    name: str
    formula: str
    total: int
    passed: int
    ties: int
    not_evaluable: int
    near_ties: int
    ci_low: float | None
    ci_high: float | None
    chance: float | None
    chance_error: float
    mean_margin: float | None
    outcomes: list[int]
    margins: list[float | None]

    @property
    def rate(self) -> float | None:
        return self.passed / self.total if self.total else None


@dataclass(frozen=True)
class RunResult:
    items: list[int]
    sentences: list[SentenceResult]
    predictions: list[PredictionOutcome]
    region_summary: list[dict[str, object]]

    @property
    def n_unscored(self) -> int:
        return sum(bool(row.failure) for row in self.sentences)


def metric_of(document: SuiteDocument) -> str:
    """The one metric a run computes by default: the document's, the first of a list, `sum` for "all"."""
    metric = document.metric
    if isinstance(metric, str):
        return "sum" if metric == "all" else metric
    return str(metric[0]) if metric else "sum"


def joined_sentences(document: SuiteDocument, policy: ScoringPolicy) -> list[JoinedSentence]:
    """Every sentence as the model will read it, in document order."""
    return [join(row.contents, policy.join) for row in document.sentences]


def plan_chunks(texts: Sequence[str], size: int = CHUNK_SENTENCES) -> list[list[int]]:
    """Positions of the distinct texts in chunks of `size`, in alphabetical order: what begins alike is scored together.

    A function of its input alone: the same texts give the same chunks, and so the same numbers.
    """
    first: dict[str, int] = {}
    for position, text in enumerate(texts):
        first.setdefault(text, position)
    order = sorted(first.values(), key=lambda position: texts[position])
    return [order[start : start + size] for start in range(0, len(order), size)]


def evaluate_document(document: SuiteDocument, scores: Sequence[Scores], policy: ScoringPolicy) -> RunResult:
    """Region bits, outcomes and rates of a document.

    `scores[k]` belongs to `document.sentences[k]`, whose text is `joined_sentences(...)[k].text`.
    """
    return result_of_rows(document, sentence_results(document, scores, policy))


def result_of_rows(document: SuiteDocument, rows: list[SentenceResult]) -> RunResult:
    """Outcomes and rates from the bits of every sentence, wherever they come from."""
    items = list(dict.fromkeys(row.item for row in rows))
    grid = value_grid(document, rows, items)
    return RunResult(
        items=items,
        sentences=rows,
        predictions=[
            judge(position, prediction, grid, len(items))
            for position, prediction in enumerate(document.predictions)
        ],
        region_summary=_summarise(document, rows),
    )


def sentence_results(
    document: SuiteDocument, scores: Sequence[Scores], policy: ScoringPolicy
) -> list[SentenceResult]:
    """Region bits of every sentence. Equal prefixes have equal bits, so that ties are ties."""
    joined = joined_sentences(document, policy)
    scores = _one_value_per_prefix(scores)
    return [
        sentence_result(position, document, joined[position], scores[position], policy)
        for position in range(len(document.sentences))
    ]


def outcomes_alone(position: int, prediction: PredictionDoc, held: Sequence[bool]) -> PredictionOutcome:
    """A prediction of which nothing is known but for which items it held."""
    passed, total = sum(held), len(held)
    interval = wilson(passed, total)
    chance = parse(prediction.formula).chance_level()
    return PredictionOutcome(
        position=position,
        name=prediction.name,
        formula=prediction.formula,
        total=total,
        passed=passed,
        ties=0,
        not_evaluable=0,
        near_ties=0,
        ci_low=interval.low if interval else None,
        ci_high=interval.high if interval else None,
        chance=chance.value,
        chance_error=chance.standard_error,
        mean_margin=None,
        outcomes=[TRUE if value else FALSE for value in held],
        margins=[None] * total,
    )


def judge(
    position: int,
    prediction: PredictionDoc,
    grid: dict[tuple[str, int | str], NDArray[np.float64]],
    n_items: int,
) -> PredictionOutcome:
    """Outcome of one formula for every item. `grid[(condition, region number or "*")]` has one value per item."""
    formula = parse(prediction.formula)
    outcomes, margins = _judged(formula, grid, n_items)
    passed = int((outcomes == TRUE).sum())
    ties = int((outcomes == TIE).sum())
    interval = wilson(passed, n_items)
    chance = formula.chance_level()
    known = margins[np.isfinite(margins)]
    near = (np.abs(margins) < NOISE_BITS) & (outcomes != TIE) & (outcomes != NOT_EVALUABLE)
    return PredictionOutcome(
        position=position,
        name=prediction.name,
        formula=prediction.formula,
        total=n_items,
        passed=passed,
        ties=ties,
        not_evaluable=int((outcomes == NOT_EVALUABLE).sum()),
        near_ties=int(near.sum()),
        ci_low=interval.low if interval else None,
        ci_high=interval.high if interval else None,
        chance=chance.value,
        chance_error=chance.standard_error,
        mean_margin=float(known.mean()) if known.size else None,
        outcomes=[int(code) for code in outcomes],
        margins=[_finite(value) for value in margins],
    )


def _judged(
    formula: Formula, grid: dict[tuple[str, int | str], NDArray[np.float64]], n_items: int
) -> tuple[NDArray[np.uint8], NDArray[np.float64]]:
    """Outcome code and margin per item. Sides that differ by rounding alone, as sums of the same bits in another
    grouping do, are equal: a tie."""
    if not formula.references:
        held = TRUE if formula.evaluate({}) else FALSE
        return np.full(n_items, held, dtype=np.uint8), np.full(n_items, math.nan)
    judged = formula.evaluate_items({reference: grid[reference] for reference in formula.references})
    rounding = (np.abs(judged.margin) < ROUNDING_BITS) & (judged.outcome != NOT_EVALUABLE)
    return np.where(rounding, np.uint8(TIE), judged.outcome), judged.margin


def _one_value_per_prefix(scores: Sequence[Scores]) -> list[Scores]:
    shared = iter(share_prefix_scores([row for row in scores if isinstance(row, TokenScores)]))
    return [next(shared) if isinstance(row, TokenScores) else row for row in scores]


def sentence_result(
    position: int, document: SuiteDocument, joined: JoinedSentence, scores: Scores, policy: ScoringPolicy
) -> SentenceResult:
    """The bits of one sentence by region, from its tokens."""
    row = document.sentences[position]
    if isinstance(scores, ScoringFailure):
        empty: list[float | None] = [None] * len(document.region_names)
        return SentenceResult(
            position, row.item, row.condition, joined.text, empty, 0.0, None, [], scores.reason
        )
    alignment = align(joined, scores.offsets, scores.special)
    bits = np.array([math.nan if bit is None else bit for bit in scores.bits], dtype=np.float64)
    values = region_values(alignment, bits, len(document.region_names), policy.metric)
    scored = bits[~np.isnan(bits)]
    tokens: list[TokenRow] = [
        [token, token_id, start, end, bit, region, straddles]
        for token, token_id, (start, end), bit, region, straddles in zip(
            scores.tokens,
            scores.ids,
            scores.offsets,
            scores.bits,
            alignment.region,
            alignment.straddles,
            strict=True,
        )
    ]
    return SentenceResult(
        position=position,
        item=row.item,
        condition=row.condition,
        text=joined.text,
        regions=[_finite(value) for value in values.values],
        special=_finite(values.special) or 0.0,
        total=float(scored.sum()) if scored.size else None,
        tokens=tokens,
    )


def value_grid(
    document: SuiteDocument, rows: Sequence[SentenceResult], items: Sequence[int]
) -> dict[tuple[str, int | str], NDArray[np.float64]]:
    """(condition, region number or "*") -> bits per item; NaN = no value. "*" is the whole sentence."""
    index = {item: place for place, item in enumerate(items)}
    regions = range(1, len(document.region_names) + 1)
    grid: dict[tuple[str, int | str], NDArray[np.float64]] = {
        (condition, region): np.full(len(items), math.nan)
        for condition in document.conditions
        for region in (*regions, "*")
    }
    for row in rows:
        for region, bits in zip((*regions, "*"), (*row.regions, row.total), strict=True):
            if bits is not None:
                grid[row.condition, region][index[row.item]] = bits
    return grid


def _summarise(document: SuiteDocument, rows: Sequence[SentenceResult]) -> list[dict[str, object]]:
    """Mean bits by condition and region, over the sentences in which the region has text and a value."""
    bits: dict[str, list[list[float]]] = {condition: [] for condition in document.conditions}
    for row in rows:
        contents = document.sentences[row.position].contents
        bits[row.condition].append(
            [
                value if value is not None and content else math.nan
                for value, content in zip(row.regions, contents, strict=True)
            ]
        )
    summary: list[dict[str, object]] = []
    for condition in document.conditions:
        columns = np.array(bits[condition], dtype=np.float64).reshape(-1, len(document.region_names)).T
        means = [mean_interval(column) for column in columns]
        cells = [{"n": m.n, "mean": m.mean, "low": m.low, "high": m.high} for m in means]
        summary.append({"condition": condition, "regions": cells})
    return summary


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
