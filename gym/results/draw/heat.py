"""The leaderboard as a drawing for papers."""

from __future__ import annotations

from collections.abc import Sequence

from gym.evaluations.svg import Markup, Pen, element, shorten, text_width
from gym.templatetags.gym import RATE_EDGES

_CELL_W, _CELL_H, _TURNED = 34.0, 22.0, 150.0


def heat_chart(
    rows: Sequence[str],
    columns: Sequence[str],
    values: Sequence[Sequence[float | None]],
    title: str,
    *,
    note: str = "",
    standalone: bool = False,
) -> Markup:
    """Rates in percent; what is missing is an empty frame. `values[row][column]` is 0..1."""
    pen = Pen(standalone=standalone)
    head = 24.0 if standalone else 0.0
    left = 12.0 + min(220.0, max((text_width(name) for name in rows), default=0.0))
    longest = max((text_width(shorten(name, _TURNED, 11.0), 11.0) for name in columns), default=0.0)
    top = head + 16.0 + longest * 0.95
    body = [pen.text(12.0, 18.0, title, "c-text", "c-strong")] if standalone else []
    for k, name in enumerate(columns):
        x = left + 8.0 + _CELL_W * (k + 0.5)
        turn = {"transform": f"rotate(-70 {x + 4:.1f} {top - 6:.1f})"}
        body.append(pen.text(x + 4.0, top - 6.0, shorten(name, _TURNED, 11.0), "c-tick", **turn))
    for r, name in enumerate(rows):
        y = top + _CELL_H * r
        body.append(pen.text(left, y + 15.0, shorten(name, 220.0), "c-text", "c-end"))
        body += [
            _cell(pen, value, f"{name}, {columns[k]}", left + 8.0 + _CELL_W * k, y)
            for k, value in enumerate(values[r])
        ]
    foot = top + _CELL_H * len(rows) + 20.0
    said = f"Percent of items that hold. {note}"
    body.append(pen.text(12.0, foot, said, "c-muted"))
    width = max(left + _CELL_W * (len(columns) + 2), 24.0 + text_width(said, 11.0), text_width(title) * 1.2)
    return pen.canvas(width, foot + 12.0, title, f"{len(rows)} by {len(columns)}. {said}", "chart", body)


def _cell(pen: Pen, value: float | None, name: str, x: float, y: float) -> Markup:
    if value is None:
        box = pen.rect(x + 1.0, y + 1.0, _CELL_W - 2.0, _CELL_H - 2.0, "heat-none")
        return element("g", None, element("title", None, f"{name}: not run"), box)
    step = sum(value >= edge for edge in RATE_EDGES)
    ink = "heat-paper" if step >= 6 else "heat-ink"
    return element(
        "g",
        None,
        element("title", None, f"{name}: {100 * value:.1f}%"),
        pen.rect(x, y, _CELL_W - 1.0, _CELL_H - 1.0, f"heat-{step}"),
        pen.text(x + _CELL_W / 2, y + 15.0, f"{100 * value:.0f}", ink, "c-mid"),
    )
