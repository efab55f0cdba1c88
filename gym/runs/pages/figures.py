"""Chart files. Pages include `includes/figure.html`; `/figures/<kind>.<form>` serves the drawing as SVG, PNG or
PDF, and its data as CSV or JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

from django.http import Http404, HttpResponse
from django.urls import reverse

from lmgym.charts.figure import FORMS, Figure


@dataclass(frozen=True)
class FigureFiles:
    """Files of a chart that the page itself does not draw."""

    kind: str
    title: str
    query: Mapping[str, str | list[str]]


def file_links(figure: Figure | FigureFiles) -> list[tuple[str, str]]:
    """Return (form, URL) of every file of a chart."""
    query = urlencode(figure.query, doseq=True, safe=":,")
    return [
        (form.upper(), f"{reverse('figure', args=[figure.kind, form])}{'?' if query else ''}{query}")
        for form in FORMS
    ]


def figure_file(figure: Figure, form: str) -> HttpResponse:
    if form not in FORMS:
        raise Http404(f"A figure is available as {', '.join(FORMS)}.")
    response = HttpResponse(figure.file(form), content_type=FORMS[form])
    response["Content-Disposition"] = f'attachment; filename="{figure.stem}.{form}"'
    return response
