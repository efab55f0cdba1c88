"""One way to show and to hand out a chart.

A `Figure` knows how to draw itself, the numbers it draws, and its address. Pages include `includes/figure.html`;
`/figures/<kind>.<form>` gives the same drawing as SVG, PNG or PDF for a paper, and its numbers as CSV or JSON.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.http import Http404, HttpResponse
from django.urls import reverse
from django.utils.text import slugify

from gym.downloads import csv_download, download, json_download
from lmgym.charts.svg import Markup
from lmgym.runs.rules import Rule, rule_json

FORMS = ("svg", "png", "pdf", "csv", "json")
DOTS_PER_INCH = 300
_CSS_PIXELS_PER_INCH = 96


@dataclass(frozen=True)
class FigureFiles:
    """The files of a chart that the page itself does not draw."""

    kind: str
    title: str
    query: Mapping[str, str | list[str]]

    @property
    def links(self) -> list[tuple[str, str]]:
        """(form, address) of every file."""
        query = urlencode(self.query, doseq=True, safe=":,")
        return [
            (form.upper(), f"{reverse('figure', args=[self.kind, form])}{'?' if query else ''}{query}")
            for form in FORMS
        ]


@dataclass(frozen=True)
class Figure:
    """`draw(standalone=)` draws for the page, or on white with its own colours. `header` names units. `rule` is what
    its pass rates were counted by; None for charts without any."""

    kind: str
    title: str
    draw: Callable[..., Markup]
    header: tuple[str, ...]
    rows: Sequence[Sequence[Any]]
    query: Mapping[str, str | list[str]]
    note: str = ""
    rule: Rule | None = None
    has_narrow: bool = False
    """Whether `draw(narrow=True)` fits a telephone."""

    @property
    def svg(self) -> Markup:
        return self.draw(standalone=False)

    @property
    def narrow_svg(self) -> Markup | None:
        return self.draw(standalone=False, narrow=True) if self.has_narrow else None

    @property
    def stem(self) -> str:
        return slugify(f"{self.kind} {self.title}")[:80] or self.kind

    @property
    def links(self) -> list[tuple[str, str]]:
        return FigureFiles(self.kind, self.title, self.query).links

    @property
    def said_rule(self) -> str:
        """For people."""
        return f"Scoring rule: {self.rule.label}." if self.rule else ""

    @property
    def caption(self) -> str:
        """Title and rule, as the table of the numbers is called."""
        return f"{self.title}. {self.said_rule}" if self.rule else self.title

    def columns(self) -> tuple[str, ...]:
        """Of the numbers as a file; with the rule, if they have one."""
        return (*self.header, "rule") if self._adds_rule else self.header

    def values(self) -> list[list[Any]]:
        more = [self.rule.key] if self.rule and self._adds_rule else []
        return [[*row, *more] for row in self.rows]

    @property
    def _adds_rule(self) -> bool:
        return self.rule is not None and "rule" not in self.header

    def as_json(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "title": self.title,
            "note": self.note,
            "rule": rule_json(self.rule) if self.rule else None,
            "query": dict(self.query),
            "columns": list(self.columns()),
            "rows": self.values(),
        }


def figure_file(figure: Figure, form: str) -> HttpResponse:
    if form not in FORMS:
        raise Http404(f"A figure can be had as {', '.join(FORMS)}.")
    if form == "csv":
        return csv_download(f"{figure.stem}.csv", figure.columns(), figure.values())
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
