"""Heat maps, such as models by suites or agents by test cases."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lmgym.charts.colour_steps import RATE_EDGES
from lmgym.charts.svg import Markup, Pen, element, shorten, text_width, wrap
from lmgym.text import count

_CELL_W, _CELL_H, _TURNED = 34.0, 22.0, 150.0
_NOTE = 320.0
"""Width in pixels of the note below a small grid; fits a 390 px phone screen."""
DEFAULT_CAPTION = "Percent of items that pass"


def _percent(rate: float) -> str:
    return f"{100 * rate:.0f}"


def heat_chart(
    rows: Sequence[str],
    columns: Sequence[str],
    values: Sequence[Sequence[float | None]],
    title: str,
    *,
    description: str = DEFAULT_CAPTION,
    note: str = "",
    axes: tuple[str, str] = ("", ""),
    write: Callable[[float], str] = _percent,
    texts: Sequence[Sequence[str]] | None = None,
    unit: str = "%",
    missing: str = "not run",
    standalone: bool = False,
) -> Markup:
    """Draw a heat map.

    Args:
        values: values[row][column], 0 to 1, sets the colour; None is an empty frame.
        description: what the values are; begins the caption, before `note`.
        axes: names of rows and columns.
        write: formats a value for its cell.
        texts: text of each cell, instead of the formatted value.
        missing: tooltip text for a missing value.
    """
    pen = Pen(standalone=standalone)
    left = 12.0 + min(220.0, max((text_width(name) for name in (*rows, axes[0])), default=0.0))
    written = [
        ["" if value is None else texts[r][k] if texts else write(value) for k, value in enumerate(row)]
        for r, row in enumerate(values)
    ]
    wide = max(_CELL_W, 12.0 + max((text_width(text, 11.0) for row in written for text in row), default=0.0))
    upright = all(text_width(name, 11.0) < wide - 2.0 for name in columns)
    longest = max((text_width(shorten(name, _TURNED, 11.0), 11.0) for name in columns), default=0.0)
    top = (20.0 if axes[1] else 0.0) + (22.0 if upright else 16.0 + longest * 0.95)
    body: list[Markup] = []
    if axes[1]:
        body.append(pen.text(left + 8.0, 14.0, axes[1], "c-muted"))
    if axes[0]:
        body.append(pen.text(left, top - 6.0, axes[0], "c-muted", "c-end"))
    for k, name in enumerate(columns):
        x = left + 8.0 + wide * (k + 0.5)
        body.append(_column(pen, name, x, top - 6.0, upright=upright))
    for r, name in enumerate(rows):
        y = top + _CELL_H * r
        label = shorten(name, 220.0)
        body.append(pen.text(left, y + 15.0, label, "c-text", "c-end"))
        for k, value in enumerate(values[r]):
            words = f"{name}, {columns[k]}: " + (missing if value is None else f"{written[r][k]}{unit}")
            body.append(_cell(pen, value, written[r][k], words, left + 8.0 + wide * k, y, wide))
    foot = top + _CELL_H * len(rows) + 20.0
    caption = f"{description}. {note}" if note else f"{description}."
    grid = left + wide * len(columns) + (16.0 if upright else 2.0 * _CELL_W)
    lines = wrap(caption, max(_NOTE, grid - 24.0), 11.0) or [caption]
    for k, line in enumerate(lines):
        body.append(pen.text(12.0, foot + 15.0 * k, line, "c-muted"))
    width = max(
        grid,
        24.0 + max(text_width(line, 11.0) for line in lines),
    )
    height = foot + 15.0 * len(lines) - 3.0
    return pen.canvas(
        width,
        height,
        title,
        f"{count(len(rows), 'row')}, {count(len(columns), 'column')}. {caption}",
        "chart",
        body,
    )


def _column(pen: Pen, name: str, x: float, y: float, *, upright: bool) -> Markup:
    if upright:
        return pen.text(x, y, name, "c-tick", "c-mid")
    turn = {"transform": f"rotate(-70 {x + 4:.1f} {y:.1f})"}
    return pen.text(x + 4.0, y, shorten(name, _TURNED, 11.0), "c-tick", **turn)


def _cell(pen: Pen, value: float | None, text: str, words: str, x: float, y: float, wide: float) -> Markup:
    if value is None:
        box = pen.rect(x + 1.0, y + 1.0, wide - 2.0, _CELL_H - 2.0, "heat-none")
        return element("g", None, element("title", None, words), box)
    step = sum(value >= edge for edge in RATE_EDGES)
    ink = "heat-paper" if step >= 6 else "heat-ink"
    return element(
        "g",
        None,
        element("title", None, words),
        pen.rect(x, y, wide - 1.0, _CELL_H - 1.0, f"heat-{step}"),
        pen.text(x + wide / 2, y + 15.0, text, ink, "c-mid"),
    )
