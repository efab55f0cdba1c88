"""The form that takes results computed elsewhere."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from gym.runs.core.uploaded import KINDS, MAX_BYTES
from gym.runs.work.uploads import GivenFile, ModelChoice
from gym.sharing.models import PRIVATE_OR_PUBLIC, Visibility
from gym.uploads import OneFileField, read_upload
from models_registry.models import RegisteredModel
from models_registry.selectors import uploadable_by
from suites.formats import MAX_BYTES as MAX_SPEC_BYTES

UNIT_CHOICES = [
    ("bits", "bits (log₂), as LM Zoo and this site"),
    ("nats", "nats (natural logarithm)"),
    ("log10", "powers of ten (log₁₀)"),
]


class ResultsForm(forms.Form):
    """A file of results, and whose they are. `choice()` and `given()` are what the use cases take."""

    file = OneFileField(
        label="File of results",
        help_text="Evaluated suite (JSON), CSV of surprisals or of outcomes, or LM Zoo TSV. At most 20 MB.",
    )
    model = forms.ModelChoiceField(
        queryset=RegisteredModel.objects.none(),
        required=False,
        to_field_name="slug",
        label="Model",
        empty_label="a new one, or mine of the same name",
        help_text="Whose results these are. Models that this site runs are not offered.",
    )
    name = forms.CharField(
        required=False,
        max_length=200,
        label="Name of the new model",
        help_text="Empty: as the file calls it. A file with several models makes one of each.",
    )
    visibility = forms.ChoiceField(
        choices=PRIVATE_OR_PUBLIC,
        initial=Visibility.PRIVATE,
        label="Who sees a new model and its results",
        help_text="Public ones appear in everybody’s leaderboard, marked as uploaded.",
    )
    kind = forms.ChoiceField(choices=[("auto", "find out"), *KINDS.items()], label="Kind of file")
    unit = forms.ChoiceField(choices=UNIT_CHOICES, label="Unit of surprisals")
    spec = OneFileField(
        required=False,
        label="LM Zoo spec.json",
        help_text="For LM Zoo files: how the tokens are spelled. Without it the usual conventions are assumed.",
    )

    def __init__(self, *args: Any, user: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["model"].queryset = uploadable_by(user)

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        for field, limit in (("file", MAX_BYTES), ("spec", MAX_SPEC_BYTES)):
            upload = cleaned.get(field)
            if upload:
                try:
                    cleaned[f"{field}_given"] = GivenFile(upload.name, read_upload(upload, limit))
                except ValidationError as error:
                    self.add_error(field, error)
        if cleaned.get("model") and cleaned.get("name"):
            self.add_error("name", "There is both a chosen model and a name for a new one. Give one of them.")
        return cleaned

    def given(self) -> dict[str, Any]:
        given = self.cleaned_data
        return {
            "file": given["file_given"],
            "spec": given.get("spec_given"),
            "kind": given["kind"],
            "unit": given["unit"],
        }

    def choice(self) -> ModelChoice:
        given = self.cleaned_data
        return ModelChoice(model=given["model"], name=given["name"].strip(), visibility=given["visibility"])
