"""Scatter plots and curves: scores by size or perplexity, learning curves."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from lmgym.charts.svg import Markup, Pen, element, marker, nice_ticks, shorten, text_width, tick_label, wrap
from lmgym.text import count
from lmgym.text.number_format import compact, format_interval, score

_LEFT, _TOP, _WIDTH, _HEIGHT = 54.0, 30.0, 560.0, 300.0
_NARROW_WIDTH = 280.0
_KEY_ROW, _NOTE_ROW = 18.0, 15.0


@dataclass(frozen=True)
class Point:
    x: float
    y: float
    label: str
    low: float | None = None
    high: float | None = None
    strong: bool = False


def xy_chart(
    series: Sequence[tuple[str, Sequence[Point]]],
    title: str,
    *,
    x_label: str,
    y_label: str,
    log_x: bool = False,
    counted_x: bool = False,
    joined: bool = False,
    domain: tuple[float, float] | None = (0.0, 1.0),
    note: str = "",
    plot_width: float = _WIDTH,
    standalone: bool = False,
    narrow: bool = False,
) -> Markup:
    """Draw points of several series.

    Args:
        series: name and points of each.
        log_x: logarithmic x axis, for positive values.
        counted_x: x values are counts from 1, such as numbers of runs.
        joined: connect the points of each series in order of x.
        domain: limits of the y axis; None = fit the values.
        plot_width: width of the x axis in pixels.
        narrow: fit a 390 px phone screen, with the key below the plot.
    """
    plot_width = min(plot_width, _NARROW_WIDTH) if narrow else plot_width
    pen = Pen(standalone=standalone)
    points = [point for _, row in series for point in row]
    top = _TOP
    x, ticks_x = _horizontal([point.x for point in points], plot_width, log=log_x, counted=counted_x)
    heights = [v for p in points for v in (p.y, p.low, p.high) if v is not None]
    ticks_y = nice_ticks(*(domain or (min([0.0, *heights]), max([0.0, *heights]))), 5)

    def y(value: float) -> float:
        return top + _HEIGHT * (ticks_y[-1] - value) / (ticks_y[-1] - ticks_y[0])

    body = _axes(pen, ticks_x, ticks_y, x, y, top, plot_width)
    body.append(pen.text(_LEFT - 8.0, top - 12.0, shorten(y_label, plot_width), "c-muted"))
    body.append(
        pen.text(_LEFT + plot_width, top + _HEIGHT + 36.0, shorten(x_label, plot_width), "c-muted", "c-end")
    )
    for k, (name, row) in enumerate(series):
        body.append(_series(pen, k, name, sorted(row, key=lambda p: p.x), x, y, plot_width, joined=joined))
    names = [name for name, _ in series] if len(series) > 1 else []
    foot = top + _HEIGHT + 56.0
    if narrow:
        body += _key(pen, names, _LEFT, foot - 8.0, plot_width - 10.0)
        foot += _KEY_ROW * len(names)
        names = []
    else:
        body += _key(pen, names, _LEFT + plot_width + 16.0, top + 8.0, 200.0)
    lines = (wrap(note, plot_width, 11.0) or [note]) if narrow else [note] if note else []
    for k, line in enumerate(lines):
        body.append(pen.text(_LEFT, foot + _NOTE_ROW * k, line, "c-muted"))
    foot += _NOTE_ROW * max(0, len(lines) - 1)
    longest = max((text_width(name) for name in names), default=0.0)
    width = max(
        _LEFT + plot_width + (40.0 if longest or plot_width == _WIDTH else 16.0) + min(longest, 200.0),
        _LEFT + max((text_width(line, 11.0) for line in lines), default=0.0) + 12.0,
    )
    description = f"{count(len(points), 'point')}; {y_label} by {x_label}. {note}"
    return pen.canvas(width, foot + 10.0, title, description, "chart", body)


def _horizontal(
    values: Sequence[float], width: float, *, log: bool, counted: bool = False
) -> tuple[Callable[[float], float], list[float]]:
    if counted:
        most = max(values, default=1.0)
        ticks = [tick for tick in nice_ticks(0.0, most, 6) if 1 <= tick <= most and tick == int(tick)]
        return lambda value: _LEFT + width * (value - 0.5) / most, ticks
    if log:
        logs = [math.log10(value) for value in values if value > 0] or [0.0]
        low, high = math.floor(min(logs)), math.ceil(max(logs))
        high = max(high, low + 1)
        ticks = [10.0**k for k in range(low, high + 1)]
        return lambda value: _LEFT + width * (math.log10(value) - low) / (high - low), ticks
    ticks = nice_ticks(min(values, default=0.0), max(values, default=1.0), 6)
    span = ticks[-1] - ticks[0]
    return lambda value: _LEFT + width * (value - ticks[0]) / span, ticks


def _tick(value: float) -> str:
    return compact(value) if abs(value) >= 1000 else tick_label(value)


def _axes(
    pen: Pen,
    ticks_x: Sequence[float],
    ticks_y: Sequence[float],
    x: Callable[[float], float],
    y: Callable[[float], float],
    top: float,
    width: float,
) -> list[Markup]:
    drawn = []
    for tick in ticks_y:
        zero = "c-axis" if tick == 0 else "c-grid"
        drawn.append(pen.line(_LEFT, y(tick), _LEFT + width, y(tick), zero))
        drawn.append(pen.text(_LEFT - 8.0, y(tick) + 4.0, tick_label(tick), "c-tick", "c-end"))
    if ticks_x[0] < 0 < ticks_x[-1]:
        drawn.append(pen.line(x(0.0), top, x(0.0), top + _HEIGHT, "c-axis"))
    for tick in ticks_x:
        drawn.append(pen.line(x(tick), top + _HEIGHT, x(tick), top + _HEIGHT + 5.0, "c-axis"))
        drawn.append(pen.text(x(tick), top + _HEIGHT + 19.0, _tick(tick), "c-tick", "c-mid"))
    drawn.append(pen.line(_LEFT, top + _HEIGHT, _LEFT + width, top + _HEIGHT, "c-axis"))
    return drawn


def _series(
    pen: Pen,
    k: int,
    name: str,
    points: Sequence[Point],
    x: Callable[[float], float],
    y: Callable[[float], float],
    width: float,
    *,
    joined: bool,
) -> Markup:
    parts: list[Markup] = []
    if joined:
        parts += [
            pen.line(x(a.x), y(a.y), x(b.x), y(b.y), "c-line", "c-color", series=k)
            for a, b in pairwise(points)
        ]
    for point in points:
        words = f"{name}, {point.label}: {score(point.y)}" if name else f"{point.label}: {score(point.y)}"
        drawn = []
        if point.low is not None and point.high is not None:
            words += f" ({format_interval(point.low, point.high, score)})"
            d = f"M{x(point.x):.2f} {y(point.high):.2f}V{y(point.low):.2f}"
            drawn.append(pen.path(d, "c-whisker", "c-color", series=k))
        drawn.append(marker(pen, k, x(point.x), y(point.y), series=k, size=5.5 if point.strong else 4.0))
        if point.strong:
            right = x(point.x) > _LEFT + 0.6 * width  # the label fits on the left
            at, side = (x(point.x) - 9.0, ("c-text", "c-end")) if right else (x(point.x) + 9.0, ("c-text",))
            room = at if right else _LEFT + width + 16.0 - at
            drawn.append(pen.text(at, y(point.y) - 7.0, shorten(point.label, min(220.0, room)), *side))
        parts.append(element("g", None, element("title", None, words), *drawn))
    return element("g", None, *parts)


def _key(pen: Pen, names: Sequence[str], left: float, top: float, width: float) -> list[Markup]:
    """Draw the key, one series per line."""
    drawn = []
    for k, name in enumerate(names):
        y = top + _KEY_ROW * k
        drawn.append(marker(pen, k, left, y, series=k))
        drawn.append(pen.text(left + 10.0, y + 4.0, shorten(name, width), "c-text"))
    return drawn
