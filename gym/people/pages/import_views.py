"""Pages that import human data: upload, the file's questions with how it is read, and the import's progress."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_POST
from django_htmx.http import HttpResponseClientRedirect, HttpResponseClientRefresh

from gym.accounts.errors import LimitReached
from gym.accounts.requests import SignedInRequest
from gym.jobs.pages import progress_of, show_error
from gym.people import reading, services
from gym.people.forms import ACCEPTED, PeopleQuestionsForm, UploadForm
from gym.people.models import HumanDataImport
from gym.people.selectors import imports_of
from lmgym.people.intake import Imported
from suites.models import SuiteRevision
from suites.selectors import revisions_for

MAX_ROUNDS = 4
"""Maximum number of times that a page reads a file, as proposed answers can raise questions."""


@login_required
def data_new(request: SignedInRequest, slug: str, number: int) -> HttpResponse:
    """Upload a file with human data for a frozen revision. Context: revision, suite, form, accepted, max_bytes."""
    rows = revisions_for(request.user).filter(suite__slug=slug, state=SuiteRevision.State.FROZEN)
    revision = get_object_or_404(rows.select_related("suite"), number=number)
    form = UploadForm(*((request.POST, request.FILES) if request.method == "POST" else ()))
    if request.method == "POST" and form.is_valid():
        try:
            row = services.upload(
                revision,
                form.cleaned_data["file"],
                form.filename,
                actor=request.user,
                title=form.cleaned_data["title"],
            )
        except (ValidationError, LimitReached) as error:
            form.add_error(None, " ".join(getattr(error, "messages", [str(error)])))
        else:
            return redirect(row)
    context = {
        "revision": revision,
        "suite": revision.suite,
        "form": form,
        "accepted": ACCEPTED,
        "max_bytes": services.MAX_BYTES,
    }
    status = 400 if request.method == "POST" else 200
    return render(request, "people/new.html", context, status=status)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def data_import(request: SignedInRequest, key: str) -> HttpResponse:
    """Show an uploaded file: its questions, or the progress of its job; redirects to the data set once it is imported.
    POST sends the answers and queues the import. Context: row, suite, revision, form (or None), reading, and
    the job's."""
    row = _import_at(request, key)
    if row.made is not None:  # a polling page must leave, not swap the data's page into its progress
        address = row.made.get_absolute_url()
        return HttpResponseClientRedirect(address) if "HX-Request" in request.headers else redirect(address)
    form = (
        None
        if row.is_busy or not row.reading.get("questions")
        else _form(row, request.POST if request.method == "POST" else None)
    )
    status = 200
    if request.method == "POST":
        if form is not None and form.is_valid():
            try:
                services.answer(row, _sent(request), actor=request.user)
            except (ValidationError, LimitReached) as error:
                show_error(request, error)
            return redirect(row)
        status = 400
    context = {
        "row": row,
        "revision": row.revision,
        "suite": row.revision.suite,
        "form": form,
        "reading": row.reading,
        **progress_of(row.job, request.user),
    }
    return render(request, "people/import.html", context, status=status)


@login_required
@require_POST
def data_import_reading(request: SignedInRequest, key: str) -> HttpResponse:
    """Show how a small file is read with the sent and the proposed answers; nothing is saved. HTML fragment, or a
    reload if the file is being imported. Context: row, reading, follow_up (form with further questions, or None)."""
    row = _import_at(request, key)
    if row.is_busy or row.made is not None or not row.is_live:
        return HttpResponseClientRefresh()
    imported = _with_proposed(row, _sent(request))
    known = {question["name"] for question in row.reading.get("questions", ())}
    more = [question for question in imported.questions if question.name not in known]
    read = reading.reading_of(imported)
    follow_up = (
        PeopleQuestionsForm(
            initial=_sent(request), questions=more, reading=read, auto_id=f"file-{row.key}-%s"
        )
        if more
        else None
    )
    return render(request, "people/_reading.html", {"row": row, "reading": read, "follow_up": follow_up})


@login_required
@require_POST
def data_import_delete(request: SignedInRequest, key: str) -> HttpResponse:
    row = _import_at(request, key)
    revision = row.revision
    services.discard(row, actor=request.user)
    messages.success(request, "The uploaded file was deleted.")
    return redirect(revision)


def _with_proposed(row: HumanDataImport, answers: dict[str, str]) -> Imported:
    """Read a file, with proposed answers to questions that have none yet."""
    imported = reading.parse(row, answers)
    for _ in range(MAX_ROUNDS):
        proposed = {
            question.name: question.proposed
            for question in imported.questions
            if question.name in imported.asks and question.proposed and not answers.get(question.name)
        }
        if not proposed:
            break
        answers = answers | proposed
        imported = reading.parse(row, answers)
    return imported


def _form(row: HumanDataImport, data: Any) -> PeopleQuestionsForm:
    return PeopleQuestionsForm(
        data,
        questions=reading.questions_in(row.reading),
        reading=row.reading,
        initial=row.answers,
        auto_id=f"file-{row.key}-%s",
    )


def _sent(request: SignedInRequest) -> dict[str, str]:
    """Return the answers in a form."""
    return services.cleaned_answers(
        {name: str(value) for name, value in request.POST.items() if name != "csrfmiddlewaretoken"}
    )


def _import_at(request: SignedInRequest, key: str) -> HumanDataImport:
    return get_object_or_404(imports_of(request.user), key=key)
