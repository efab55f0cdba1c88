"""Tables for papers, from the results of runs. Numbers are rounded as on pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from lmgym.runs.region_means import Summary
from lmgym.runs.rules import Rule
from lmgym.runs.studied import Studied, sources
from lmgym.text.number_format import bits, p_value, percent, points
from lmgym.text.paper_tables import Cell, Estimate, PaperTable

WILSON = "Brackets: 95% Wilson intervals. Ties count as failed."
STUDENT = (
    "Brackets: 95% intervals of the mean over items (Student’s t); none where all items have equal values."
)
WITHIN = (
    "Brackets: 95% within-item intervals (Cousineau–Morey), over items that have the region in every condition; none "
    "where all items have equal values."
)


class Rated(Protocol):
    """A pass rate over items, of a prediction or under a scoring rule."""

    @property
    def n(self) -> int: ...
    @property
    def rate(self) -> float | None: ...
    @property
    def low(self) -> float | None: ...
    @property
    def high(self) -> float | None: ...
    @property
    def chance(self) -> float | None: ...


class RatedPrediction(Rated, Protocol):
    @property
    def prediction(self) -> str: ...
    @property
    def formula(self) -> str: ...


class RateDifference(Protocol):
    """Difference of two pass rates on the same items, with p."""

    @property
    def difference(self) -> float | None: ...
    @property
    def low(self) -> float | None: ...
    @property
    def high(self) -> float | None: ...
    @property
    def p_corrected(self) -> float | None: ...


def rate_cell(rate: float | None, low: float | None = None, high: float | None = None) -> Estimate | None:
    """Format a pass rate in percent; None without a rate."""
    if rate is None:
        return None
    return Estimate(_percent(rate), *(() if low is None or high is None else (_percent(low), _percent(high))))


def _percent(rate: float) -> str:
    return percent(rate).removesuffix("%")


def percent_cell(share: float | None) -> str | None:
    return None if share is None else _percent(share)


def _rated(rated: Rated | None) -> Estimate | None:
    return None if rated is None else rate_cell(rated.rate, rated.low, rated.high)


def _n(rates: Sequence[Rated | None]) -> str | None:
    return count_range([rate.n for rate in rates if rate is not None])


def count_range(counts: Sequence[int]) -> str | None:
    """Format a count: "24", or "20–24" where it varies."""
    if not counts:
        return None
    least, most = min(counts), max(counts)
    return str(least) if least == most else f"{least}–{most}"


def _chance(rates: Sequence[Rated | None]) -> str | None:
    return next((percent_cell(rate.chance) for rate in rates if rate is not None), None)


def predictions_table(
    runs: Sequence[tuple[Studied, Sequence[RatedPrediction]]],
    together: Sequence[tuple[Rule, Sequence[Rated | None]]] = (),
) -> PaperTable:
    """Build the table of predictions (rows) by models (columns).

    Args:
        runs: each run with its rates. Predictions of a suite are matched by name and formula.
        together: rules with each run's rate under them, as the last rows.
    """
    models = list(dict.fromkeys(run.model for run, _ in runs))
    suites = list(dict.fromkeys(run.suite for run, _ in runs))
    rates: dict[tuple[str, str, str], dict[str, Rated]] = {}
    for run, rows in runs:
        for row in rows:
            rates.setdefault((run.suite, row.prediction, row.formula), {})[run.model] = row
    body = [
        _rates_row((suite, name) if len(suites) > 1 else (name,), [cells.get(model) for model in models])
        for (suite, name, _), cells in rates.items()
    ]
    for rule, totals in together:
        label = f"Together, by {rule.label}"
        body.append(_rates_row(("", label) if len(suites) > 1 else (label,), totals))
    notes = [*(_rule_words(rule) for rule, _ in together), WILSON, sources([run for run, _ in runs])]
    return PaperTable(
        "Pass rate of each prediction, in percent",
        (*(("Suite",) if len(suites) > 1 else ()), "Prediction", "n", *models, "Chance"),
        tuple(body),
        " ".join(notes),
        label="predictions",
        n_labels=2 if len(suites) > 1 else 1,
    )


def _rates_row(labels: tuple[str, ...], rates: Sequence[Rated | None]) -> tuple[Cell, ...]:
    return (*labels, _n(rates), *map(_rated, rates), _chance(rates))


def _rule_words(rule: Rule) -> str:
    return f"Scoring rule: {rule.label} ({rule.counts})."


@dataclass(frozen=True)
class SuiteRates:
    """One suite: the rate of each model, None if it was not run, and differences from the first model, if compared."""

    suite: str
    rates: Sequence[Rated | None]
    differences: Sequence[RateDifference | None] = ()


def suites_table(
    rows: Sequence[SuiteRates], models: Sequence[str], rule: Rule, runs: Sequence[Studied], tests: str = ""
) -> PaperTable:
    """Build the table of suites (rows) by models (columns).

    Args:
        models: labels, in the order of the rates.
        runs: the runs of the rates, for the notes.
        tests: if rows have differences: how p is computed.
    """
    base, *others = models
    compared = others if any(row.differences for row in rows) else []
    headings = [part for other in compared for part in (f"{other} − {base}", f"p ({other})")]
    body = tuple(
        (
            row.suite,
            _n(row.rates),
            *map(_rated, row.rates),
            _chance(row.rates),
            *(cell for pair in row.differences for cell in _difference(pair)),
        )
        for row in rows
    )
    notes = [_rule_words(rule), WILSON]
    if compared:
        notes.append(f"Differences in percentage points, with Newcombe’s paired interval. p: {tests}.")
    notes.append(sources(runs))
    columns = ("Suite", "n", *models, "Chance", *headings)
    return PaperTable(
        "Pass rate on each suite, in percent", columns, body, " ".join(filter(None, notes)), label="suites"
    )


def _difference(pair: RateDifference | None) -> tuple[Cell, Cell]:
    if pair is None or pair.difference is None:
        return None, None
    limits = () if pair.low is None or pair.high is None else (points(pair.low), points(pair.high))
    p = None if pair.p_corrected is None else p_value(pair.p_corrected)
    return Estimate(points(pair.difference), *limits), p


def regions_table(
    runs: Sequence[tuple[Studied, Summary]], regions: Sequence[str], *, within: bool = False
) -> PaperTable:
    """Build the table of conditions (rows) by regions (columns) of one suite. `within`: the summaries have
    within-item intervals."""
    several = len(runs) > 1
    body = tuple(
        (
            *((run.model,) if several else ()),
            str(row["condition"]),
            count_range([cell["n"] for cell in row["regions"] if cell["mean"] is not None]),
            *map(_mean, row["regions"]),
        )
        for run, summary in runs
        for row in summary
    )
    kinds = {run.scored_as.score_kind for run, _ in runs}
    what = "surprisal" if kinds == {"surprisal"} else "score (see the notes)"
    metrics = dict.fromkeys(str(run.policy.get("metric", "")) for run, _ in runs)
    of_tokens = " or ".join(filter(None, metrics))
    notes = [
        f"A region’s value is the {of_tokens} over its tokens." if of_tokens else "",
        f"Values: {', '.join(sorted(kinds))}." if what != "surprisal" else "",
        WITHIN if within else STUDENT,
        sources([run for run, _ in runs]),
    ]
    names = [f"{number} {name}".rstrip() for number, name in enumerate(regions, start=1)]
    return PaperTable(
        f"Mean {what} of each region by condition, in bits",
        (*(("Model",) if several else ()), "Condition", "n", *names),
        body,
        " ".join(filter(None, notes)),
        label="regions",
        n_labels=2 if several else 1,
    )


def _mean(cell: Mapping[str, Any]) -> Estimate | None:
    if cell["mean"] is None or cell.get("not_computed"):
        return None
    limits = () if cell["low"] is None or cell["high"] is None else (bits(cell["low"]), bits(cell["high"]))
    return Estimate(bits(cell["mean"]), *limits)
