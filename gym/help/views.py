"""Pages under /help/: the start page, one page per guide, and suite templates to download."""

from __future__ import annotations

from functools import lru_cache

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from gym.help.guides import GROUPS, GUIDES
from gym.help.markdown import Page, page
from gym.help.notebooks import as_markdown
from gym.help.suite_templates import TEMPLATES, content

DOCS = settings.BASE_DIR / "docs"
FILES = {guide.file_name: guide for guide in GUIDES.values()}
TITLES = {name: guide.title for name, guide in FILES.items()}


@require_safe
def help_home(request: HttpRequest) -> HttpResponse:
    """Show the start page. Context: groups (of Guides, by heading), templates (of suite files, by form)."""
    return render(request, "help/home.html", {"groups": GROUPS, "templates": TEMPLATES})


@require_safe
def help_page(request: HttpRequest, name: str) -> HttpResponse:
    """Show a guide. Context: guide, page (markdown.Page), templates (only on the guide to suite files)."""
    if name not in GUIDES:
        raise Http404
    changed = (DOCS / GUIDES[name].file_name).stat().st_mtime_ns
    context = {"guide": GUIDES[name], "page": read(name, changed)}
    return render(
        request, "help/page.html", context | {"templates": TEMPLATES if name == "suite-format" else {}}
    )


@lru_cache(maxsize=2 * len(GUIDES))
def read(name: str, _changed: int) -> Page:
    path = DOCS / GUIDES[name].file_name
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".ipynb":
        text = as_markdown(text)
    return page(text, TITLES, lambda file: reverse("help-page", args=[FILES[file].name]))


@require_safe
def help_template(request: HttpRequest, form: str) -> HttpResponse:
    if form not in TEMPLATES:
        raise Http404
    file = TEMPLATES[form]
    response = HttpResponse(content(form), content_type=file.content_type)
    response["Content-Disposition"] = f'attachment; filename="{file.file_name}"'
    return response
