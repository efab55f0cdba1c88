"""Charts of a comparison: suites on which models differ, and the items of one suite."""

from __future__ import annotations

from functools import partial

from gym.lib.charts.intervals import RowMark, interval_rows
from gym.lib.charts.xy import Point, xy_chart
from gym.runs.pages.figures import Figure
from gym.runs.read.comparability import counted, in_words
from gym.runs.read.comparison.choices import Choices
from gym.runs.read.comparison.model import Pair, SuiteRow
from gym.runs.read.comparison.selectors import OnAllSuites, OnASuite


def suites_figure(found: OnAllSuites, choices: Choices) -> Figure | None:
    """Every model less the baseline on every suite that both have run; None without such a suite."""
    base, *others = found.models
    known = [(row, pair, k) for row in found.rows for k, pair in enumerate(row.pairs) if pair]
    if not known:
        return None
    marks = [
        RowMark(
            row.revision.suite.title,
            pair.rate.mean,
            pair.rate.low,
            pair.rate.high,
            reference=0.0,
            series=k,
            note=f"{pair.test.only_first} items speak for {base.label}, {pair.test.only_second} for {others[k].label}",
        )
        for row, pair, k in known
    ]
    labels = [model.label for model in found.models]
    differing = " ".join(
        f"{in_words(row, labels)}, {n} of {len(found.rows)} suites."
        for row, n in counted(one.unlike for one in found.rows)
    )
    title = f"{others[0].label} less {base.label}" if len(others) == 1 else f"Others less {base.label}"
    draw = partial(
        interval_rows,
        marks,
        title,
        unit="difference of pass rates",
        domain=None,
        reference="no difference",
        series=[model.label for model in others] if len(others) > 1 else (),
        note=f"Paired bootstrap by item; none where all items are alike. Scoring rule: {choices.options.rule.label}"
        + (f". {differing}" if differing else ""),
    )
    header = (
        "suite", "revision", "baseline", "model", "rate_baseline", "rate_model", "items", "difference", "ci_low_95",
        "ci_high_95", "only_baseline", "only_model", "test", "p", f"p_{choices.correction.key}", "made_differently",
        "whitespace_baseline", "whitespace_model",
    )  # fmt: skip
    table = [_table_row(row, pair) for row, pair, _ in known]
    return Figure(
        "compare-suites", title, draw, header, table, choices.query(), differing, choices.options.rule
    )


def _table_row(row: SuiteRow, pair: Pair) -> tuple[object, ...]:
    labels = [side.label if side else "" for side in row.sides]
    return (
        row.revision.suite.slug, row.revision.number, pair.first.run.model.slug, pair.second.run.model.slug,
        pair.first.rate, pair.second.rate, pair.n, pair.rate.mean, pair.rate.low, pair.rate.high,
        pair.test.only_first, pair.test.only_second, pair.method.key, pair.test.p, pair.p_corrected,
        ". ".join(in_words(one, labels) for one in row.unlike) or None,
        pair.first.run.whitespace, pair.second.run.whitespace,
    )  # fmt: skip


def items_figure(found: OnASuite, choices: Choices) -> Figure | None:
    """Margins of the others against those of the first, a point per item; None where margins or others are missing, or
    the bits of the sides are not the same quantity."""
    if not found.same_bits:
        return None
    sides, rows = found.sides, found.items
    series = []
    for k, side in enumerate(sides[1:], start=1):
        points = [
            Point(ours[2], theirs[2], f"item {row.item}, {ours[2]:+.2f} and {theirs[2]:+.2f} bits")
            for row in rows
            if (ours := row.cells[0]) and (theirs := row.cells[k])
            if ours[2] is not None and theirs[2] is not None
        ]
        if points:
            series.append((side.label, points))
    if not series:
        return None
    title = f"{found.revisions[0].suite.title}: margins by item"
    labels = [side.label for side in sides]
    differing = " ".join(f"{in_words(row, labels)}." for row in found.unlike)
    note = f"Right of zero {sides[0].label} holds, above zero the other. Scoring rule: {choices.options.rule.label}."
    draw = partial(
        xy_chart,
        series,
        title,
        x_label=f"{sides[0].label}: margin, bits",
        y_label="margin, bits" if len(series) > 1 else f"{series[0][0]}: margin, bits",
        domain=None,
        note=f"{note} {differing}".strip(),
    )
    header = ("item_number", *(f"margin_bits_{label}" for label in labels), "whitespace")
    said = sides[0].run.whitespace  # the same for all, as are their bits
    table = [(row.item, *(cell.margin if cell else None for cell in row.cells), said) for row in rows]
    query = choices.query() | {"r": [str(revision.number) for revision in found.revisions]}
    return Figure("compare-items", title, draw, header, table, query, differing, choices.options.rule)
