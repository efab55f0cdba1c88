"""Chart files. Pages include `includes/figure.html`; `/figures/<kind>.<form>` serves the drawing as SVG, PNG or
PDF, and its data as CSV or JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

from django.http import Http404, HttpResponse
from django.urls import reverse

from lmgym.charts.figure import FORMS, SIZES, Figure


@dataclass(frozen=True)
class FigureFiles:
    """Files of a chart that the page itself does not draw."""

    kind: str
    title: str
    query: Mapping[str, str | list[str]]


def file_links(figure: Figure | FigureFiles) -> list[tuple[str, str]]:
    """Return (name, URL) of every file of a chart: "PDF", and "PDF 85 mm" for a size of journals."""
    query = urlencode(figure.query, doseq=True, safe=":,")
    links = []
    for form in FORMS:
        address = reverse("figure", args=[figure.kind, form])
        links.append((form.upper(), f"{address}?{query}" if query else address))
        if form == "pdf":
            for size, width in SIZES.items():
                links.append((f"PDF {width:g} mm", f"{address}?{query}{'&' if query else ''}size={size}"))
    return links


def figure_file(figure: Figure, form: str, size: str = "") -> HttpResponse:
    """Return a file of a chart. `size`: one of SIZES, or empty."""
    if form not in FORMS:
        raise Http404(f"A figure is available as {', '.join(FORMS)}.")
    if size and size not in SIZES:
        raise Http404(f"The sizes of a figure are {', '.join(SIZES)}.")
    response = HttpResponse(figure.file(form, size), content_type=FORMS[form])
    stem = f"{figure.stem}-{size}" if size else figure.stem
    response["Content-Disposition"] = f'attachment; filename="{stem}.{form}"'
    return response
