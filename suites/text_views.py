"""Editing without JavaScript: the sheet as text, predictions and names as forms. Sends the same edits as the grid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from uuid import uuid4

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.forms import formset_factory
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from suites import drafts, services
from suites.diff import pairs_of
from suites.editing import (
    EditError,
    apply,
    carried_over,
    clean_name,
    ops_between,
    rename_condition_in,
    rename_ops,
)
from suites.editor_views import editable, offer_draft, open_draft
from suites.formats import MAX_PREDICTIONS, SuiteDocument, write_wide_tsv
from suites.formulas import FormulaError, parse
from suites.models import Suite
from suites.selectors import document_of
from suites.sheets import Reading, read_sheet

STALE = (
    "Somebody changed the draft since you opened this page. What you wrote stands below and is not saved; "
    "save again to put it in the place of theirs."
)


class SheetForm(forms.Form):
    text = forms.CharField(
        strip=False,
        label="Sentences",
        widget=forms.Textarea(attrs={"rows": 16, "spellcheck": "false", "wrap": "off"}),
        help_text="One row per sentence, cells separated by tabs: item, condition, then the regions. Edit it here, or "
        "copy all of it into a spreadsheet and back.",
    )


class PredictionForm(forms.Form):
    name = forms.CharField(max_length=200, required=False)
    formula = forms.CharField(
        max_length=10_000, required=False, widget=forms.Textarea(attrs={"rows": 2, "spellcheck": "false"})
    )
    description = forms.CharField(max_length=10_000, required=False, widget=forms.Textarea(attrs={"rows": 2}))


PredictionFormSet = formset_factory(
    PredictionForm,
    can_delete=True,
    can_order=True,
    extra=1,
    max_num=MAX_PREDICTIONS,
    absolute_max=MAX_PREDICTIONS + 1,
)


class NamesForm(forms.Form):
    """One field per region and per condition."""

    def __init__(self, *args: Any, document: SuiteDocument, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.document = document
        for number, name in enumerate(document.region_names, start=1):
            self.fields[f"region-{number}"] = forms.CharField(
                max_length=200, initial=name, label=f"Region {number}"
            )
        for number, name in enumerate(document.conditions, start=1):
            self.fields[f"condition-{number}"] = forms.CharField(
                max_length=200, initial=name, label=f"Condition {number}"
            )

    @property
    def regions(self) -> list[forms.BoundField]:
        return [field for field in self if field.name.startswith("region-")]

    @property
    def conditions(self) -> list[forms.BoundField]:
        return [field for field in self if field.name.startswith("condition-")]

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        for key, value in list(cleaned.items()):
            try:
                cleaned[key] = clean_name(value, key.partition("-")[0])
            except EditError as error:
                self.add_error(key, f"{error.message[0].upper()}{error.message[1:]}.")
        names = [cleaned.get(field.name) for field in self.conditions]
        if len(set(names)) < len(names) and not self.errors:
            raise ValidationError("Two conditions would have the same name.")
        return cleaned

    def ops(self) -> list[dict[str, Any]]:
        given = self.cleaned_data
        regions = [given[field.name] for field in self.regions]
        conditions = [given[field.name] for field in self.conditions]
        return rename_ops(self.document, regions, conditions, rename_condition_in)


class _Page:
    """The page and its three forms; the one that was sent is bound."""

    def __init__(self, request: HttpRequest, suite: Suite) -> None:
        self.request, self.suite = request, suite
        self.draft = open_draft(request, suite)
        self.document = document_of(self.draft)
        part = request.POST.get("part", "") if request.method == "POST" else ""
        data = request.POST
        text = write_wide_tsv(self.document, whitespace="trimmed").replace("\r\n", "\n")
        self.sheet = SheetForm(data if part == "sheet" else None, initial={"text": text})
        self.predictions = PredictionFormSet(
            data if part == "predictions" else None, initial=_said(self.document), prefix="p"
        )
        self.names = NamesForm(data if part == "names" else None, document=self.document)
        self.reading: Reading | None = None
        self.conflicts: list[Any] = []
        self.part = part

    def save(self) -> bool:
        """Do what was sent; whether the page can be left."""
        do = {"sheet": self._sheet, "predictions": self._predictions, "names": self._names}.get(self.part)
        return do() if do else False

    @property
    def is_stale(self) -> bool:
        """Somebody else changed the draft since this page was opened."""
        return self.request.POST.get("version") != str(self.draft.edits)

    def _sheet(self) -> bool:
        if not self.sheet.is_valid():
            return False
        text = self.sheet.cleaned_data["text"].replace("\r\n", "\n")
        self.reading = read_sheet(text, self.document.name)
        if self.reading.document is None:
            self.sheet.add_error("text", "The sheet cannot be read yet; nothing was saved.")
            return False
        if self.is_stale:
            self.sheet.add_error("text", STALE)
            return False
        wanted = replace(
            self.document,
            region_names=self.reading.document.region_names,
            conditions=self.reading.document.conditions,
            sentences=self.reading.document.sentences,
        )
        ops = ops_between(self.document, wanted)
        return self._replace(wanted) if ops is None else self._send(ops)

    def _replace(self, wanted: SuiteDocument) -> bool:
        """Columns or conditions came or went: the sheet as a whole becomes the draft, formulas follow the columns."""
        formulas = carried_over(self.document, wanted, pairs_of(self.document, wanted))
        old = self.document.table()
        sentences = tuple(
            old[s.item, s.condition]
            if (s.item, s.condition) in old
            and old[s.item, s.condition].contents == s.contents
            and wanted.region_names == self.document.region_names
            else s
            for s in wanted.sentences
        )
        predictions = [
            replace(one, formula=formula)
            for one, formula in zip(self.document.predictions, formulas, strict=True)
        ]
        new = replace(wanted, predictions=tuple(predictions), sentences=sentences)
        services.replace_draft(self.suite, new, actor=self.request.user)
        return True

    def _predictions(self) -> bool:
        if not self.predictions.is_valid() or self._refuse_stale():
            return False
        rows = [
            {key: form.cleaned_data.get(key, "") for key in ("name", "description", "formula")}
            for form in self.predictions.ordered_forms
        ]
        rows = [row for row in rows if any(value.strip() for value in row.values())]
        op = {"op": "set_predictions", "old": _said(self.document), "predictions": rows}
        return self._send([op])

    def _names(self) -> bool:
        return self.names.is_valid() and not self._refuse_stale() and self._send(self.names.ops())

    def _refuse_stale(self) -> bool:
        if self.is_stale:
            messages.error(self.request, STALE)
        return self.is_stale

    def _send(self, ops: Sequence[dict[str, Any]]) -> bool:
        if not ops:
            return True
        try:
            apply(self.document, ops)
        except EditError as error:
            messages.error(self.request, f"Nothing was saved: {error.message}.")
            return False
        edit = {"id": str(uuid4()), "ops": list(ops)}
        outcome = drafts.apply_edits(self.suite, self.draft.edits, [edit], actor=self.request.user)
        self.conflicts = outcome.conflicts
        return not outcome.conflicts


def _said(document: SuiteDocument) -> list[dict[str, str]]:
    return [
        {"name": p.name, "description": p.description, "formula": p.formula} for p in document.predictions
    ]


def _formula_errors(document: SuiteDocument) -> list[str]:
    """What keeps the draft's formulas from being read, one sentence per formula."""
    found = []
    for number, prediction in enumerate(document.predictions, start=1):
        try:
            breaches = parse(prediction.formula).check(document.regions, document.conditions)
        except FormulaError as error:
            breaches = [error]
        found += [f"Prediction {number}: {error}" for error in breaches]
    return found


@login_required
def suite_edit_text(request: HttpRequest, slug: str) -> HttpResponse:
    """Context: suite, draft, sheet, predictions (formset), names, reading, conflicts, formula_errors."""
    suite = editable(request, slug)
    if request.method != "POST" and suite.draft is None:
        return offer_draft(request, suite)
    page = _Page(request, suite)
    if request.method == "POST" and page.save():
        messages.success(request, "Saved.")
        return redirect("suite-edit-text", suite.slug)
    context = {
        "suite": suite,
        "draft": page.draft,
        "sheet": page.sheet,
        "predictions": page.predictions,
        "names": page.names,
        "reading": page.reading,
        "conflicts": page.conflicts,
        "formula_errors": _formula_errors(page.document),
    }
    status = 200 if request.method != "POST" else 409 if page.conflicts else 400
    return render(request, "suites/edit_text.html", context, status=status)
