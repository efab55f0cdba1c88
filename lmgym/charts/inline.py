"""Inline charts: pass-rate bars and margin strips."""

from __future__ import annotations

from collections.abc import Sequence

from lmgym.charts.svg import Markup, Pen, element, finite, nice_ticks, text_width, tick_label
from lmgym.text import count


def rate_bar(
    rate: float | None,
    low: float | None = None,
    high: float | None = None,
    chance: float | None = None,
    *,
    width: float = 96.0,
) -> Markup:
    """Draw a rate from 0 to 1 as a bar, with a whisker for its interval and a tick at chance."""
    height, inner = 14.0, width - 2.0

    def x(share: float) -> float:
        return 1.0 + inner * min(max(share, 0.0), 1.0)

    parts = [element("rect", {"class": "rb-track", "x": 1.0, "y": 3.0, "width": inner, "height": 8.0})]
    if finite(rate):
        parts.append(
            element("rect", {"class": "rb-bar", "x": 1.0, "y": 3.0, "width": x(rate) - 1.0, "height": 8.0})
        )
    if finite(low) and finite(high):
        a, b = x(low), x(high)
        d = f"M{a:.2f} 4.5v5M{a:.2f} 7H{b:.2f}M{b:.2f} 4.5v5"
        parts.append(element("path", {"class": "rb-whisker", "d": d, "fill": "none"}))
    if finite(chance):
        c = x(chance)
        tick = {"x1": c, "y1": 0.0, "x2": c, "y2": height}
        parts.insert(2, element("line", {"class": "rb-halo", **tick}))
        parts.insert(3, element("line", {"class": "rb-chance", **tick}))
    attributes: dict[str, object] = {
        "xmlns": "http://www.w3.org/2000/svg",
        "class": "rate-bar",
        "viewBox": f"0 0 {width:g} {height:g}",
        "width": width,
        "height": height,
        "aria-hidden": "true",
    }
    return element("svg", attributes, *parts)


_OUTCOME_CLASS = {0: "m-false", 1: "m-true", 2: "m-tie"}


def margin_strip(
    margins: Sequence[float | None],
    outcomes: Sequence[int],
    title: str = "Margins by item",
    *,
    labels: Sequence[str] = (),
    width: float = 560.0,
    standalone: bool = False,
) -> Markup:
    """Draw one dot per item at its margin in bits; right of zero the prediction is true.

    Items without a margin are omitted; dots at nearly the same position are stacked.
    """
    pen = Pen(standalone=standalone)
    shown = sorted((float(m), k) for k, m in enumerate(margins) if finite(m) and k < len(outcomes))
    ticks = nice_ticks(min([0.0, *(m for m, _ in shown)]), max([0.0, *(m for m, _ in shown)]), 6)
    low, high = ticks[0], ticks[-1]
    left, inner = 12.0, width - 24.0

    def x(value: float) -> float:
        return left + inner * (value - low) / (high - low)

    piles: dict[int, int] = {}
    dots, tallest = [], 1
    for margin, k in shown:
        slot = round(x(margin) / 7.0)
        level = piles[slot] = piles.get(slot, 0) + 1
        tallest = max(tallest, level)
        dots.append((x(margin), level, k, margin))
    rise = min(7.0, 112.0 / tallest)
    radius = max(1.25, min(3.0, rise * 0.46))
    base = 8.0 + rise * tallest
    body = [
        *(pen.line(x(t), base + 5.0, x(t), base + 9.0, "c-grid") for t in ticks),
        *(pen.text(x(t), base + 21.0, tick_label(t), "c-tick", "c-mid") for t in ticks),
        pen.line(left, base + 5.0, left + inner, base + 5.0, "c-grid"),
        pen.line(x(0.0), 2.0, x(0.0), base + 9.0, "m-zero"),
    ]
    for cx, level, k, margin in dots:
        name = labels[k] if k < len(labels) else f"item {k + 1}"
        tip = element("title", None, f"{name}: {margin:+.2f} bits".replace("-", "−"))
        kind = _OUTCOME_CLASS.get(int(outcomes[k]), "m-tie")
        dot = {"cx": cx, "cy": base - rise * (level - 1) - 1.0, "r": radius, **pen.style(kind)}
        body.append(element("g", None, tip, element("circle", dot)))
    n_omitted = len(margins) - len(shown)
    text = f"{count(len(shown), 'item')}; right of zero, the prediction is true."
    if n_omitted:
        omitted = (
            "1 item without a margin is" if n_omitted == 1 else f"{n_omitted} items without a margin are"
        )
        text += f" {omitted} omitted."
    if not standalone:
        return pen.canvas(width, base + 28.0, title, text, "chart margin-strip", body)
    caption = f"Margin in bits; filled: passed, hollow: failed or tie. {text}"
    body.append(pen.text(left, base + 40.0, caption, "c-muted"))
    wide = max(width, 24.0 + text_width(caption, 11.0))
    return pen.canvas(wide, base + 52.0, title, text, "chart margin-strip", body)
