"""Charts with one value and interval per row, such as models on a suite or scores of a leaderboard."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from lmgym.charts.svg import (
    Markup,
    Pen,
    element,
    finite,
    marker,
    nice_ticks,
    shorten,
    text_width,
    tick_label,
    wrap,
)
from lmgym.text.number_format import format_interval, score

_ROW, _TOP, _PLOT, _LABEL = 24.0, 28.0, 420.0, 230.0
_NARROW = 290.0
"""Width of the plot in a narrow chart, whose labels are above the marks."""
_LINE, _KEY_ROW, _NARROW_ROW = 13.0, 18.0, 24.0
"""Heights of a line of a label, a name in the key, and the marks of a row in a narrow chart."""


@dataclass(frozen=True)
class RowMark:
    """One row. `reference` is the position of a separate tick, such as chance; `series` sets the marker."""

    label: str
    value: float | None
    low: float | None = None
    high: float | None = None
    reference: float | None = None
    series: int = 0
    note: str = ""


def interval_rows(
    rows: Sequence[RowMark],
    title: str,
    *,
    unit: str = "pass rate",
    note: str = "",
    domain: tuple[float, float] | None = (0.0, 1.0),
    reference: str = "chance",
    series: Sequence[str] = (),
    standalone: bool = False,
    narrow: bool = False,
) -> Markup:
    """Draw points with whiskers, one per row.

    Args:
        domain: limits of the axis; None = fit the values.
        reference: name of the reference ticks.
        series: names of the series, for the key.
        narrow: fit a 390 px phone screen, with labels above the marks and series names stacked in the key.
    """
    pen = Pen(standalone=standalone)
    values = [v for row in rows for v in (row.value, row.low, row.high, row.reference) if finite(v)]
    ticks = nice_ticks(*(domain or (min([0.0, *values]), max([0.0, *values]))), 3 if narrow else 5)
    labels = [_lines(row.label, _NARROW if narrow else _LABEL) for row in rows]
    if narrow:  # the marks of several series in one row: the label once
        labels = [
            [] if k and row.label == rows[k - 1].label else lines
            for k, (row, lines) in enumerate(zip(rows, labels, strict=True))
        ]
    labelled = max((text_width(line) for lines in labels for line in lines), default=0.0)
    left, plot = (0.0, _NARROW) if narrow else (12.0 + labelled, _PLOT)
    keys = [[name] for name in series] if narrow else [list(series)] if series else []
    top = _TOP + _KEY_ROW * len(keys)
    tops = list(accumulate(_heights(labels, narrow=narrow), initial=top))
    bottom = tops[-1]

    def x(value: float) -> float:
        return left + 12.0 + plot * (value - ticks[0]) / (ticks[-1] - ticks[0])

    body: list[Markup] = []
    for k, names in enumerate(keys):
        y = top - 26.0 - _KEY_ROW * (len(keys) - 1 - k)
        body += _keys(pen, 8.0 if narrow else left + 12.0, y, names, k, left + plot - 12.0 if narrow else 0.0)
    for tick in ticks:
        body.append(pen.line(x(tick), top, x(tick), bottom, "c-grid"))
        body.append(pen.text(x(tick), top - 6.0, tick_label(tick), "c-tick", "c-mid"))
    for k, row in enumerate(rows):
        if narrow:
            body += [
                pen.text(left + 12.0, tops[k] + _LINE * (n + 1), line, "c-text")
                for n, line in enumerate(labels[k])
            ]
            y = tops[k + 1] - 10.0
        else:
            y = 0.5 * (tops[k] + tops[k + 1])
            body += _label(pen, labels[k], left, y)
        body.append(_row(pen, row, y, x, unit, reference))
    caption = f"{unit[:1].upper()}{unit[1:]}; whiskers: 95% interval"
    caption += f"; dashed: {reference}" if any(row.reference is not None for row in rows) else ""
    caption += f". {note}" if note else ""
    lines = wrap(caption, plot + 20.0, 11.0) or [caption]
    for k, line in enumerate(lines):
        body.append(pen.text(left + 12.0, bottom + 20.0 + 15.0 * k, line, "c-muted"))
    widest = max(text_width(line, 11.0) for line in lines)
    width = max(
        left + plot + 40.0,
        0.0 if narrow else left + 12.0 + sum(28.0 + text_width(name, 11.0) for name in series),
        left + 20.0 + widest,
    )
    return pen.canvas(
        width, bottom + 15.0 + 15.0 * len(lines), title, f"{len(rows)} rows. {caption}", "chart", body
    )


def _heights(labels: Sequence[Sequence[str]], *, narrow: bool) -> list[float]:
    """Return the height of each row, at least one."""
    if narrow:
        return [_LINE * len(lines) + _NARROW_ROW for lines in labels] or [_ROW]
    step = _ROW if all(len(lines) < 2 for lines in labels) else 1.4 * _ROW
    return [step] * max(len(labels), 1)


def _lines(label: str, width: float) -> list[str]:
    """Wrap a label onto one or two lines; none for an empty label."""
    lines = wrap(label, width)
    return lines if lines is not None and len(lines) < 3 else [shorten(label, width)]


def _label(pen: Pen, lines: Sequence[str], x: float, y: float) -> list[Markup]:
    first = y + 4.0 - 0.5 * _LINE * (len(lines) - 1)
    return [pen.text(x, first + _LINE * k, line, "c-text", "c-end") for k, line in enumerate(lines)]


def _keys(
    pen: Pen, x: float, y: float, series: Sequence[str], first: int = 0, width: float = 0.0
) -> list[Markup]:
    """Draw the key in one row. Names are shortened to `width` unless it is 0."""
    drawn = []
    for k, whole in enumerate(series, first):
        name = shorten(whole, width) if width else whole
        drawn += [marker(pen, k, x, y - 4.0, series=k), pen.text(x + 10.0, y, name, "c-muted")]
        x += 28.0 + text_width(name, 11.0)
    return drawn


def _row(pen: Pen, row: RowMark, y: float, x: Callable[[float], float], unit: str, reference: str) -> Markup:
    parts = []
    if row.reference is not None:
        at = x(row.reference)
        parts.append(pen.line(at, y - 8.0, at, y + 8.0, "c-ref"))
    words = f"{row.label}: no value"
    if finite(row.value):
        words = f"{row.label}: {score(row.value)} {unit}"
        if row.low is not None and row.high is not None and row.high > row.low:
            a, b = x(row.low), x(row.high)
            d = f"M{a:.2f} {y - 3:.2f}v6M{a:.2f} {y:.2f}H{b:.2f}M{b:.2f} {y - 3:.2f}v6"
            parts.append(pen.path(d, "c-whisker", "c-color", series=row.series))
            words += f" ({format_interval(row.low, row.high, score)})"
        parts.append(marker(pen, row.series, x(row.value), y, series=row.series))
    if row.reference is not None:
        words += f"; {reference} {score(row.reference)}"
    words += f"; {row.note}" if row.note else ""
    return element("g", None, element("title", None, words), *parts)
