"""Forms for answer sets and submissions."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from gym.propara.models import AnswerSet, PublishedResult, Submission
from gym.propara.services import About, default_system
from gym.sharing.forms import AddressedForm
from gym.uploads import SingleFileField, read_upload
from lmgym.propara.uploads import MAX_BYTES


def _add_bytes(form: forms.BaseForm, field: str) -> None:
    """Add an uploaded file's bytes to the cleaned data as `<field>_bytes`."""
    upload = form.cleaned_data.get(field)
    if upload:
        try:
            form.cleaned_data[f"{field}_bytes"] = read_upload(upload, MAX_BYTES)
        except ValidationError as error:
            form.add_error(field, error)


class AnswerFilesForm(forms.Form):
    answers = SingleFileField(
        label="Answers",
        help_text="Action file with six columns, UTF-8, no header. At most 5 MB.",
        error_messages={"empty": "The file is empty."},
    )
    sentences = SingleFileField(
        required=False,
        label="Sentences",
        help_text="Three columns: process, number, sentence. Needed for the prompt pack.",
    )

    def clean(self) -> dict[str, Any]:
        super().clean()
        _add_bytes(self, "answers")
        _add_bytes(self, "sentences")
        return self.cleaned_data

    def file_bytes(self) -> tuple[bytes, bytes]:
        return self.cleaned_data["answers_bytes"], self.cleaned_data.get("sentences_bytes", b"")


class VersionForm(AnswerFilesForm):
    note = forms.CharField(required=False, max_length=300, label="Changes")


class AboutSetForm(AddressedForm):
    class Meta:
        model = AnswerSet
        fields = ["title", "visibility", "licence", "description", "reference"]
        widgets = {
            "description": forms.Textarea(attrs={"rows": 4}),
            "reference": forms.Textarea(attrs={"rows": 2}),
        }

    def __init__(self, *args: Any, may_manage: bool = True, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not may_manage:
            del self.fields["visibility"]

    def values(self) -> dict[str, Any]:
        return {name: self.cleaned_data[name] for name in self.fields}


class AboutForm(forms.ModelForm):  # type: ignore[type-arg]  # Django 5.2 cannot subscript it at run time
    """Form for submission metadata; `about()` returns the metadata for the services."""

    link = forms.URLField(required=False, assume_scheme="https", help_text="Paper, code or model card.")

    class Meta:
        model = Submission
        fields = ["system", "visibility", "paper", "link", "description"]
        widgets = {"description": forms.Textarea(attrs={"rows": 3})}
        labels = {"visibility": "Visibility"}
        help_texts = {
            "system": "Name on the leaderboard.",
            "visibility": "Public submissions are shown to everybody on the leaderboard.",
            "paper": "The paper, as you would cite it.",
        }

    def about(self) -> About:
        return About(**{name: self.cleaned_data[name] for name in self.Meta.fields})


class SubmitForm(AboutForm):
    file = SingleFileField(
        label="Predictions",
        help_text="Action file, state file, JSON grids, or answers to the prompt pack. At most 5 MB.",
        error_messages={"empty": "The file is empty."},
    )
    system = forms.CharField(
        max_length=200,
        required=False,
        label="System",
        help_text="Name on the leaderboard. Default: the name of the file.",
    )

    def clean(self) -> dict[str, Any]:
        super().clean()
        _add_bytes(self, "file")
        upload = self.cleaned_data.get("file")
        if upload and not self.cleaned_data.get("system"):
            self.cleaned_data["system"] = default_system(upload.name)
        return self.cleaned_data


class PublishedForm(forms.ModelForm):  # type: ignore[type-arg]  # Django 5.2 cannot subscript it at run time
    link = forms.URLField(required=False, assume_scheme="https", help_text="Where the paper can be read.")

    class Meta:
        model = PublishedResult
        fields = ["system", "precision", "recall", "f1", "citation", "link"]
