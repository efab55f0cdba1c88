"""Pages that begin a suite: from nothing, a design, a sheet, a file, or another suite."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render

from gym.accounts.quotas import OverQuota
from gym.sharing.models import Visibility
from suites import services
from suites.blueprints import BLUEPRINTS
from suites.models import Suite
from suites.new_forms import ChooseSuiteForm, CopyForm, FileForm, GuidedForm, PasteForm, TemplateForm
from suites.selectors import document_of, listed_for, visible_to
from suites.sheets import shape

WAYS = {
    "guided": "From nothing",
    "template": "From a design",
    "paste": "Paste a sheet",
    "file": "From a file",
    "copy": "Copy a suite",
}


@login_required
def suite_new(request: HttpRequest) -> HttpResponse:
    """Context: way, ways [(key, label)], form, reading (what was understood of a pasted sheet), blueprints.
    A new suite is a private draft and opens in the editor."""
    way = request.POST.get("by") or request.GET.get("by") or "guided"
    way = way if way in WAYS else "guided"
    form = _form(request, way)
    if request.method == "POST" and form.is_valid() and request.POST.get("step") != "look":
        try:
            suite = _create(request, way, form)
        except OverQuota as error:
            form.add_error(None, error)
        else:
            messages.success(request, f"{suite.title} is a draft now. It is private until you share it.")
            return redirect("suite-editor", suite.slug)
    refused = request.method == "POST" and bool(form.errors)
    context = {
        "way": way,
        "ways": list(WAYS.items()),
        "form": form,
        "reading": getattr(form, "reading", None),
        "blueprints": BLUEPRINTS.values(),
    }
    return render(request, "suites/new.html", context, status=400 if refused else 200)


def _form(request: HttpRequest, way: str) -> Any:
    data = request.POST if request.method == "POST" else None
    if way == "template":
        first = request.GET.get("template", "agreement")
        return TemplateForm(data, initial={"template": first if first in BLUEPRINTS else "agreement"})
    if way == "copy":
        return ChooseSuiteForm(data, suites=listed_for(request.user).order_by("title"))
    if way == "file":
        return FileForm(data, request.FILES or None)
    return {"guided": GuidedForm, "paste": PasteForm}[way](data)


def _create(request: HttpRequest, way: str, form: Any) -> Suite:
    given = form.cleaned_data
    if way == "copy":
        source = given["suite"]
        title = given["name"] or f"{source.title[:190]} copy"
        return _copy(request, source, source.latest_frozen or source.draft, title, Visibility.PRIVATE)
    return services.import_suite(given["document"], actor=request.user, title=given["name"])


def _copy(request: HttpRequest, suite: Suite, revision: Any, title: str, visibility: str) -> Suite:
    revision.suite = suite
    return services.copy_suite(revision, actor=request.user, title=title, visibility=visibility)


@login_required
def suite_copy(request: HttpRequest, slug: str) -> HttpResponse:
    """Whoever may see a suite may take a copy. Context: suite, form."""
    suite = get_object_or_404(visible_to(request.user), slug=slug)
    form = CopyForm(
        request.POST if request.method == "POST" else None,
        suite=suite,
        user=request.user,
        initial={"name": f"{suite.title[:190]} copy"},
    )
    if request.method == "POST" and form.is_valid():
        given = form.cleaned_data
        try:
            copy = _copy(request, suite, given["revision"], given["name"], given["visibility"])
        except OverQuota as error:
            form.add_error(None, error)
        else:
            messages.success(request, f"{copy.title} is yours: {shape(document_of(copy.draft))}.")
            return redirect("suite-editor", copy.slug)
    status = 400 if request.method == "POST" else 200
    return render(request, "suites/copy.html", {"suite": suite, "form": form}, status=status)
