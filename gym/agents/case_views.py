"""Pages for single test cases: view, edit as text or as a form, check while editing, delete, download."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST, require_safe

from gym.accounts.requests import SignedInRequest
from gym.agents import permissions, selectors, services
from gym.agents.charts import case_trend
from gym.agents.forms import CaseForm, agent_names
from gym.agents.models import AgentCase, AgentSuite
from gym.agents.views import add_errors, editable_suite, run_form, visible_suite
from gym.downloads import download
from lmgym.agents.archives import file_of
from lmgym.agents.case_form import (
    EMPTY_TURN,
    MAX_FIELDS,
    MAX_TURNS,
    TOP,
    TURN,
    document_of,
    fields_of,
    n_fields,
    write_case,
)
from lmgym.agents.cases import EXTENSIONS, FILTERS, Problem, TestCase, errors_in
from lmgym.agents.check_rows import EMPTY_ROW, LABELS
from lmgym.charts.figure import Figure

EXAMPLE = """\
# The message, and checks of the answer.
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


STAYING = frozenset(("add", "add-check", "drop-check"))
"""Buttons that change the form without saving it."""


def _case(suite: AgentSuite, pk: int) -> AgentCase:
    return get_object_or_404(suite.cases.select_related("suite"), pk=pk)


@require_safe
def case_detail(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Show a case. Context: suite, case, read (TestCase or None), problems, history [(CaseRun, Evidence)], figure
    (or None), flaky, may_edit, run_form (or None)."""
    suite = visible_suite(request, slug)
    case = _case(suite, pk)
    read, problems = selectors.parse_for_user(case, request.user)
    history = selectors.history_of(case, request.user)
    runs = [(case_run, selectors.evidence_of(case_run)) for case_run in history]
    context = {
        "suite": suite,
        "case": case,
        "read": read,
        "problems": problems,
        "history": runs,
        "figure": case_trend(case, runs),
        "flaky": selectors.flaky(history),
        "may_edit": permissions.can_edit(request.user, suite),
        "run_form": run_form(request, suite, [case.agent]),
    }
    return render(request, "agents/case.html", context)


def trend_chart(request: HttpRequest) -> Figure:
    """Draw the results over time of the case named in the query."""
    number = request.GET.get("case", "")
    if not number.isdecimal() or len(number) > 9:
        raise Http404("The case must be a number.")
    case = _case(visible_suite(request, request.GET.get("suite", "").replace("\0", "")), int(number))
    history = selectors.history_of(case, request.user)
    figure = case_trend(case, [(row, selectors.evidence_of(row)) for row in history])
    if figure is None:
        raise Http404("This case has no runs to draw.")
    return figure


@login_required
def case_new(request: SignedInRequest, slug: str) -> HttpResponse:
    suite = editable_suite(request, slug)
    return _edit(request, suite, AgentCase(suite=suite, text=EXAMPLE))


@login_required
def case_edit(request: SignedInRequest, slug: str, pk: int) -> HttpResponse:
    suite = editable_suite(request, slug)
    return _edit(request, suite, _case(suite, pk))


def _edit(request: SignedInRequest, suite: AgentSuite, case: AgentCase) -> HttpResponse:
    """Edit the case as text. Context: suite, case, new (bool), form, problems, read."""
    new = case.pk is None
    text = request.POST.get("text", case.text).replace("\r\n", "\n")
    read, problems = selectors.parse_for_user(AgentCase(suite=suite, text=text), request.user)
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
    return render(request, "agents/case_edit.html", context, status=400 if form.errors else 200)


@login_required
@require_POST
def case_check(request: HttpRequest, slug: str) -> HttpResponse:
    """Show remarks on a text being edited, without saving it. Context: suite, problems, read."""
    suite = editable_suite(request, slug)
    text = request.POST.get("text", "").replace("\r\n", "\n")
    read, problems = selectors.parse_for_user(AgentCase(suite=suite, text=text), request.user)
    return render(request, "agents/_findings.html", {"suite": suite, "problems": problems, "read": read})


@login_required
def case_form(request: SignedInRequest, slug: str, pk: int) -> HttpResponse:
    """Edit the case as a form. Saving changed fields rewrites the text, so comments are lost. For a case that does not
    fit a form, say why; context: suite, case, refused."""
    suite = editable_suite(request, slug)
    case = _case(suite, pk)
    read, _ = selectors.parse_for_user(case, request.user)
    why = "cannot be read"
    if read is not None:
        many = len(read.interactions) > MAX_TURNS
        why = "uses variables" if read.variables else f"has more than {MAX_TURNS} turns" if many else ""
        if not why and n_fields(fields_of(read.document)[1]) > MAX_FIELDS:
            why = "has too many checks for a form"
    if read is None or why:
        context = {"suite": suite, "case": case, "refused": why}
        return render(request, "agents/case_form.html", context)
    return _fields(request, suite, case, read.document)


@login_required
def case_new_form(request: SignedInRequest, slug: str) -> HttpResponse:
    suite = editable_suite(request, slug)
    return _fields(request, suite, AgentCase(suite=suite), {"connections": "http"})


def _fields(
    request: SignedInRequest, suite: AgentSuite, case: AgentCase, document: dict[str, Any]
) -> HttpResponse:
    """Show or save the form of a case. htmx requests get remarks on the current fields. After one of the
    buttons in STAYING, the form is shown again with a turn or check added or removed.

    Context: suite, case, new (bool), name, top, turns (with rows and places), n_checks, added (bool), tests,
    extension_tests, filters, agent_names, problems, read, refusals, loses_comments.
    """
    new, name = case.pk is None, request.POST.get("name", case.name)
    top, turns = _given(request) if request.method == "POST" else fields_of(document)
    staying = STAYING & set(request.POST)
    made, wrong = document_of(document, top, turns)
    # Compared as text, because 1 == True in Python.
    text = case.text if not new and _same(made, document) else write_case(made)
    read, problems = _parse_fields(request, suite, text, wrong)
    if request.headers.get("HX-Request"):
        context: dict[str, Any] = {"suite": suite, "read": read, "problems": problems}
        return render(request, "agents/_findings.html", context)
    refusals: list[str] = []
    if request.method == "POST" and not staying:
        whole = "agent" in request.POST and all("checks" in turn for turn in turns) and bool(turns)
        refusals = wrong if whole else ["The form was not received completely. Submit it again."]
        refusals = refusals or errors_in(problems) or _saved(request, case, name, text)
        if not refusals:
            messages.success(request, "Saved.")
            return redirect(case)
    if "add" in request.POST or (new and not turns):
        turns = [*turns, {**EMPTY_TURN, "checks": [dict(EMPTY_ROW)]}]
    turns = _with_rows(request, turns, selectors.places_of(case, request.user))
    begun = request.method == "POST" or not new
    context = {"suite": suite, "case": case, "new": new, "name": name, "top": top, "turns": turns}
    context["tests"] = [(test, label) for test, label in LABELS.items() if test not in EXTENSIONS]
    context["extension_tests"] = [(test, LABELS[test]) for test in EXTENSIONS]
    context |= {"filters": FILTERS, "problems": problems if begun else [], "read": read, "refusals": refusals}
    context["n_checks"] = sum(len(turn["checks"]) for turn in turns)
    context["added"] = "add" in request.POST
    context["agent_names"] = agent_names(selectors.servers_usable_by(request.user))
    context["loses_comments"] = any(mark in case.text for mark in ("#", "//", "${", "+="))
    return render(request, "agents/case_form.html", context, status=400 if refusals else 200)


def _same(first: dict[str, Any], second: dict[str, Any]) -> bool:
    return json.dumps(first, sort_keys=True) == json.dumps(second, sort_keys=True)


def _parse_fields(
    request: HttpRequest, suite: AgentSuite, text: str, wrong: list[str]
) -> tuple[TestCase | None, list[Problem]]:
    """Check the text built from the fields. Line numbers are removed, because users of the form do not see the text."""
    read, findings = selectors.parse_for_user(AgentCase(suite=suite, text=text), request.user)
    problems = [Problem("error", "field", "", 0, 0, message) for message in wrong]
    return (None if wrong else read), problems + [replace(finding, line=0, column=0) for finding in findings]


def _saved(request: SignedInRequest, case: AgentCase, name: str, text: str) -> list[str]:
    """Save the case and return the errors; empty if it was saved."""
    form = CaseForm({"name": name, "text": text}, instance=case)
    try:
        if form.is_valid():
            services.save_case(form.save(commit=False), actor=request.user)
    except ValidationError as error:
        add_errors(form, error)
    return [str(message) for errors in form.errors.values() for message in errors]


def _with_rows(
    request: HttpRequest, turns: list[dict[str, Any]], places: list[list[tuple[str, str]]]
) -> list[dict[str, Any]]:
    """Add or remove the check row that the pressed button names, number all rows, and add to each turn the
    paths that its checks may use."""
    extended, dropped = request.POST.get("add-check", ""), request.POST.get("drop-check", "")
    shown, number = [], 0
    for at, turn in enumerate(turns):
        rows = []
        for row in turn.get("checks", ()):
            if str(number) != dropped:
                rows.append({**row, "at": at})
            number += 1
        if str(at) == extended:
            rows.append({**EMPTY_ROW, "at": at, "added": True})
        offered = places[at] if at < len(places) else [("text", "")]
        shown.append({**turn, "checks": rows, "places": offered})
    for number, row in enumerate(row for turn in shown for row in turn["checks"]):
        row["number"] = number
    return shown


def _given(request: HttpRequest) -> tuple[dict[str, str], list[dict[str, Any]]]:
    """Return the submitted fields. Turns whose rows were not received completely have no `checks`."""
    top = {name: request.POST[name] for name in TOP if name in request.POST}
    columns = {name: request.POST.getlist(f"turn-{name}") for name in TURN}
    sent = {name: column for name, column in columns.items() if column}
    count = min(map(len, sent.values()), default=0)
    turns: list[dict[str, Any]] = [
        {name: column[number] for name, column in sent.items()} for number in range(count)
    ]
    parts = [request.POST.getlist(f"check-{name}") for name in ("turn", "place", "test", "expected")]
    if {str(len(part)) for part in parts} == {request.POST.get("check-count", "")}:
        for at, turn in enumerate(turns):
            turn["checks"] = [
                {"place": place, "test": test, "expected": expected}
                for number, place, test, expected in zip(*parts, strict=True)
                if number == str(at)
            ]
    return top, turns


@login_required
@require_POST
def case_delete(request: SignedInRequest, slug: str, pk: int) -> HttpResponse:
    suite = editable_suite(request, slug)
    services.delete_case(_case(suite, pk), actor=request.user)
    messages.success(request, "The case was deleted. Runs keep its text and results.")
    return redirect(suite)


@require_safe
def case_download(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Download the case's unchanged text."""
    case = _case(visible_suite(request, slug), pk)
    safe = "".join(
        sign if sign.isascii() and (sign.isalnum() or sign in "-_.") else "_" for sign in case.name
    )
    return download(case.text, file_of(safe), "text/plain")
