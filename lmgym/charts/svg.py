"""A small SVG builder that escapes all text.

The same code draws for a page (elements have classes, and the style sheet sets colours, so that dark mode and print
work) and for a paper (`standalone`: colours are presentation attributes on white).
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import TypeGuard
from xml.sax.saxutils import escape, quoteattr

PAPER_COLOURS = ("#0a66a3", "#c04a08", "#0b7658", "#8d4a86", "#806600", "#1f7fb6", "#55524c", "#b0305e")
FONT = "Helvetica, Arial, 'Liberation Sans', sans-serif"

_INK, _QUIET, _RULE = "#1b1a18", "#57524a", "#ded9cf"
_HEAT = ("#eff9fc", "#cee7f1", "#add4e5", "#8cc0d9", "#6aabce", "#4f9cc6", "#1474a8", "#046aa0", "#00548a")
_BITS = ("#fcf6ed", "#f1e0ca", "#e6c7a7", "#dbad84", "#d09263", "#c87d4c", "#b05220", "#a24119", "#8a2a11")
_PAPER: dict[str, dict[str, str]] = {
    "c-text": {"fill": _INK, "font-size": "12"},
    "c-muted": {"fill": _QUIET, "font-size": "11"},
    "c-tick": {"fill": _QUIET, "font-size": "11"},
    "c-strong": {"font-weight": "bold"},
    "c-end": {"text-anchor": "end"},
    "c-mid": {"text-anchor": "middle"},
    "c-grid": {"stroke": _RULE, "stroke-width": "1"},
    "c-axis": {"stroke": _INK, "stroke-width": "1"},
    "c-leader": {"stroke": "#b9b2a5", "stroke-width": "1", "fill": "none"},
    "c-band": {"fill": "#fbf3d3"},
    "c-hollow": {"fill": "#ffffff"},
    "c-line": {"fill": "none", "stroke-width": "1.5", "stroke-linejoin": "round", "stroke-opacity": "0.75"},
    "c-gap": {"stroke-dasharray": "1 4", "stroke-linecap": "round"},
    "c-dash": {"stroke-dasharray": "5 3"},
    "c-whisker": {"fill": "none", "stroke-width": "1.25"},
    "c-shape": {"stroke-width": "1.5", "stroke-linejoin": "round"},
    "c-stroke": {"fill": "none", "stroke-width": "2", "stroke-linecap": "round"},
    "c-thread": {"fill": "none", "stroke-width": "0.75", "stroke-opacity": "0.3"},
    "c-ref": {"stroke": "#a83a17", "stroke-width": "1.5", "stroke-dasharray": "3 2"},
    "m-zero": {"stroke": _INK, "stroke-width": "1"},
    "m-true": {"fill": "#1474a8"},
    "m-false": {"fill": "none", "stroke": "#b05220", "stroke-width": "1.5"},
    "m-tie": {"fill": "none", "stroke": "#7d5a00", "stroke-width": "1.5"},
    **{f"heat-{k}": {"fill": colour} for k, colour in enumerate(_HEAT)},
    **{f"bits-{k}": {"fill": colour} for k, colour in enumerate(_BITS)},
    "strip-none": {"fill": "none", "stroke": "#b9b2a5", "stroke-dasharray": "3 2"},
    "heat-none": {"fill": "none", "stroke": _RULE},
    "heat-ink": {"fill": _INK, "font-size": "11"},
    "heat-paper": {"fill": "#ffffff", "font-size": "11"},
    "c-color": {"stroke": "{colour}"},
    "c-fill": {"fill": "{colour}"},
}
# Characters that XML 1.0 cannot contain, not even escaped.
_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
# These and & < > " tab and line ends, as the complement of all others: three times as fast as two alternatives.
_SPECIAL = re.compile("[^ !#-%'-;=?-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class Markup(str):
    """Markup whose text is already escaped; templates print it unchanged."""

    __slots__ = ()

    def __html__(self) -> Markup:
        return self


def element(tag: str, attributes: Mapping[str, object] | None = None, *children: str) -> Markup:
    """Build an element. Plain strings among the children are escaped; Markup is not."""
    written = "".join(
        [f" {name}={_quoted(value)}" for name, value in (attributes or {}).items() if value is not None]
    )
    inner = "".join([c if isinstance(c, Markup) else _escaped(c) for c in children])
    return Markup(f"<{tag}{written}>{inner}</{tag}>" if inner else f"<{tag}{written}/>")


def _quoted(value: object) -> str:
    if isinstance(value, float):
        return f'"{_n(value)}"'
    text = str(value)
    # a leaderboard has tens of thousands of short texts without special characters
    return quoteattr(clean(text)) if _SPECIAL.search(text) else f'"{text}"'


def _escaped(text: str) -> str:
    return escape(clean(text)) if _SPECIAL.search(text) else text


def clean(text: str) -> str:
    """Replace characters that XML cannot contain."""
    return _FORBIDDEN.sub("\ufffd", text)


def _n(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if math.isfinite(value) else "0"


class Pen:
    """Builder of SVG elements, with classes for a page or with presentation attributes for a paper."""

    def __init__(self, *, standalone: bool) -> None:
        self.standalone = standalone

    def style(self, *names: str, series: int | None = None) -> dict[str, object]:
        if not self.standalone:
            colour_class = [f"c-s{series % len(PAPER_COLOURS)}"] if series is not None else []
            return {"class": " ".join([*names, *colour_class])}
        colour = PAPER_COLOURS[(series or 0) % len(PAPER_COLOURS)]
        resolved: dict[str, object] = {}
        for name in names:
            for key, value in _PAPER[name].items():
                resolved[key] = value.replace("{colour}", colour)
        return resolved

    def line(
        self, x1: float, y1: float, x2: float, y2: float, *names: str, series: int | None = None
    ) -> Markup:
        return element("line", {"x1": x1, "y1": y1, "x2": x2, "y2": y2, **self.style(*names, series=series)})

    def text(self, x: float, y: float, text: str, *names: str, **more: object) -> Markup:
        return element("text", {"x": x, "y": y, **more, **self.style(*names)}, text)

    def rect(self, x: float, y: float, width: float, height: float, *names: str) -> Markup:
        return element("rect", {"x": x, "y": y, "width": width, "height": height, **self.style(*names)})

    def path(self, d: str, *names: str, series: int | None = None) -> Markup:
        return element("path", {"d": d, **self.style(*names, series=series)})

    def canvas(
        self,
        width: float,
        height: float,
        title: str,
        description: str,
        css_class: str,
        body: Iterable[Markup],
    ) -> Markup:
        attributes: dict[str, object] = {
            "xmlns": "http://www.w3.org/2000/svg",
            "viewBox": f"0 0 {_n(width)} {_n(height)}",
            "width": float(width),
            "height": float(height),
            "role": "img",
        }
        parts = [element("title", None, title), element("desc", None, description)]
        if self.standalone:
            attributes["font-family"] = FONT
            parts.append(element("rect", {"width": "100%", "height": "100%", "fill": "#ffffff"}))
        else:
            attributes["class"] = css_class
        return element("svg", attributes, *parts, *body)


def marker(pen: Pen, kind: int, x: float, y: float, *, series: int, size: float = 4.0) -> Markup:
    """Draw one of twelve markers that differ in greyscale: filled shapes, then strokes, then hollow shapes."""
    kind %= 12
    r = size
    if kind in (5, 6, 7):
        d = {
            5: f"M{_n(x - r)} {_n(y - r)}L{_n(x + r)} {_n(y + r)}M{_n(x - r)} {_n(y + r)}L{_n(x + r)} {_n(y - r)}",
            6: f"M{_n(x - r)} {_n(y)}H{_n(x + r)}M{_n(x)} {_n(y - r)}V{_n(y + r)}",
            7: f"M{_n(x - r)} {_n(y)}H{_n(x + r)}M{_n(x - r / 2)} {_n(y - r)}L{_n(x + r / 2)} {_n(y + r)}"
            f"M{_n(x + r / 2)} {_n(y - r)}L{_n(x - r / 2)} {_n(y + r)}",
        }[kind]
        return pen.path(d, "c-stroke", "c-color", series=series)
    fill = "c-hollow" if kind >= 8 else "c-fill"
    shape = kind - 8 if kind >= 8 else kind
    d3 = r * 1.35
    if shape == 0:
        return element(
            "circle", {"cx": x, "cy": y, "r": r, **pen.style("c-shape", fill, "c-color", series=series)}
        )
    d = {
        1: f"M{_n(x - r)} {_n(y - r)}H{_n(x + r)}V{_n(y + r)}H{_n(x - r)}Z",
        2: f"M{_n(x)} {_n(y - r * 1.2)}L{_n(x + r * 1.15)} {_n(y + r * 0.85)}H{_n(x - r * 1.15)}Z",
        3: f"M{_n(x)} {_n(y - d3)}L{_n(x + d3)} {_n(y)}L{_n(x)} {_n(y + d3)}L{_n(x - d3)} {_n(y)}Z",
        4: f"M{_n(x)} {_n(y + r * 1.2)}L{_n(x + r * 1.15)} {_n(y - r * 0.85)}H{_n(x - r * 1.15)}Z",
    }[shape]
    return pen.path(d, "c-shape", fill, "c-color", series=series)


def finite(value: float | None) -> TypeGuard[float]:
    """Return whether a value is a finite number."""
    return value is not None and math.isfinite(value)


def text_width(text: str, size: float = 12.0) -> float:
    """Estimate the width of text in pixels, on the high side, because font metrics are not available."""
    return sum(map(_advance, text)) * size


@lru_cache(4096)
def _advance(character: str) -> float:
    """Return the width of a character in units of the font size."""
    if unicodedata.combining(character):
        return 0.0
    if unicodedata.east_asian_width(character) in "WF":
        return 1.0
    if character in "iljtf.,:;|!'()[] ":
        return 0.34
    if character in "mwMW@%":
        return 0.9
    return 0.7 if character.isupper() else 0.57


def shorten(text: str, width: float, size: float = 12.0) -> str:
    """Shorten text to a width in pixels, with an ellipsis."""
    if text_width(text, size) <= width:
        return text
    kept = text
    while kept and text_width(kept + "…", size) > width:
        kept = kept[:-1]
    return kept.rstrip() + "…"


def wrap(text: str, width: float, size: float = 12.0) -> list[str] | None:
    """Break text at spaces and after - _ / into lines no wider than `width`; None if a piece is too long."""
    lines: list[str] = []
    for piece in re.findall(r"[^\s_/-]*[\s_/-]?", text):
        if not piece:
            continue
        if text_width(piece.rstrip(), size) > width:
            return None
        if lines and text_width(lines[-1] + piece.rstrip(), size) <= width:
            lines[-1] += piece
        else:
            lines.append(piece)
    return [line.rstrip() for line in lines]


def nice_ticks(low: float, high: float, count: int = 5) -> list[float]:
    """Return about `count` round tick values that span `low` to `high`."""
    if not (math.isfinite(low) and math.isfinite(high)) or high <= low:
        low, high = (low, low + 1.0) if math.isfinite(low) else (0.0, 1.0)
    raw = (high - low) / max(count, 1)
    scale = 10.0 ** math.floor(math.log10(raw))
    step = next(m * scale for m in (1.0, 2.0, 2.5, 5.0, 10.0) if m * scale >= raw * 0.999)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(step * k, 10) for k in range(first, last + 1)]


def tick_label(value: float) -> str:
    """Format a tick value."""
    return f"{value:.10g}".replace("-", "−")
