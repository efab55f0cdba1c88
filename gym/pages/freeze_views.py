"""Pages for freezing a draft and for comparing two revisions."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from gym.accounts.errors import LimitReached
from gym.accounts.models import AnyUser
from gym.accounts.requests import SignedInRequest
from gym.runs.read.comparison_selectors import on_both
from gym.runs.work.services import queue_once
from lmgym.suites.intake.sheets import shape
from models_registry.fields import SomeModelsField
from models_registry.selectors import runnable_by
from suites import services
from suites.fields import metric_name
from suites.forms import FreezeForm
from suites.models import Suite
from suites.presenters import diff_context, document_for
from suites.selectors import document_of, findings_of, revisions_for, visible_to
from suites.views import editable


class FreezeAndRunForm(FreezeForm):
    """Freeze form with a note and models to run right after freezing."""

    models = SomeModelsField(required=False, to_field_name=None, label="Run right after freezing")

    def __init__(self, *args: Any, user: AnyUser, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["models"].queryset = runnable_by(user)  # type: ignore[attr-defined]


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def suite_freeze(request: SignedInRequest, slug: str) -> HttpResponse:
    """Freeze the draft and queue runs of the chosen models; GET shows a preview. Context: suite, draft, form, previous,
    problems (that prevent freezing), findings, shape, may_edit, metric, and that of suites/_diff.html."""
    suite = editable(request, slug)
    form = FreezeAndRunForm(request.POST if request.method == "POST" else None, user=request.user)
    if request.method == "POST":
        if not form.is_valid():
            for errors in form.errors.values():
                messages.error(request, " ".join(map(str, errors)))
            return redirect(suite)
        return _freeze(request, suite, form)
    draft = suite.draft
    if draft is None:
        messages.info(request, "There is no draft to freeze: the newest revision is already frozen.")
        return redirect(suite)
    document = document_of(draft)
    previous = suite.latest_frozen
    findings = findings_of(draft)
    context = {
        "suite": suite,
        "draft": draft,
        "form": form,
        "previous": previous,
        "problems": services.freeze_problems(document),
        "findings": [row for row in findings if not row["ignored"] and row["severity"] != "info"],
        "shape": shape(document),
        "may_edit": True,
        "metric": metric_name(draft.metric),
        **(
            diff_context((document_of(previous), previous.join_policy), (document, draft.join_policy))
            if previous
            else {}
        ),
    }
    return render(request, "suites/freeze.html", context)


def _freeze(request: SignedInRequest, suite: Suite, form: FreezeAndRunForm) -> HttpResponse:
    try:
        revision = services.freeze(suite, actor=request.user, note=form.cleaned_data["note"])
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
        return redirect("suite-freeze" if suite.draft else "suite-detail", suite.slug)
    messages.success(request, f"Revision {revision.number} is frozen: sha256 {revision.sha256[:12]}….")
    runs = 0
    try:
        for model in form.cleaned_data["models"]:
            runs += queue_once(revision, model, actor=request.user).is_new
    except (ValidationError, LimitReached) as error:
        messages.error(
            request, " ".join(error.messages) if isinstance(error, ValidationError) else str(error)
        )
    if runs:
        messages.success(request, f"{runs} run{'' if runs == 1 else 's'} queued.")
    return redirect(revision)


@require_safe
def suite_diff(request: HttpRequest, slug: str, a: int, b: int) -> HttpResponse:
    """Compare revision a with revision b. Context: suite, old, new, revisions, on_both (OnBoth, for models
    with results on both, or None), and that of suites/_diff.html."""
    suite = get_object_or_404(visible_to(request.user), slug=slug)
    revisions = list(revisions_for(request.user, suite).order_by("-number"))
    known = {row.number: row for row in revisions}
    if not {a, b} <= set(known):
        raise Http404("There is no such revision.")
    old, new = known[a], known[b]
    old.suite = new.suite = suite
    context = {
        "suite": suite,
        "old": old,
        "new": new,
        "revisions": revisions,
        "on_both": on_both(request.user, suite, old.number, new.number),
        **diff_context(*((document_for(row, request.user), row.join_policy) for row in (old, new))),
    }
    return render(request, "suites/diff.html", context)
