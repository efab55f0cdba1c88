"""Pages that import suites: one file, several or an archive, optionally frozen and run; and the report of an import."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_POST
from django_htmx.http import HttpResponseClientRefresh

from gym.accounts import throttle
from gym.accounts.models import User
from gym.accounts.requests import SignedInRequest
from gym.accounts.views import throttled
from gym.collections.bulk import collect_each, new_collection
from gym.collections.models import Collection
from gym.conflicts import Conflict
from gym.runs.work.bulk import queue_each
from lmgym.text import count
from models_registry.fields import SomeModelsField
from models_registry.selectors import runnable_by
from suites.answer_forms import AnswersForm, read_with_answers
from suites.bulk import BulkResult, freeze_each
from suites.forms import ImportForm
from suites.imports import (
    ANSWERED,
    answer,
    import_files,
    keep_results,
    known_names,
    preview,
    proposed_answers,
    stored_result,
    suites_of,
)
from suites.models import ImportedFile, SuiteImport
from suites.options import ImportOptions


class ImportAndRunForm(ImportForm):
    """Form for files to import, and optionally to freeze and run right away."""

    freeze = forms.BooleanField(
        required=False, label="Freeze each suite right away", help_text="A frozen revision never changes."
    )
    models = SomeModelsField(required=False, label="Freeze and run these models")

    def __init__(self, *args: Any, user: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field: Any = self.fields["models"]
        field.queryset = runnable_by(user)
        field.choices = [(model.slug, field.label_from_instance(model)) for model in field.queryset]
        self.has_models = bool(field.choices)

    def options(self) -> ImportOptions:
        models = tuple(model.slug for model in self.cleaned_data["models"])
        return replace(super().options(), freeze=self.cleaned_data["freeze"] or bool(models), models=models)


@login_required
def suite_import(request: SignedInRequest) -> HttpResponse:
    """Import files, then redirect to the draft of a single file that was imported and not frozen, else to the report.
    Context: form, problems [{where, message, hint}] of a single file."""
    form = ImportAndRunForm(request.POST or None, request.FILES or None, user=request.user)
    problems: list[Any] = []
    if request.method == "POST" and form.is_valid():
        options = form.options()
        batch = import_files(form.cleaned_data["files"], options, actor=request.user)
        only = batch.files.get() if len(form.cleaned_data["files"]) == 1 else None
        if only is not None and only.state == ImportedFile.State.REFUSED:
            batch.delete()
            problems = only.report["problems"]
            form.add_error(None, only.report["text"])
        elif only is not None and only.state == ImportedFile.State.MADE and not options.freeze:
            suite = only.suite
            assert suite is not None
            batch.delete()
            _tell(request, only)
            return redirect(suite)
        else:
            _freeze_and_run(batch, list(batch.files.all()), request.user)
            return redirect(batch)
    status = 400 if request.method == "POST" else 200
    return render(request, "suites/import.html", {"form": form, "problems": problems}, status=status)


def _freeze_and_run(batch: SuiteImport, rows: Sequence[ImportedFile], actor: User) -> None:
    """If the options request it, freeze the suites imported from these files, and run the chosen models on
    them and on identical suites that already existed."""
    options = ImportOptions(**batch.options)
    if not options.freeze:
        return
    imported = {row.suite_id for row in rows if row.state == ImportedFile.State.MADE}
    all_suites = {row.suite_id for row in rows}
    suites = [suite for suite in suites_of(batch) if suite.pk in all_suites]
    results: list[BulkResult] = freeze_each([suite for suite in suites if suite.pk in imported], actor=actor)
    if models := list(runnable_by(actor).filter(slug__in=options.models)):
        results += queue_each(suites, models, actor=actor)
    _keep(batch, results)


def _keep(batch: SuiteImport, results: Sequence[BulkResult]) -> None:
    by_suite: dict[int, list[dict[str, Any]]] = {}
    for result in results:
        by_suite.setdefault(result.suite.pk, []).append(result.row())
    keep_results(batch, by_suite)


COLLECTED = "The suites of this import are in a collection already."


class CollectionTitleForm(forms.Form):
    """Form for the title of a new collection of the suites of an import."""

    title = forms.CharField(max_length=200, label="Title of the new collection")


def _collect(batch: SuiteImport, title: str, actor: User) -> tuple[Collection, list[BulkResult]]:
    """Put the suites of an import into a new collection, after freezing those that were never frozen; drafts of later
    revisions stay drafts. Returns the collection and a result for each suite. Raises ValidationError."""
    suites = suites_of(batch)
    drafts = [suite for suite in suites if suite.draft and not suite.latest_frozen]
    with transaction.atomic():  # a second click must not create a second collection
        locked = SuiteImport.objects.select_for_update().get(pk=batch.pk)
        if ImportOptions(**locked.options).collection is None:
            raise ValidationError(COLLECTED)
        collection = new_collection(title, actor=actor)
        locked.options["collection"] = None
        locked.save(update_fields=["options"])
    frozen = freeze_each(drafts, actor=actor)
    added = collect_each(suites, collection, actor=actor)
    _keep(batch, [*frozen, *added])
    return collection, added


def _collected(request: SignedInRequest, batch: SuiteImport, title: str) -> HttpResponse:
    """Create the collection, and redirect to it, or to the report if a suite was not added."""
    try:
        collection, added = _collect(batch, title, request.user)
    except ValidationError as error:  # includes OverQuota
        messages.error(request, " ".join(error.messages))
        return redirect(batch)
    if refused := sum(result.kind == "refused" for result in added):
        without = count(refused, "suite")
        messages.warning(request, f"“{collection}” was created without {without}; the reasons are below.")
        return redirect(batch)
    suites = count(len(added), "suite")
    messages.success(
        request, f"Collection of {suites} created. Only you can see it until you share or publish it."
    )
    return redirect(collection)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def import_report(request: SignedInRequest, key: str) -> HttpResponse:
    """Show the report of an import. POST answers the questions about one file (`file`: its position), or puts the
    suites into a new collection (`title`). Context: batch, rows [(ImportedFile, AnswersForm or None)], summary
    (sentence), suites (of the files), what (number of suites), waiting (number of files with questions), offer
    (CollectionTitleForm or None), options."""
    batch = _import_of(request, key)
    files = list(batch.files.select_related("suite"))
    forms_by_file = {
        row.pk: _answers_form(row, batch) for row in files if row.state == ImportedFile.State.ASKS
    }
    suites = suites_of(batch)
    offer = _offer(batch, len(suites), request.POST if "title" in request.POST else None)
    status = 200
    if "title" in request.POST:
        if offer is None:
            messages.info(request, COLLECTED)
            return redirect(batch)
        if offer.is_valid():
            return _collected(request, batch, offer.cleaned_data["title"])
        status = 400
    elif request.method == "POST":
        row = next((row for row in files if str(row.position) == request.POST.get("file", "")), None)
        if row is None or row.state != ImportedFile.State.ASKS:
            messages.info(request, ANSWERED)
            return redirect(batch)
        form = forms_by_file[row.pk] = _answers_form(row, batch, request.POST)
        if form.is_valid():
            row.batch = batch
            answers = read_with_answers(form, lambda options: preview(row, options)).answers
            try:
                answered = answer(row, answers, actor=request.user)
            except Conflict as error:  # a second click
                messages.info(request, str(error))
                return redirect(batch)
            _freeze_and_run(batch, answered, request.user)
            return _answered(request, batch, row, only=len(files) == 1)
        status = 400
    by_state = Counter(row.state for row in files)
    parts = [f"{by_state[state]} {label}" for state, label in ImportedFile.State.choices if by_state[state]]
    context = {
        "batch": batch,
        "rows": [(row, forms_by_file.get(row.pk)) for row in files],
        "summary": f"{count(len(files), 'file')}: {', '.join(parts)}.",
        "suites": suites,
        "what": count(len(suites), "suite"),
        "waiting": by_state[ImportedFile.State.ASKS],
        "offer": offer,
        "options": ImportOptions(**batch.options),
    }
    return render(request, "suites/import_report.html", context, status=status)


@login_required
@require_POST
@throttled
def import_reading(request: SignedInRequest, key: str) -> HttpResponse:
    """Show how a file with open questions (`file`: its position) is read with the sent answers and the proposed ones;
    nothing is saved. HTML fragment, or a reload if the file has no open questions. Context: file, form, reading."""
    throttle.live_readings().take(request.user.pk)
    batch = _import_of(request, key)
    position = request.POST.get("file", "")[:4]
    waiting = batch.files.filter(state=ImportedFile.State.ASKS)
    row = waiting.filter(position=int(position)).first() if position.isdecimal() else None
    if row is None:
        return HttpResponseClientRefresh()
    row.batch = batch
    form = _answers_form(row, batch, request.POST)
    reading = read_with_answers(form, lambda options: preview(row, options), assume_proposed=True)
    return render(request, "suites/_reading.html", {"file": row, "form": form, "reading": reading})


def _import_of(request: SignedInRequest, key: str) -> SuiteImport:
    return get_object_or_404(SuiteImport.objects.select_related("target"), key=key, owner=request.user)


def _offer(batch: SuiteImport, n_suites: int, data: Any) -> CollectionTitleForm | None:
    """Return the form for a collection of the suites, if there are several of one import and it is not created yet."""
    title = ImportOptions(**batch.options).collection
    if title is None or n_suites < 2:
        return None
    return CollectionTitleForm(data, initial={"title": title}, auto_id="collection-%s")


def _answers_form(row: ImportedFile, batch: SuiteImport, data: Any = None) -> AnswersForm:
    return AnswersForm(
        data,
        parsed=stored_result(row),
        before=proposed_answers(row),
        known=known_names(batch),
        auto_id=f"file-{row.position}-%s",
    )


def _answered(request: HttpRequest, batch: SuiteImport, row: ImportedFile, *, only: bool) -> HttpResponse:
    """Redirect to the draft if the import has a single file that was imported and not frozen, else to the report."""
    if (
        ImportOptions(**batch.options).freeze
        or not only
        or row.state != ImportedFile.State.MADE
        or row.suite is None
    ):
        return redirect(batch)
    suite = row.suite
    _tell(request, row)
    return redirect("suite-editor", suite.slug)


def _tell(request: HttpRequest, row: ImportedFile) -> None:
    """Say what a file has become, and how it was interpreted."""
    messages.success(request, f"Imported as a draft: {row.report['text']}")
    if notices := row.report["notices"]:
        messages.info(request, " ".join(notices))
