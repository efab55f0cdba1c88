"""Heat strip of one item: one row per sentence, one box per token, coloured by surprisal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lmgym.charts.colour_steps import HEAT_EDGES
from lmgym.charts.svg import Markup, Pen, element, shorten, text_width
from lmgym.text import count

_ROW, _BOX, _HEAD, _LONGEST = 42.0, 34.0, 28.0, 150.0


@dataclass(frozen=True)
class StripToken:
    """One token. `bits` is None if it is not scored; `note` is appended to its tooltip."""

    text: str
    bits: float | None
    special: bool = False
    straddles: bool = False
    note: str = ""

    @property
    def width(self) -> float:
        return max(34.0, 12.0 + min(_LONGEST, text_width(self.text)))


@dataclass(frozen=True)
class StripRow:
    """One sentence: its condition, and its tokens by column (start tokens, regions, end tokens)."""

    label: str
    columns: Sequence[Sequence[StripToken]]


def token_strip(
    rows: Sequence[StripRow],
    columns: Sequence[tuple[str, bool]],
    title: str,
    *,
    note: str = "",
    standalone: bool = False,
) -> Markup:
    """Draw the heat strip of an item.

    Args:
        columns: name of each column, and whether predictions compare it.
    """
    pen = Pen(standalone=standalone)
    top = _HEAD
    left = 24.0 + min(200.0, max((text_width(row.label) for row in rows), default=0.0))
    places, x = [], left
    for k, (name, _) in enumerate(columns):
        wide = max((sum(token.width for token in row.columns[k]) for row in rows), default=0.0)
        wide = max(wide, text_width(name, 11.0) if wide else 0.0)
        places.append((x, wide))
        x += wide + 8.0 if wide else 0.0
    bottom = top + _ROW * len(rows)
    body: list[Markup] = []
    for (name, critical), (at, wide) in zip(columns, places, strict=True):
        if wide and critical:
            body.append(pen.rect(at - 4.0, top - 20.0, wide + 8.0, bottom - top + 20.0, "c-band"))
        if wide:
            body.append(
                pen.text(at, top - 7.0, name, *(("c-text", "c-strong") if critical else ("c-muted",)))
            )
    for r, row in enumerate(rows):
        y = top + _ROW * r
        body.append(pen.text(left - 12.0, y + 21.0, shorten(row.label, 200.0), "c-text", "c-end"))
        for tokens, (start, _) in zip(row.columns, places, strict=True):
            at = start
            for token in tokens:
                body.append(_token(pen, token, row.label, at, y))
                at += token.width
    foot = bottom + 26.0
    body += _scale(pen, left, bottom + 6.0)
    caption = f"Bits per token; dashed: outside regions, or not scored. {note}".strip()
    body.append(pen.text(left, foot + 18.0, caption, "c-muted"))
    width = max(x + 12.0, left + text_width(caption, 11.0) + 12.0)
    described = f"{count(len(rows), 'sentence')}, one per row. {caption}"
    return pen.canvas(width, foot + 30.0, title, described, "chart", body)


def _token(pen: Pen, token: StripToken, label: str, x: float, y: float) -> Markup:
    words = f"{label}: “{token.text}” " + ("not scored" if token.bits is None else f"{token.bits:.2f} bits")
    words += ", crosses a region border" if token.straddles else ""
    words += f", {token.note}" if token.note else ""
    coloured = token.bits is not None and not token.special
    step = sum(token.bits >= edge for edge in HEAT_EDGES) if token.bits is not None else 0
    ink = "heat-paper" if coloured and step >= 6 else "heat-ink"
    look = f"bits-{step}" if coloured else "strip-none"
    text = shorten(token.text, _LONGEST)
    value = "–" if token.bits is None else f"{token.bits:.2f}"
    middle = x + token.width / 2 - 0.5
    parts = [
        pen.rect(x, y, token.width - 1.0, _BOX, look),
        pen.text(middle, y + 14.0, text, ink, "c-mid"),
        pen.text(middle, y + 28.0, value, ink, "c-mid"),
    ]
    if token.straddles:
        parts.append(pen.line(x, y + _BOX + 1.5, x + token.width - 1.0, y + _BOX + 1.5, "c-ref"))
    return element("g", None, element("title", None, words), *parts)


def _scale(pen: Pen, x: float, y: float) -> list[Markup]:
    drawn = []
    for step in range(len(HEAT_EDGES) + 1):
        label = f"{HEAT_EDGES[step - 1]}+" if step else f"<{HEAT_EDGES[0]}"
        at = x + 30.0 * step
        drawn.append(pen.rect(at, y, 29.0, 16.0, f"bits-{step}"))
        drawn.append(pen.text(at + 14.5, y + 12.0, label, "heat-paper" if step >= 6 else "heat-ink", "c-mid"))
    return drawn
