"""The grid editor: its page and the JSON it talks to. The contract is docs/grid.md."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied, ValidationError
from django.db.models import Case, F, Value, When
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from gym.json_api import BadRequest, body_of, json_view, number_of
from models_registry.selectors import runnable_by
from suites import drafts, permissions, services
from suites.formats import MAX_REGIONS
from suites.formulas import Formula, FormulaError, parse
from suites.models import Suite
from suites.selectors import findings_of, visible_to

MAX_VERSION = 2**31 - 1


def editable(request: HttpRequest, slug: str) -> Suite:
    """404 for what this person may not see, 403 for what they may only read."""
    suite = get_object_or_404(visible_to(request.user).select_related("owner"), slug=slug)
    if not permissions.can_edit(request.user, suite):
        raise PermissionDenied("you may not edit this suite")
    return suite


def open_draft(request: HttpRequest, suite: Suite) -> Any:
    draft = services.open_draft(suite, actor=request.user)
    draft.suite = suite
    return draft


def offer_draft(request: HttpRequest, suite: Suite) -> HttpResponse:
    """What a page for editing shows while there is no draft: looking changes nothing, its button opens one.
    Context: suite, frozen."""
    return render(request, "suites/open_draft.html", {"suite": suite, "frozen": suite.latest_frozen})


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def suite_editor(request: HttpRequest, slug: str) -> HttpResponse:
    """POST opens a draft when there is none. Context: suite, draft, endpoints {draft, preview, lint, formula, freeze},
    models [{slug, name, parameters}] (small ones first), may_freeze."""
    suite = editable(request, slug)
    if request.method == "POST":
        open_draft(request, suite)
        return redirect("suite-editor", slug)
    if suite.draft is None:
        return offer_draft(request, suite)
    says_little = Case(When(backend="uniform", then=Value(1)), default=Value(0))
    models = runnable_by(request.user).order_by(says_little, F("parameters").asc(nulls_last=True), "name")
    context = {
        "suite": suite,
        "draft": open_draft(request, suite),
        "endpoints": {
            "draft": reverse("suite-draft", args=[slug]),
            "preview": reverse("suite-preview", args=[slug]),
            "lint": reverse("suite-lint", args=[slug]),
            "formula": reverse("suite-formula"),
            "freeze": reverse("suite-freeze", args=[slug]),
            "text": reverse("suite-edit-text", args=[slug]),
        },
        "models": list(models.values("slug", "name", "parameters")),
        "may_freeze": True,
    }
    return render(request, "suites/editor.html", context)


@json_view("GET", "PATCH")
def suite_draft(request: HttpRequest, slug: str) -> HttpResponseBase:
    """GET: the draft, a page of rows at a time. PATCH: edits."""
    suite = editable(request, slug)
    if request.method == "GET":
        offset = number_of(request.GET.get("offset", 0), 0, 0, MAX_VERSION)
        limit = number_of(
            request.GET.get("limit", drafts.PAGE_ROWS), drafts.PAGE_ROWS, 1, drafts.MAX_PAGE_ROWS
        )
        return JsonResponse(drafts.page(open_draft(request, suite), offset, limit))
    body = body_of(request)
    version = body.get("version")
    if not isinstance(version, int) or isinstance(version, bool) or not 0 <= version <= MAX_VERSION:
        raise BadRequest("“version” must be the version of the draft that the edits were made on.")
    try:
        outcome = drafts.apply_edits(suite, version, body.get("edits", []), actor=request.user)
    except drafts.BadEdits as error:
        raise BadRequest(f"{error}.") from error
    if outcome.conflicts:
        answer = {"version": outcome.version, "conflicts": outcome.conflicts, "applied": outcome.applied}
        return JsonResponse(answer, status=409)
    return JsonResponse({"version": outcome.version})


@json_view("POST")
def suite_lint(request: HttpRequest, slug: str) -> HttpResponseBase:
    """The findings of the draft. `{"ignore": {"code", "where", "reason"}}` keeps a reason first; an empty one is
    taken back."""
    suite = editable(request, slug)
    ignore = body_of(request).get("ignore")
    if ignore is not None:
        _ignore(request, suite, ignore)
    draft = open_draft(request, suite)
    return JsonResponse({"version": draft.edits, "findings": findings_of(draft)})


def _ignore(request: HttpRequest, suite: Suite, ignore: object) -> None:
    fields = ("code", "where", "reason")
    if not isinstance(ignore, dict) or not all(isinstance(ignore.get(key), str) for key in fields):
        raise BadRequest("“ignore” is written {code, where, reason}.")
    try:
        services.ignore_finding(suite, actor=request.user, **{key: ignore[key] for key in fields})
    except ValidationError as error:
        raise BadRequest(" ".join(error.messages)) from error


@json_view("POST")
def suite_formula(request: HttpRequest) -> HttpResponseBase:
    """Read one formula against regions and conditions that the page names."""
    body = body_of(request)
    text, regions, conditions = (body.get(key) for key in ("formula", "regions", "conditions"))
    if not isinstance(text, str) or not _is_names(regions) or not _is_names(conditions):
        raise BadRequest("A formula is asked about as {formula, regions, conditions}.")
    named = dict(enumerate(regions, start=1))
    try:
        formula = parse(text)
    except FormulaError as error:
        nothing = {"prose": "", "chance": None, "pieces": [], "warnings": []}
        return JsonResponse({"ok": False, "errors": [error_shown(error)], **nothing})
    errors = [error_shown(error) for error in formula.check(named, conditions)]
    return JsonResponse({"ok": not errors, "errors": errors, **reading_shown(formula, named, bool(errors))})


def _is_names(value: object) -> bool:
    return (
        isinstance(value, list)
        and len(value) <= max(MAX_REGIONS, 1000)
        and all(isinstance(name, str) for name in value)
    )


def error_shown(error: FormulaError) -> dict[str, Any]:
    """An error of a formula as JSON."""
    return {
        "message": error.message,
        "position": error.position,
        "length": error.length,
        "hint": error.hint,
    }


def reading_shown(formula: Formula, regions: dict[int, str], broken: bool) -> dict[str, Any]:
    """Prose, chance level and pieces of a formula as JSON; `broken`: it names what is not there."""
    chance = None if broken else formula.chance_level()
    return {
        "prose": "" if broken else formula.describe(regions),
        "chance": chance
        and {"value": chance.value, "exact": chance.exact, "standard_error": chance.standard_error},
        "warnings": list(formula.warnings),
        "pieces": [
            {
                "kind": piece.kind,
                "text": piece.text,
                "condition": piece.condition,
                "region": piece.region,
                "start": piece.start,
                "label": piece.label,
            }
            for piece in formula.pieces(regions)
        ],
    }
