"""Charts of surprisal by region and condition, as SVG.

Every chart states n and the kind of interval; pages also show its data table.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise

from lmgym.charts.inline import margin_strip, rate_bar
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
from lmgym.text.number_format import bits, format_interval

__all__ = ["Markup", "Series", "margin_strip", "rate_bar", "region_chart"]

_TOP, _LEFT, _PLOT = 24.0, 46.0, 272.0
_LABEL_GAP = 17.0
_NARROW, _NARROW_LABEL = 346.0, 72.0
"""In a narrow chart: its width and the maximum width of region labels."""


@dataclass(frozen=True)
class Series:
    """Means and intervals of one condition by region; None or NaN = no value.

    Attributes:
        items: values of each item by region, drawn as thin lines behind the means.
        look: numbers of its colour and of its marker, from 0; lines of odd markers are dashed. None: its position among
            the series for both, without dashes.
    """

    name: str
    means: Sequence[float | None]
    lows: Sequence[float | None] = ()
    highs: Sequence[float | None] = ()
    n: int | None = None
    items: Sequence[Sequence[float | None]] = ()
    look: tuple[int, int] | None = None

    def mean(self, region: int) -> float | None:
        return _at(self.means, region)

    def interval(self, region: int) -> tuple[float, float] | None:
        low, high = _at(self.lows, region), _at(self.highs, region)
        return None if low is None or high is None else (low, high)


def _at(values: Sequence[float | None], index: int) -> float | None:
    value = values[index] if index < len(values) else None
    return float(value) if finite(value) else None


# --- mean surprisal by region and condition ---------------------------------------------------------------------
@dataclass(frozen=True)
class _Frame:
    """Layout of the chart."""

    columns: tuple[int, ...]  # indices of the drawn regions
    step: float
    height: float
    bottom: float
    key_width: float
    ticks: tuple[float, ...]

    @property
    def width(self) -> float:
        return _LEFT + self.step * max(len(self.columns), 1) + self.key_width

    @property
    def right(self) -> float:
        return _LEFT + self.step * max(len(self.columns), 1)

    def offset(self, index: int, count: int) -> float:
        """Return the horizontal shift of one of `count` series, so that their points do not hide each other."""
        gap = max(1.5, min(7.0, (self.step - 16.0) / max(count, 1)))
        return (index - (count - 1) / 2) * gap

    def x(self, column: int) -> float:
        return _LEFT + self.step * (column + 0.5)

    def y(self, bits: float) -> float:
        low, high = self.ticks[0], self.ticks[-1]
        return _TOP + self.height * (high - bits) / (high - low)


def region_chart(
    regions: Sequence[str],
    series: Sequence[Series],
    critical: Collection[int] = (),
    title: str = "Mean surprisal by region",
    unit: str = "bits",
    *,
    what: str = "Mean surprisal",
    counted: str = "item",
    interval: str = "95% interval",
    from_zero: bool = True,
    standalone: bool = False,
    narrow: bool = False,
) -> Markup:
    """Draw means by region, one line per condition. Regions without any value are omitted.

    Args:
        regions: names of all regions.
        critical: region numbers (from 1) to shade.
        unit: unit of the values.
        what: the values, for the description.
        counted: what the means are over.
        interval: name of the intervals.
        from_zero: the axis includes 0, as fits bits; without it, small differences of large values can be seen.
        narrow: fit a 390 px phone screen or a column of a journal, with the key below.
    """
    pen = Pen(standalone=standalone)
    columns = tuple(k for k in range(len(regions)) if any(s.mean(k) is not None for s in series))
    names = [f"{k + 1} {regions[k]}" for k in columns]
    labels, label_height, rotated, step = _axis_labels(names, len(series), narrow=narrow)
    key_width = min(190.0, 42.0 + max((text_width(s.name) for s in series), default=0.0))
    frame = _Frame(
        columns=columns,
        step=step,
        height=max(_PLOT, _LABEL_GAP * len(series)),
        bottom=label_height,
        key_width=8.0 if narrow else key_width,
        ticks=tuple(_value_ticks(series, columns, [0.0] if from_zero else [])),
    )
    marked = {number - 1 for number in critical} & set(columns)
    body = [
        *_bands(pen, frame, marked),
        *_grid(pen, frame, unit),
        *_region_labels(pen, frame, labels, marked, regions, rotated=rotated),
    ]
    for index, line in enumerate(series):
        body.append(_threads(pen, frame, index, line, len(series)))
    for index, line in enumerate(series):
        body.append(_draw_series(pen, frame, index, line, len(series), regions, unit))
    foot = _TOP + frame.height + label_height + 18.0
    if narrow:
        body.extend(_key_below(pen, series, foot))
        foot += _LABEL_GAP * len(series)
    else:
        body.extend(_key(pen, frame, series))
    note = _note(series, interval, counted, has_critical=bool(marked))
    lines = (wrap(note, frame.width - _LEFT, 11.0) or [note]) if narrow else [note]
    body += [pen.text(_LEFT, foot + 15.0 * k, line, "c-muted") for k, line in enumerate(lines)]
    foot += 15.0 * (len(lines) - 1)
    width = max(frame.width, _LEFT + max(text_width(line, 11.0) for line in lines) + 8.0)
    description = _describe(regions, series, columns, f"{what} in {unit}", note)
    return pen.canvas(width, foot + 8.0, title, description, "chart", body)


def _value_ticks(series: Sequence[Series], columns: Sequence[int], included: Sequence[float]) -> list[float]:
    values = list(included)
    for one in series:
        for k in columns:
            mean, spread = one.mean(k), one.interval(k)
            values.extend(v for v in (mean, *(spread or ())) if v is not None)
            values.extend(v for item in one.items if (v := _at(item, k)) is not None)
    return nice_ticks(min(values, default=0.0), max(values, default=0.0))


def _axis_labels(
    names: Sequence[str], n_series: int, *, narrow: bool
) -> tuple[list[list[str]], float, bool, float]:
    """Return the lines of each label, their height, whether they are rotated, and the width of a column."""
    count = max(len(names), 1)
    step = min(156.0, max(58.0, 640.0 / count, 7.0 * n_series + 18.0))
    if narrow:
        step = min(156.0, max(14.0, (_NARROW - _LEFT - 8.0) / count))
    wrapped = [wrap(name, step - 8.0, 11.0) for name in names]
    if all(lines is not None and len(lines) <= 3 for lines in wrapped):
        lines = [w or [""] for w in wrapped]
        return lines, 10.0 + 14.0 * max((len(w) for w in lines), default=1), False, step
    short = [[shorten(name, _NARROW_LABEL if narrow else 150.0, 11.0)] for name in names]
    longest = max((text_width(w[0], 11.0) for w in short), default=0.0)
    return short, 18.0 + longest * 0.62, True, step


def _bands(pen: Pen, frame: _Frame, marked: Collection[int]) -> list[Markup]:
    return [
        pen.rect(_LEFT + frame.step * column, _TOP, frame.step, frame.height, "c-band")
        for column, k in enumerate(frame.columns)
        if k in marked
    ]


def _grid(pen: Pen, frame: _Frame, unit: str) -> list[Markup]:
    drawn = []
    for tick in frame.ticks:
        y = frame.y(tick)
        drawn.append(pen.line(_LEFT, y, frame.right, y, "c-axis" if tick == 0 else "c-grid"))
        drawn.append(pen.text(_LEFT - 8.0, y + 4.0, tick_label(tick), "c-tick", "c-end"))
    drawn.append(pen.text(_LEFT - 8.0, _TOP - 12.0, unit, "c-muted", "c-end"))
    return drawn


def _region_labels(
    pen: Pen,
    frame: _Frame,
    labels: Sequence[Sequence[str]],
    marked: Collection[int],
    regions: Sequence[str],
    *,
    rotated: bool,
) -> list[Markup]:
    drawn = []
    base = _TOP + frame.height + 16.0
    for column, (k, lines) in enumerate(zip(frame.columns, labels, strict=True)):
        x = frame.x(column)
        names = ("c-text", "c-strong") if k in marked else ("c-muted",)
        full = element("title", None, regions[k])
        if rotated:
            turn = {"transform": f"rotate(-38 {x + 5:g} {base - 4:g})"}
            drawn.append(
                element(
                    "text", {"x": x + 5, "y": base - 4, **turn, **pen.style(*names, "c-end")}, full, lines[0]
                )
            )
            continue
        spans = [
            element("tspan", {"x": x, "dy": 0 if row == 0 else 14}, line) for row, line in enumerate(lines)
        ]
        drawn.append(element("text", {"x": x, "y": base, **pen.style(*names, "c-mid")}, full, *spans))
    return drawn


def _threads(pen: Pen, frame: _Frame, index: int, line: Series, count: int) -> Markup:
    """Draw a line per item, interrupted at regions without a value."""
    offset = frame.offset(index, count)
    paths = []
    for item in line.items:
        d, gap = "", True
        for column, k in enumerate(frame.columns):
            value = _at(item, k)
            if value is not None:
                d += f"{'M' if gap else 'L'}{frame.x(column) + offset:.1f} {frame.y(value):.1f}"
            gap = value is None
        paths.append(pen.path(d, "c-thread", "c-color", series=_look(line, index)[0]))
    return element("g", None, *paths)


def _draw_series(
    pen: Pen, frame: _Frame, index: int, line: Series, count: int, regions: Sequence[str], unit: str
) -> Markup:
    offset = frame.offset(index, count)
    colour, shape = _look(line, index)
    points = [(column, k, line.mean(k)) for column, k in enumerate(frame.columns)]
    seen = [(column, k, mean) for column, k, mean in points if mean is not None]
    lines, marks = [], []
    for (column, _, mean), (after, _, mean_after) in pairwise(seen):
        dash = ("c-gap",) if after > column + 1 else ("c-dash",) if line.look and shape % 2 else ()
        ends = (frame.x(column) + offset, frame.y(mean), frame.x(after) + offset, frame.y(mean_after))
        lines.append(pen.line(*ends, "c-line", *dash, "c-color", series=colour))
    for column, k, mean in seen:
        x, y = frame.x(column) + offset, frame.y(mean)
        spread = line.interval(k)
        text = f"{line.name}, {k + 1} {regions[k]}: {bits(mean)} {unit}"
        parts = []
        if spread:
            low, high = frame.y(spread[0]), frame.y(spread[1])
            parts.append(
                pen.path(
                    f"M{x - 3:.2f} {high:.2f}h6M{x:.2f} {high:.2f}V{low:.2f}M{x - 3:.2f} {low:.2f}h6",
                    "c-whisker", "c-color", series=colour,
                )
            )  # fmt: skip
            text += f" ({format_interval(*spread, bits)})"
        parts.append(marker(pen, shape, x, y, series=colour))
        marks.append(element("g", None, element("title", None, text), *parts))
    return element("g", None, *lines, *marks)


def _key(pen: Pen, frame: _Frame, series: Sequence[Series]) -> list[Markup]:
    """Draw series names and markers at the right-hand ends of the lines, spread to avoid overlap."""
    ends: list[tuple[float, int, float | None]] = []
    for index, line in enumerate(series):
        last = next((line.mean(k) for k in reversed(frame.columns) if line.mean(k) is not None), None)
        ends.append((frame.y(last) if last is not None else _TOP + frame.height, index, last))
    ends.sort(key=lambda entry: (entry[0], entry[1]))
    places = _spread([y for y, _, _ in ends], _TOP + 6.0, _TOP + frame.height - 4.0)
    drawn = []
    for (y, index, last), place in zip(ends, places, strict=True):
        line = series[index]
        if last is not None and line.mean(frame.columns[-1]) is not None:
            start = frame.x(len(frame.columns) - 1) + frame.offset(index, len(series)) + 7.0
            drawn.append(pen.path(f"M{start:.2f} {y:.2f}L{frame.right:.2f} {place:.2f}h6", "c-leader"))
        colour, shape = _look(line, index)
        drawn.append(marker(pen, shape, frame.right + 14.0, place, series=colour))
        label = shorten(line.name, 148.0)
        full = [element("title", None, line.name)] if label != line.name else []
        drawn.append(
            element("text", {"x": frame.right + 24.0, "y": place + 4.0, **pen.style("c-text")}, *full, label)
        )
    return drawn


def _key_below(pen: Pen, series: Sequence[Series], top: float) -> list[Markup]:
    """Draw series names and markers below the chart, one per line."""
    drawn = []
    for index, line in enumerate(series):
        y = top + _LABEL_GAP * index
        colour, shape = _look(line, index)
        drawn.append(marker(pen, shape, _LEFT + 4.0, y - 4.0, series=colour))
        drawn.append(pen.text(_LEFT + 16.0, y, shorten(line.name, _NARROW - _LEFT - 24.0), "c-text"))
    return drawn


def _look(line: Series, index: int) -> tuple[int, int]:
    return line.look or (index, index)


def _spread(targets: Sequence[float], low: float, high: float) -> list[float]:
    """Place labels near `targets`, at least `_LABEL_GAP` apart and in the same order: one pass down, one up."""
    places = list(targets)
    for i, place in enumerate(places):
        places[i] = max(place, low if i == 0 else places[i - 1] + _LABEL_GAP)
    limit = high
    for i in range(len(places) - 1, -1, -1):
        places[i] = min(places[i], limit)
        limit = places[i] - _LABEL_GAP
    return places


def _note(series: Sequence[Series], interval: str, counted: str, *, has_critical: bool) -> str:
    counts = sorted({s.n for s in series if s.n is not None})
    n = ""
    if counts:
        n = (
            f" over n = {counts[0]} {counted}s"
            if len(counts) == 1
            else f" over n = {counts[0]}–{counts[-1]} {counted}s"
        )
    has_intervals = any(finite(v) for s in series for v in s.lows)
    whiskers = f"; whiskers: {interval}" if has_intervals else ""
    threads = "; thin lines: single items" if any(s.items for s in series) else ""
    shaded = "; shaded: regions in predictions" if has_critical else ""
    return f"Points: mean{n}{whiskers}{threads}{shaded}"


def _describe(
    regions: Sequence[str], series: Sequence[Series], columns: Sequence[int], what: str, note: str
) -> str:
    if not columns:
        return "No region has a value."
    left_out = [f"{k + 1} {regions[k]}" for k in range(len(regions)) if k not in columns]
    missing = f" Empty regions omitted: {', '.join(left_out)}." if left_out else ""
    lines = f"{len(series)} condition{'' if len(series) == 1 else 's'}"
    where = f"{len(columns)} region{'' if len(columns) == 1 else 's'}"
    return f"{what} of {lines} in {where}. {note}.{missing}"
