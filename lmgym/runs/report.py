"""Report one run as JSON, as a table of regions, and as text for a terminal.

`head` has suite, model, policy, provenance and coverage of the run; a site adds its own facts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from lmgym.runs.against_chance import Verdict, verdicts
from lmgym.runs.compute import RegionBits, RunResult, SentenceResult, TokenBits, region_bits, token_bits
from lmgym.runs.coverage import Spelling, coverage_words
from lmgym.runs.groups import group_rates
from lmgym.runs.outcomes import PredictionOutcome
from lmgym.runs.rules import prediction_statistics
from lmgym.runs.tables import prediction_rate
from lmgym.suites.formats import SuiteDocument
from lmgym.suites.formats.item_data import item_data
from lmgym.suites.formulas import OUTCOME_NAMES, TRUE, parse
from lmgym.text import count, listing
from lmgym.text.columns import record
from lmgym.text.number_format import format_interval, format_named_p, percent

INCOMPLETE = (
    "This run computed only the tokens of regions that its predictions refer to (tokens=needed). Where not_computed is "
    "true there are no bits; a run with tokens=all has them."
)


def as_dict(document: SuiteDocument, result: RunResult, head: dict[str, Any]) -> dict[str, Any]:
    """Convert a result to lossless JSON; values in bits, null = no value.

    `predictions[].outcomes[k]`: whether the prediction held for item k of `items`. `details` adds ties, missing values
    and margins. `items[].conditions[].regions[].surprisal`: value of each region; `tokens[].surprisal`: of each token.
    `complete` is false if only needed tokens were computed. `groups`: pass rates by item data, if the suite has any.
    """
    conditions: dict[int, list[dict[str, Any]]] = {item: [] for item in result.items}
    for row in result.sentences:
        conditions[row.item].append(_condition(document, row))
    return {
        **head,
        "unit": "bits",
        "complete": result.complete,
        **({} if result.complete else {"note": INCOMPLETE}),
        "predictions": [
            _prediction(document, row, result.items, verdict, _metric(head))
            for row, verdict in zip(result.predictions, _verdicts(result, head), strict=True)
        ],
        **_groups(document, result),
        "items": [{"item": item, "conditions": rows} for item, rows in conditions.items()],
    }


def _groups(document: SuiteDocument, result: RunResult) -> dict[str, Any]:
    """Return the pass rates by item data as "groups", if the suite has data that divides its items."""
    data = item_data(document)
    rows = [
        record(group)
        for name in data.classes
        for row in result.predictions
        for group in group_rates(row, result.items, name, data.by_item[name])
    ]
    return {"groups": rows} if rows else {}


def _metric(head: Mapping[str, Any]) -> str:
    """Return the run's metric; "sum" for uploads whose file does not state one."""
    return str(head.get("policy", {}).get("metric", "sum"))


def _verdicts(result: RunResult, head: dict[str, Any]) -> list[Verdict]:
    return verdicts(result.predictions, coverage=head.get("coverage", {}).get("coverage"))


def _prediction(
    document: SuiteDocument, row: PredictionOutcome, items: list[int], verdict: Verdict, metric: str
) -> dict[str, Any]:
    regions = dict(enumerate(document.region_names, start=1))
    close = row.close or [False] * len(items)
    rate = prediction_rate(
        row.position, row.prediction, row.formula, row, verdict, prediction_statistics(row)
    )
    return {
        **record(rate),
        "description": parse(row.formula).describe(regions, metric),
        "outcomes": [code == TRUE for code in row.outcomes],
        "details": [
            {"item": item, "outcome": OUTCOME_NAMES[code], "margin": margin, "too_close": near}
            for item, code, margin, near in zip(items, row.outcomes, row.margins, close, strict=True)
        ],
    }


def _condition(document: SuiteDocument, row: SentenceResult) -> dict[str, Any]:
    contents = document.sentences[row.position].contents
    return {
        "condition": row.condition,
        "text": row.text,
        "surprisal": row.surprisal,
        "special_surprisal": row.special_surprisal,
        "failure": row.failure or None,
        "regions": [_as_json(one) for one in region_bits(document.region_names, contents, row)],
        "tokens": [_as_json(one) for one in token_bits(row)],
    }


def _as_json(row: RegionBits | TokenBits) -> dict[str, Any]:
    """Convert to JSON; include `not_computed` only if true."""
    return {key: value for key, value in row._asdict().items() if key != "not_computed" or value}


REGION_HEADER = (
    "suite", "model", "score_kind", "whitespace", "item", "condition", "region_number", "region", "content",
    "surprisal",
)  # fmt: skip


def region_header(result: RunResult) -> tuple[str, ...]:
    """Return the columns of `region_rows`; `not_computed` only if the run has just the needed tokens."""
    return REGION_HEADER if result.complete else (*REGION_HEADER, "not_computed")


def region_rows(
    document: SuiteDocument, result: RunResult, suite: str, model: str, score_kind: str, whitespace: str
) -> Iterator[tuple[Any, ...]]:
    """Yield one row per item × condition × region; see `region_header`. Values are in bits."""
    complete = result.complete
    for row in result.sentences:
        contents = document.sentences[row.position].contents
        for region in region_bits(document.region_names, contents, row):
            *cells, skipped = suite, model, score_kind, whitespace, row.item, row.condition, *region
            yield tuple(cells) if complete else (*cells, int(skipped))


def as_text(document: SuiteDocument, result: RunResult, head: dict[str, Any]) -> str:
    """Format the run as text for a terminal."""
    lines = [
        f"{document.name} · {head['model']['name']}",
        f"{count(len(result.items), 'item')} × {count(len(document.conditions), 'condition')} × "
        f"{count(len(document.region_names), 'region')}; "
        + ", ".join(f"{name}={value}" for name, value in head["policy"].items()),
        "",
    ]
    regions, metric = dict(enumerate(document.region_names, start=1)), _metric(head)
    for row, verdict in zip(result.predictions, _verdicts(result, head), strict=True):
        lines += [
            f"{row.prediction}: {row.formula.strip()}",
            f"  {parse(row.formula).describe(regions, metric)}",
            f"  {_rate_text(row)}",
            *([f"  {_verdict_text(verdict, len(result.predictions))}"] if verdict.words else []),
            *([f"  {row.length_words}"] if row.length_words else []),
            "",
        ]
    lines += [_summary_table(document, result), ""]
    coverage = head["coverage"]
    if words := coverage_words(coverage["n_words"], coverage["n_unknown_words"]):
        lines += [f"{words.capitalize()}: {listing(coverage['unknown_words'])}", ""]
    if words := Spelling.from_json(head["provenance"].get("spelling")).words:
        lines += [words, ""]
    if result.n_unscored:
        reasons = dict.fromkeys(row.failure for row in result.sentences if row.failure)
        lines += [f"Sentences without scores: {result.n_unscored} ({'; '.join(reasons)})", ""]
    return "\n".join(lines)


def _rate_text(row: PredictionOutcome) -> str:
    if row.rate is None or row.low is None or row.high is None:
        return "no items"
    chance = "" if row.chance is None else f", chance {percent(row.chance)}"
    extra = "".join(
        f", {name}: {n}"
        for n, name in (
            (row.ties, "ties"),
            (row.too_close, "too close to call"),
            (row.not_evaluable, "not evaluable"),
        )
        if n
    )
    limits = f"95% interval {format_interval(row.low, row.high, percent)}"
    return f"{percent(row.rate)} ({row.passed} of {row.n}; {limits}{chance}{extra})"


def _verdict_text(verdict: Verdict, n: int) -> str:
    if verdict.decisive_p is None:
        return verdict.words
    corrected = f", Holm-corrected for the {n} predictions" if n > 1 else ""
    return f"{verdict.words} (one-sided {format_named_p('p', verdict.decisive_p)}{corrected})"


def _summary_table(document: SuiteDocument, result: RunResult) -> str:
    """Format mean bits by condition (rows) and region (columns)."""
    head = ["mean bits", *(f"{number} {name}" for number, name in enumerate(document.region_names, start=1))]
    body = [
        [
            str(row["condition"]),
            *("–" if cell["mean"] is None else f"{cell['mean']:.2f}" for cell in row["regions"]),  # type: ignore[attr-defined]
        ]
        for row in result.region_summary
    ]
    widths = [max(len(line[column]) for line in [head, *body]) for column in range(len(head))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in [head, *body]
    )
