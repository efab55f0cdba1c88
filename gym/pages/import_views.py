"""Importing suites: one, several or an archive of them, frozen and run at once if one likes; and its report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods

from gym.accounts.models import User
from gym.accounts.requests import SignedInRequest
from gym.runs.work.bulk import queue_each
from lmgym.suites.intake.parsing import ParseOptions
from lmgym.text import count
from models_registry.fields import SomeModelsField
from models_registry.selectors import runnable_by
from suites.answer_forms import AnswersForm
from suites.bulk import BulkResult, freeze_each
from suites.forms import ImportForm
from suites.imports import ImportOptions, answer, import_files, keep_said, known_names, reading_of, suites_of
from suites.models import ImportedFile, SuiteImport


class ImportAndRunForm(ImportForm):
    """Files, whether to freeze them, and models to run on them at once."""

    freeze = forms.BooleanField(
        required=False, label="Freeze each suite at once", help_text="A frozen revision never changes."
    )
    models = SomeModelsField(required=False, label="Freeze and run these models")

    def __init__(self, *args: Any, user: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        offered: Any = self.fields["models"]
        offered.queryset = runnable_by(user)
        offered.choices = [(model.slug, offered.label_from_instance(model)) for model in offered.queryset]
        self.has_models = bool(offered.choices)

    def wishes(self) -> ImportOptions:
        models = tuple(model.slug for model in self.cleaned_data["models"])
        return replace(super().wishes(), freeze=self.cleaned_data["freeze"] or bool(models), models=models)


@login_required
def suite_import(request: SignedInRequest) -> HttpResponse:
    """Context: form, problems [{where, message, hint}] of a single file. One file that becomes a draft opens its page;
    anything else has a report."""
    form = ImportAndRunForm(request.POST or None, request.FILES or None, user=request.user)
    problems: list[Any] = []
    if request.method == "POST" and form.is_valid():
        wishes = form.wishes()
        batch = import_files(form.cleaned_data["files"], wishes, actor=request.user)
        only = batch.files.get() if len(form.cleaned_data["files"]) == 1 else None
        if only is not None and only.state == ImportedFile.State.REFUSED:
            batch.delete()
            problems = only.report["problems"]
            form.add_error(None, only.report["text"])
        elif only is not None and only.state == ImportedFile.State.MADE and not wishes.freeze:
            suite = only.suite
            assert suite is not None
            batch.delete()
            messages.success(request, f"Imported as a draft: {only.report['text']}")
            return redirect(suite)
        else:
            _go_on(batch, list(batch.files.all()), request.user)
            return redirect(batch)
    status = 400 if request.method == "POST" else 200
    return render(request, "suites/import.html", {"form": form, "problems": problems}, status=status)


def _go_on(batch: SuiteImport, rows: Sequence[ImportedFile], actor: User) -> None:
    """Where it was asked for: freeze what these files became and run the chosen models on it, and on what was here
    already."""
    wishes = ImportOptions(**batch.options)
    if not wishes.freeze:
        return
    made = {row.suite_id for row in rows if row.state == ImportedFile.State.MADE}
    ours = {row.suite_id for row in rows}
    suites = [suite for suite in suites_of(batch) if suite.pk in ours]
    said: list[BulkResult] = freeze_each([suite for suite in suites if suite.pk in made], actor=actor)
    if models := list(runnable_by(actor).filter(slug__in=wishes.models)):
        said += queue_each(suites, models, actor=actor)
    told: dict[int, list[dict[str, Any]]] = {}
    for one in said:
        told.setdefault(one.suite.pk, []).append(one.row())
    keep_said(batch, told)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def import_report(request: SignedInRequest, key: str) -> HttpResponse:
    """What became of each file; POST (`file`: its position) answers what one asks. Context: batch, rows [(ImportedFile,
    AnswersForm or None)], summary (sentence), suites (of the files), what (their number),
    wishes."""
    batch = get_object_or_404(SuiteImport.objects.select_related("target"), key=key, owner=request.user)
    files = list(batch.files.select_related("suite"))
    forms_by_file = {
        row.pk: _answers_form(row, batch) for row in files if row.state == ImportedFile.State.ASKS
    }
    status = 200
    if request.method == "POST":
        row = next((row for row in files if str(row.position) == request.POST.get("file", "")), None)
        if row is None or row.state != ImportedFile.State.ASKS:
            messages.info(request, "This file has its answer already.")
            return redirect(batch)
        form = forms_by_file[row.pk] = _answers_form(row, batch, request.POST)
        if form.is_valid():
            answer(row, form.answers(), actor=request.user)
            _go_on(batch, [row], request.user)
            return _answered(request, batch, row, only=len(files) == 1)
        status = 400
    by_state = Counter(row.state for row in files)
    parts = [f"{by_state[state]} {label}" for state, label in ImportedFile.State.choices if by_state[state]]
    suites = suites_of(batch)
    context = {
        "batch": batch,
        "rows": [(row, forms_by_file.get(row.pk)) for row in files],
        "summary": f"{count(len(files), 'file')}: {', '.join(parts)}.",
        "suites": suites,
        "what": count(len(suites), "suite"),
        "wishes": ImportOptions(**batch.options),
    }
    return render(request, "suites/import_report.html", context, status=status)


def _answers_form(row: ImportedFile, batch: SuiteImport, data: Any = None) -> AnswersForm:
    reading = reading_of(row)
    known = known_names(batch)
    return AnswersForm(
        data,
        reading=reading,
        before=ParseOptions(**row.answers),
        known=known,
        auto_id=f"file-{row.position}-%s",
    )


def _answered(request: HttpRequest, batch: SuiteImport, row: ImportedFile, *, only: bool) -> HttpResponse:
    """The only file of an import opens the draft that it became."""
    if (
        ImportOptions(**batch.options).freeze
        or not only
        or row.state != ImportedFile.State.MADE
        or row.suite is None
    ):
        return redirect(batch)
    suite = row.suite
    messages.success(request, f"{suite.title} is a draft now: {row.report['text']}")
    return redirect("suite-editor", suite.slug)
