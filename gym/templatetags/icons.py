"""Icons: strokes on a 24 × 24 grid in the current text colour."""

from __future__ import annotations

from lmgym.charts.svg import Markup, element

PATHS: dict[str, str] = {
    "alert": "M12 4 2.5 20h19zM12 10v4.5M12 17.4v.1",
    "approximate": "M4 14c2.5-6 5.5-6 8-2s5.5 4 8-2",
    "arrow-left": "M19 12H5M11 6l-6 6 6 6",
    "arrow-right": "M5 12h14M13 6l6 6-6 6",
    "ban": "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zM5.6 5.6l12.8 12.8",
    "bell": "M6 16V11a6 6 0 0 1 12 0v5l1.5 2h-15zM10 21h4",
    "check": "M4.5 12.5l5 5 10-11",
    "clock": "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zM12 7v5l3.5 2",
    "copy": "M9 9h11v11H9zM15 9V4H4v11h5",
    "cross": "M6 6l12 12M18 6L6 18",
    "dash": "M5 12h14",
    "download": "M12 4v11M7 11l5 5 5-5M4 20h16",
    "draft": "M4 20l1-4L16 5l3 3L8 19zM14 7l3 3",
    "equal": "M5 9h14M5 15h14",
    "frozen": "M6 11h12v9H6zM9 11V8a3 3 0 0 1 6 0v3",
    "info": "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zM12 11v5.5M12 7.6v.1",
    "link": "M10 14a4 4 0 0 0 6 .5l3-3a4 4 0 0 0-6-6l-1 1M14 10a4 4 0 0 0-6-.5l-3 3a4 4 0 0 0 6 6l1-1",
    "moon": "M20 14.5A8.5 8.5 0 0 1 9.5 4 8.5 8.5 0 1 0 20 14.5z",
    "people": "M9 11a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7zM2.5 20a6.5 6.5 0 0 1 13 0M16 4.3a3.5 3.5 0 0 1 0 6.4"
    "M18 14.2a6.5 6.5 0 0 1 3.5 5.8",
    "play": "M7 5l12 7-12 7z",
    "plus": "M12 5v14M5 12h14",
    "private": "M12 5c5 0 8.5 4 10 7-1.5 3-5 7-10 7s-8.5-4-10-7c1.5-3 5-7 10-7zM3 21L21 3",
    "public": "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zM3 12h18"
    "M12 3c3 3 3.5 6 3.5 9s-.5 6-3.5 9c-3-3-3.5-6-3.5-9s.5-6 3.5-9z",
    "refresh": "M20 11a8 8 0 0 0-14.5-4L4 9M4 4v5h5M4 13a8 8 0 0 0 14.5 4L20 15M20 20v-5h-5",
    "screen": "M3 5h18v11H3zM9 20h6M12 16v4",
    "search": "M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM16 16l5 5",
    "spinner": "M12 3a9 9 0 1 0 9 9",
    "sun": "M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM12 2v2.5M12 19.5V22M2 12h2.5M19.5 12H22M5 5l1.7 1.7"
    "M17.3 17.3L19 19M19 5l-1.7 1.7M6.7 17.3L5 19",
    "upload": "M12 16V5M7 9l5-5 5 5M4 20h16",
}
LOGO = (
    element("path", {"d": "M5 13v7M12 4v9M19 9v9", "stroke-width": "1.75"}),
    element("circle", {"cx": 5, "cy": 16.5, "r": 2.6, "fill": "currentColor"}),
    element("circle", {"cx": 12, "cy": 8.5, "r": 2.6, "fill": "currentColor"}),
    element("circle", {"cx": 19, "cy": 13.5, "r": 2.6, "fill": "currentColor"}),
)


def icon(name: str) -> Markup:
    """Render a decorative icon next to text, hidden from screen readers."""
    parts = LOGO if name == "logo" else (element("path", {"d": PATHS[name]}),)
    attributes = {
        "class": f"icon icon-{name}",
        "viewBox": "0 0 24 24",
        "aria-hidden": "true",
        "focusable": "false",
    }
    return element("svg", attributes, *parts)
