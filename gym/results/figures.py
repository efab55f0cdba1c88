"""One way to show and to hand out a chart.

A `Figure` knows how to draw itself, the numbers it draws, and its address. Pages include `includes/figure.html`;
`/figures/<kind>.<form>` gives the same drawing as SVG, PNG or PDF for a paper, and its numbers as CSV or JSON.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.http import Http404, HttpResponse
from django.urls import reverse
from django.utils.text import slugify

from gym.evaluations.svg import Markup
from gym.exports import csv_download, download, json_download

FORMS = ("svg", "png", "pdf", "csv", "json")
DOTS_PER_INCH = 300
_CSS_PIXELS_PER_INCH = 96


@dataclass(frozen=True)
class Figure:
    """`draw(standalone=)` draws for the page, or on white with its own colours. `header` names units."""

    kind: str
    title: str
    draw: Callable[..., Markup]
    header: tuple[str, ...]
    rows: Sequence[Sequence[Any]]
    query: dict[str, str]
    note: str = ""

    @property
    def svg(self) -> Markup:
        return self.draw(standalone=False)

    @property
    def stem(self) -> str:
        return slugify(f"{self.kind} {self.title}")[:80] or self.kind

    @property
    def links(self) -> list[tuple[str, str]]:
        """(form, address) of every file."""
        query = urlencode(self.query, safe=":,")
        return [
            (form.upper(), f"{reverse('figure', args=[self.kind, form])}{'?' if query else ''}{query}")
            for form in FORMS
        ]

    def as_json(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "title": self.title,
            "note": self.note,
            "columns": list(self.header),
            "rows": [list(row) for row in self.rows],
        }


def figure_file(figure: Figure, form: str) -> HttpResponse:
    if form not in FORMS:
        raise Http404(f"A figure can be had as {', '.join(FORMS)}.")
    if form == "csv":
        return csv_download(f"{figure.stem}.csv", figure.header, figure.rows)
    if form == "json":
        return json_download(f"{figure.stem}.json", figure.as_json())
    svg = str(figure.draw(standalone=True))
    if form == "svg":
        return download(svg, f"{figure.stem}.svg", "image/svg+xml")
    response = HttpResponse(as_png(svg) if form == "png" else as_pdf(svg))
    response["Content-Type"] = "image/png" if form == "png" else "application/pdf"
    response["Content-Disposition"] = f'attachment; filename="{figure.stem}.{form}"'
    return response


def as_png(svg: str) -> bytes:
    """At 300 dots per inch."""
    import vl_convert

    # The library counts a pixel of the drawing as a point, browsers as 1/96 inch.
    points = 72 / _CSS_PIXELS_PER_INCH
    return bytes(vl_convert.svg_to_png(svg, scale=points, ppi=DOTS_PER_INCH))


def as_pdf(svg: str) -> bytes:
    """Vectors, with the fonts' used glyphs embedded."""
    import vl_convert

    return bytes(vl_convert.svg_to_pdf(svg))
