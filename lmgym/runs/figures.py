"""Charts of one run, and of all models on one suite. Values are in bits, rates 0..1."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from lmgym.charts.figure import Figure
from lmgym.charts.intervals import RowMark, interval_rows
from lmgym.charts.regions import Markup, Series, margin_strip, region_chart
from lmgym.charts.token_strip import StripRow, StripToken, token_strip
from lmgym.runs.against_chance import ALONE, Rated, Verdict
from lmgym.runs.lens import ShownSentence, ShownToken
from lmgym.runs.outcomes import PredictionOutcome
from lmgym.runs.region_means import Summary
from lmgym.runs.rules import Rule, rule_json
from lmgym.suites.formulas import OUTCOME_NAMES

COUNTS = ("n", "passed", "judged", "rate", "low", "high", "chance", "p")
"""Score columns exported with the chart of a suite's models."""

WILSON = "95% Wilson intervals."

INTERVALS = {
    False: "Interval: 95%, Student’s t; none if all items have equal values.",
    True: "Interval: 95% within items (Cousineau–Morey), over items that have the region in every condition; none "
    "if all items have equal values.",
}
"""Notes below the chart of regions, keyed by whether its intervals are within-item."""

Query = Mapping[str, str | list[str]]
Threads = Mapping[str, Sequence[Sequence[float | None]]]
"""Condition -> bits of each item's regions; None for an empty region."""


@dataclass(frozen=True)
class Drawn:
    """The run shown in a chart: labels of model and suite, whitespace correction, and query string of the chart's
    URL."""

    model: str
    suite: str
    whitespace: str
    query: Query

    @property
    def on(self) -> str:
        return f"{self.model} on {self.suite}"


def regions_figure(
    run: Drawn,
    names: Sequence[str],
    summary: Summary,
    critical: set[int],
    *,
    threads: Threads | None = None,
    within: bool = False,
    looks: Mapping[str, tuple[int, int]] | None = None,
) -> Figure:
    """Draw mean bits by region and condition.

    Args:
        summary: see `region_means`.
        critical: numbers of regions that some formula refers to.
        threads: adds a thin line per item.
        within: the summary has within-item intervals.
        looks: colour and shape of each condition, see `designs.looks`.
    """
    title = f"{run.on}: mean surprisal by region"
    series = region_series(summary, threads=threads, looks=looks)

    def draw(*, standalone: bool, narrow: bool = False) -> Markup:
        return region_chart(list(names), series, critical, title, standalone=standalone, narrow=narrow)

    rows = [
        (row["condition"], number, name, cell["n"], cell["mean"], cell["low"], cell["high"], run.whitespace)
        for row in summary
        for number, (name, cell) in enumerate(zip(names, row["regions"], strict=True), start=1)
    ]
    header = (
        "condition", "region_number", "region", "n", "mean_surprisal", "low", "high",
        "whitespace",
    )  # fmt: skip
    note = INTERVALS[within]
    return Figure("run-regions", title, draw, header, rows, run.query, note, has_narrow=True)


def region_series(
    summary: Summary, *, threads: Threads | None = None, looks: Mapping[str, tuple[int, int]] | None = None
) -> list[Series]:
    """Make a line of the chart of regions for every condition of a summary."""
    return [
        Series(
            name=row["condition"],
            means=[cell["mean"] for cell in row["regions"]],
            lows=[cell["low"] for cell in row["regions"]],
            highs=[cell["high"] for cell in row["regions"]],
            n=max((cell["n"] for cell in row["regions"]), default=0),
            items=(threads or {}).get(row["condition"], ()),
            look=(looks or {}).get(row["condition"]),
        )
        for row in summary
    ]


def margins_figure(
    run: Drawn,
    prediction: str,
    items: Sequence[int],
    outcomes: Sequence[int],
    margins: Sequence[float | None],
) -> Figure:
    """Draw one dot per item: the margin of one prediction. `prediction`: its label."""
    labels = [f"item {number}" for number in items]
    title = f"{run.on}, {prediction}: margins"

    def draw(*, standalone: bool) -> Markup:
        return margin_strip(margins, outcomes, title, labels=labels, standalone=standalone)

    rows = [
        (item, OUTCOME_NAMES[code], margin, run.whitespace)
        for item, code, margin in zip(items, outcomes, margins, strict=True)
    ]
    header = ("item", "outcome", "margin", "whitespace")
    return Figure("run-margins", title, draw, header, rows, run.query)


def item_figure(run: Drawn, item: int, sentences: Sequence[ShownSentence]) -> Figure | None:
    """Draw the tokens of one item, one strip per condition; None without tokens."""
    known = [sentence for sentence in sentences if sentence.result.tokens]
    if not known:
        return None
    columns = [("start", False)]
    columns += [(f"{region.region_number} {region.region}", region.critical) for region in known[0].regions]
    columns.append(("end", False))
    strips = [
        StripRow(
            sentence.result.condition,
            [
                [_strip(token) for token in sentence.specials if token.start == 0],
                *([_strip(token) for token in region.tokens] for region in sentence.regions),
                [_strip(token) for token in sentence.specials if token.start > 0],
            ],
        )
        for sentence in known
    ]
    title = f"{run.on}, item {item}"
    blanks = any("·" in token.text for strip in strips for tokens in strip.columns for token in tokens)
    note = "·: a space that belongs to the token." if blanks else ""
    draw = partial(token_strip, strips, columns, title, note=note)
    header = (
        "condition", "region_number", "region", "token", "start", "end", "surprisal", "special",
        "straddles", "whitespace",
    )  # fmt: skip
    rows = [
        (sentence.result.condition, number, name, token.text or token.token, token.start, token.end, token.surprisal,
         token.special, token.straddles, run.whitespace)
        for sentence in known
        for number, name, tokens in (
            *((region.region_number, region.region, region.tokens) for region in sentence.regions),
            (None, "outside regions", sentence.specials),
        )
        for token in tokens
    ]  # fmt: skip
    return Figure("run-item", title, draw, header, rows, run.query)


def _strip(token: ShownToken) -> StripToken:
    """Convert a token, showing spaces as dots: fonts used in papers lack the open box shown on pages."""
    text = (token.text or token.token).replace(" ", "·") + (f" {token.part}" if token.part else "")
    place = f"characters {token.start}–{token.end}"
    note = f"not computed, {place}" if token.not_computed else place
    return StripToken(text, token.surprisal, token.special, token.straddles, note)


@dataclass(frozen=True)
class ModelScore:
    """A model's run on a suite under the chart's rule. `policy_differences`: differences from the default policy, in
    words; `policy`: value of the `policy` column."""

    model: str
    label: str
    score: Rated
    verdict: Verdict
    policy_differences: str
    policy: str


def models_figure(suite: str, scores: Sequence[ModelScore], rule: Rule, query: Query) -> Figure:
    """Draw the pass rates of all models on one suite revision. `suite`: its title."""
    known = [(row, row.score.rate) for row in scores if row.score.rate is not None]
    marks = [
        RowMark(row.label, rate, row.score.low, row.score.high, row.score.chance, note=_score_in_words(row))
        for row, rate in known
    ]

    draw = partial(interval_rows, marks, suite, note=f"Scoring rule: {rule.label}")

    header = ("model", "rule", *COUNTS, *ALONE, "policy")
    rows: list[tuple[Any, ...]] = [
        (
            row.model,
            rule.key,
            *(getattr(row.score, name) for name in COUNTS),
            *(getattr(row.verdict, name) for name in ALONE),
            row.policy,
        )
        for row, _ in known
    ]
    return Figure("suite-models", suite, draw, header, rows, query, WILSON, rule_json(rule), has_narrow=True)


def _score_in_words(row: ModelScore) -> str:
    held = _passes_in_words(row.score, row.verdict)
    return f"{held}; {row.policy_differences}, not the default policy" if row.policy_differences else held


def _passes_in_words(score: Rated, verdict: Verdict) -> str:
    held = f"{score.passed} of {score.judged} held"
    return f"{held}; {verdict.words}" if verdict.words else held


def rates_figure(
    runs: Sequence[tuple[Drawn, Sequence[PredictionOutcome], Sequence[Verdict]]],
    header: Sequence[str],
    rows: Sequence[Sequence[Any]],
) -> Figure:
    """Draw the pass rates of the predictions of one or more runs, prediction by prediction, with a marker per model.

    Args:
        runs: each run with its predictions and their verdicts against chance.
        header, rows: the data of the chart.
    """
    models = list(dict.fromkeys(run.model for run, _, _ in runs))
    suites = list(dict.fromkeys(run.suite for run, _, _ in runs))
    by_prediction: dict[tuple[str, str, str], list[RowMark]] = {}
    for run, predictions, verdicts in runs:
        for row, verdict in zip(predictions, verdicts, strict=True):
            label = f"{run.suite}: {row.prediction}" if len(suites) > 1 else row.prediction
            note = _passes_in_words(row, verdict)
            note = f"{run.model}: {note}" if len(models) > 1 else note
            mark = RowMark(label, row.rate, row.low, row.high, row.chance, models.index(run.model), note)
            by_prediction.setdefault((run.suite, row.prediction, row.formula), []).append(mark)
    marks = [mark for together in by_prediction.values() for mark in together]
    subject = " on ".join(names[0] for names in (models, suites) if len(names) == 1)
    title = f"{subject}: pass rates" if subject else "Pass rates"
    draw = partial(interval_rows, marks, title, series=models if len(models) > 1 else ())
    return Figure("rates", title, draw, tuple(header), rows, {}, WILSON, has_narrow=True)
