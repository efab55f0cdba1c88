"""Pages for the history of a suite's drafts: the list of changes, and an earlier state with a button to restore it."""

from __future__ import annotations

from uuid import uuid4

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from gym.accounts.quotas import OverQuota
from gym.accounts.requests import SignedInRequest
from suites import drafts, history
from suites.models import Suite, SuiteRevision
from suites.presenters import diff_context
from suites.views import editable

CHANGES_PER_PAGE = 50
CHANGED = "The draft was changed since you opened this page. Nothing was restored. Check the changes below."


@login_required
@require_safe
def suite_history(request: SignedInRequest, slug: str) -> HttpResponse:
    """List the changes of a suite's drafts, newest first. Context: suite, draft (or None), page, changes [Change],
    keep_edits."""
    suite = editable(request, slug)
    draft = _draft(suite)
    page = Paginator(history.edits_of(suite), CHANGES_PER_PAGE).get_page(request.GET.get("page"))
    context = {
        "suite": suite,
        "draft": draft,
        "page": page,
        "changes": history.changes_in(page, suite, draft),
        "keep_edits": f"{history.KEEP_EDITS:,}",
    }
    return render(request, "suites/history.html", context)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def suite_past(request: SignedInRequest, slug: str, version: int) -> HttpResponse:
    """Show what the draft was after a change, and restore it on POST. Parameter: `version`, the draft's version on the
    page. Context: suite, draft, version, change (None for the oldest state), and that of
    suites/_diff.html."""
    suite = editable(request, slug)
    draft = _draft(suite)
    if draft is None:
        messages.info(request, "There is no draft. Open one to restore an earlier state.")
        return redirect("suite-history", slug)
    status = 200
    if request.method == "POST":
        seen = request.POST.get("version", "")
        if not seen.isdecimal() or len(seen) > 9:
            status = 400
        elif (response := _restore(request, suite, int(seen), version)) is not None:
            return response
        else:
            status = 409
            draft = _draft(suite) or draft
    try:
        then = history.state_at(draft, version)
    except history.NotKept as error:
        raise Http404("This state of the draft is no longer kept.") from error
    edit = history.edits_of(suite).filter(version=version).first()
    context = {
        "suite": suite,
        "draft": draft,
        "version": version,
        "change": history.changes_in([edit], suite, draft)[0] if edit else None,
        **diff_context(history.state_of(draft), then),
    }
    return render(request, "suites/past.html", context, status=status)


def _restore(request: SignedInRequest, suite: Suite, seen: int, version: int) -> HttpResponse | None:
    """Restore a state and return to the editor. Returns None if the draft was changed since it was seen."""
    try:
        outcome = drafts.restore(suite, seen, version, key=str(uuid4()), actor=request.user)
    except OverQuota as error:
        messages.error(request, " ".join(error.messages))
        return redirect("suite-history", suite.slug)
    if outcome.conflicts:
        messages.error(request, CHANGED)
        return None
    messages.success(
        request, f"Restored the state after change {version}. Later changes stay in the history."
    )
    return redirect("suite-editor", suite.slug)


def _draft(suite: Suite) -> SuiteRevision | None:
    draft = suite.draft
    if draft is not None:
        draft.suite = suite
    return draft
