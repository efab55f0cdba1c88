"""The page of the grid editor, which speaks the REST API; see docs/grid.md."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.db.models import Case, F, Value, When
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from models_registry.selectors import runnable_by
from suites import drafts, permissions, services
from suites.models import Suite
from suites.selectors import visible_to


def editable(request: HttpRequest, slug: str) -> Suite:
    """404 for what this person may not see, 403 for what they may only read."""
    suite = get_object_or_404(visible_to(request.user).select_related("owner"), slug=slug)
    if not permissions.can_edit(request.user, suite):
        raise PermissionDenied("you may not edit this suite")
    return suite


def offer_draft(request: HttpRequest, suite: Suite) -> HttpResponse:
    """What a page for editing shows while there is no draft: looking changes nothing, its button opens one.
    Context: suite, frozen."""
    return render(request, "suites/open_draft.html", {"suite": suite, "frozen": suite.latest_frozen})


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def suite_editor(request: HttpRequest, slug: str) -> HttpResponse:
    """POST opens a draft when there is none. Context: suite, draft, card (the draft as in the REST API), endpoints
    {draft, cells, preview, lint, formula, freeze}, models [{slug, name, parameters}] (small ones first), may_freeze."""
    suite = editable(request, slug)
    if request.method == "POST":
        services.open_draft(suite, actor=request.user)
        return redirect("suite-editor", slug)
    draft = suite.draft
    if draft is None:
        return offer_draft(request, suite)
    draft.suite = suite
    says_little = Case(When(backend="uniform", then=Value(1)), default=Value(0))
    models = runnable_by(request.user).order_by(says_little, F("parameters").asc(nulls_last=True), "name")
    context = {
        "suite": suite,
        "draft": draft,
        "card": drafts.card(draft),
        "endpoints": {
            "draft": reverse("api-draft", args=[slug]),
            "cells": reverse("api-draft-cells", args=[slug]),
            "preview": reverse("api-preview", args=[slug]),
            "lint": reverse("api-lint", args=[slug]),
            "formula": reverse("api-formula-explain"),
            "freeze": reverse("suite-freeze", args=[slug]),
        },
        "models": list(models.values("slug", "name", "parameters")),
        "may_freeze": True,
    }
    return render(request, "suites/editor.html", context)
