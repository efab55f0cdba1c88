"""Forms of answer sets and submissions."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from gym.propara.models import AnswerSet, PublishedResult, Submission
from gym.propara.services import About, default_system
from gym.sharing.forms import AddressedForm
from gym.uploads import OneFileField, read_upload
from lmgym.propara.uploads import MAX_BYTES


def _bytes(form: forms.BaseForm, field: str) -> None:
    """The bytes of an uploaded file beside it, as `<field>_bytes`."""
    upload = form.cleaned_data.get(field)
    if upload:
        try:
            form.cleaned_data[f"{field}_bytes"] = read_upload(upload, MAX_BYTES)
        except ValidationError as error:
            form.add_error(field, error)


class AnswerFilesForm(forms.Form):
    answers = OneFileField(
        label="Answers",
        help_text="Action file of six columns, UTF-8, no header. At most 5 MB.",
        error_messages={"empty": "The file is empty."},
    )
    sentences = OneFileField(
        required=False,
        label="Sentences",
        help_text="Three columns: process, number, sentence. Without them there is no prompt pack.",
    )

    def clean(self) -> dict[str, Any]:
        super().clean()
        _bytes(self, "answers")
        _bytes(self, "sentences")
        return self.cleaned_data

    def files_given(self) -> tuple[bytes, bytes]:
        return self.cleaned_data["answers_bytes"], self.cleaned_data.get("sentences_bytes", b"")


class VersionForm(AnswerFilesForm):
    note = forms.CharField(required=False, max_length=300, label="What changed")


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

    def given(self) -> dict[str, Any]:
        return {name: self.cleaned_data[name] for name in self.fields}


class AboutForm(forms.ModelForm):  # type: ignore[type-arg]  # Django 5.2 cannot subscript it at run time
    """Submission metadata. `about()` is what the services take."""

    link = forms.URLField(required=False, assume_scheme="https", help_text="Paper, code or model card.")

    class Meta:
        model = Submission
        fields = ["system", "visibility", "paper", "link", "description"]
        widgets = {"description": forms.Textarea(attrs={"rows": 3})}
        labels = {"visibility": "Visibility"}
        help_texts = {
            "system": "What the leaderboard calls it.",
            "visibility": "Public ones are on everybody’s leaderboard.",
            "paper": "As you would cite it.",
        }

    def about(self) -> About:
        return About(**{name: self.cleaned_data[name] for name in self.Meta.fields})


class SubmitForm(AboutForm):
    file = OneFileField(
        label="Predictions",
        help_text="Action file, state file, JSON grids, or answers to the prompt pack. At most 5 MB.",
        error_messages={"empty": "The file is empty."},
    )
    system = forms.CharField(
        max_length=200, required=False, label="System", help_text="What the leaderboard calls it."
    )

    def clean(self) -> dict[str, Any]:
        super().clean()
        _bytes(self, "file")
        upload = self.cleaned_data.get("file")
        if upload and not self.cleaned_data.get("system"):
            self.cleaned_data["system"] = default_system(upload.name)
        return self.cleaned_data


class PublishedForm(forms.ModelForm):  # type: ignore[type-arg]  # Django 5.2 cannot subscript it at run time
    link = forms.URLField(required=False, assume_scheme="https", help_text="Where the paper can be read.")

    class Meta:
        model = PublishedResult
        fields = ["system", "precision", "recall", "f1", "citation", "link"]
