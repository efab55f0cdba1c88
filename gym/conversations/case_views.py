"""Pages of single test cases: read, write as text or as a form, check while writing."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST, require_safe

from gym.conversations import blanks, permissions, selectors, services
from gym.conversations.cases import write_case
from gym.conversations.forms import CaseForm
from gym.conversations.models import AgentCase, AgentSuite
from gym.conversations.views import add_errors, editable_suite, visible_suite
from gym.exports import download

EXAMPLE = """\
# What is said, and what has to be true of the answer.
agent: echo
connections: http
success_ratio: "1/1"
interactions: [
  {
    text: "Hello there"
    response: { text: { keywords: ["Hello", "there"] } }
  }
]
"""


def _case(suite: AgentSuite, pk: int) -> AgentCase:
    return get_object_or_404(suite.cases.select_related("suite"), pk=pk)


@require_safe
def case_detail(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Context: suite, case, read (TestCase or None), problems, history [(CaseRun, Evidence)], flaky, may_edit."""
    suite = visible_suite(request, slug)
    case = _case(suite, pk)
    read, problems = case.look()
    history = selectors.history_of(case, request.user)
    context = {
        "suite": suite,
        "case": case,
        "read": read,
        "problems": problems,
        "history": [(case_run, selectors.evidence_of(case_run)) for case_run in history],
        "flaky": selectors.flaky(history),
        "may_edit": permissions.can_edit(request.user, suite),
    }
    return render(request, "conversations/case.html", context)


@login_required
def case_new(request: HttpRequest, slug: str) -> HttpResponse:
    suite = editable_suite(request, slug)
    return _edit(request, suite, AgentCase(suite=suite, text=EXAMPLE))


@login_required
def case_edit(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    suite = editable_suite(request, slug)
    return _edit(request, suite, _case(suite, pk))


def _edit(request: HttpRequest, suite: AgentSuite, case: AgentCase) -> HttpResponse:
    """Context: suite, case, new (bool), form, problems, read."""
    new = case.pk is None
    text = request.POST.get("text", case.text).replace("\r\n", "\n")
    read, problems = AgentCase(suite=suite, text=text).look()
    form = CaseForm(request.POST or None, instance=case)
    if request.method == "POST" and form.is_valid():
        try:
            services.save_case(form.save(commit=False), actor=request.user)
        except ValidationError as error:
            add_errors(form, error)
        else:
            messages.success(request, "Saved.")
            return redirect(case)
    context = {"suite": suite, "case": case, "new": new, "form": form, "problems": problems, "read": read}
    return render(request, "conversations/case_edit.html", context, status=400 if form.errors else 200)


@login_required
@require_POST
def case_check(request: HttpRequest, slug: str) -> HttpResponse:
    """What there is to say about a text that is being written; nothing is saved. Context: problems, read."""
    suite = editable_suite(request, slug)
    text = request.POST.get("text", "").replace("\r\n", "\n")
    read, problems = AgentCase(suite=suite, text=text).look()
    return render(request, "conversations/_findings.html", {"problems": problems, "read": read})


@login_required
def case_form(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """The case in fields. Saving writes its text anew, so comments go. Context: suite, case, top, turns, problems,
    loses_comments, refused (why there is no form)."""
    suite = editable_suite(request, slug)
    case = _case(suite, pk)
    read, _ = case.look()
    context: dict[str, Any] = {"suite": suite, "case": case, "problems": []}
    if read is None or read.variables:
        why = "names variables" if read else "cannot be read"
        return render(request, "conversations/case_form.html", {**context, "refused": why})
    top, turns = blanks.fields_of(read.document)
    if request.method == "POST":
        top, turns = _given(request)
        document, problems = blanks.document_of(read.document, top, list(turns))
        if not problems:
            case.text = write_case(document)
            try:
                services.save_case(case, actor=request.user)
            except ValidationError as error:
                problems = error.messages
            else:
                messages.success(request, "Saved.")
                return redirect(case)
        context["problems"] = problems
    context |= {
        "top": top,
        "turns": turns + [{"continues": "yes"}] * blanks.EMPTY,
        "loses_comments": "#" in case.text or "//" in case.text,
    }
    status = 400 if context["problems"] else 200
    return render(request, "conversations/case_form.html", context, status=status)


def _given(request: HttpRequest) -> tuple[dict[str, str], list[dict[str, str]]]:
    """The fields as they were sent."""
    top = {name: request.POST.get(name, "") for name in blanks.TOP}
    names = ("text", "sly_data", "response", "timeout_in_seconds", "continues")
    columns = {name: request.POST.getlist(f"turn-{name}") for name in names}
    count = min(len(column) for column in columns.values())
    return top, [{name: columns[name][number] for name in names} for number in range(count)]


@login_required
@require_POST
def case_delete(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    suite = editable_suite(request, slug)
    services.delete_case(_case(suite, pk), actor=request.user)
    messages.success(request, "The case is deleted. Runs keep its text and its results.")
    return redirect(suite)


@require_safe
def case_download(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """The very text it was given as."""
    case = _case(visible_suite(request, slug), pk)
    safe = "".join(
        sign if sign.isascii() and (sign.isalnum() or sign in "-_.") else "_" for sign in case.name
    )
    return download(case.text, f"{safe}.hocon", "text/plain")
