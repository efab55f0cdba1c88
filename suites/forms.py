"""Forms of suites."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from gym.lib.problems import FormatError
from gym.sharing.models import Visibility
from gym.uploads import OneFileField, read_upload
from suites.formats import MAX_BYTES, SuiteDocument, inherit, read_suite
from suites.models import JoinPolicy, Suite, SuiteRevision
from suites.selectors import document_of, pairable


class DocumentForm(forms.Form):
    """A suite document as a file or as pasted text. `cleaned_data["document"]` is the SuiteDocument;
    `problems` lists what is wrong with it, each with its place in the file."""

    file = OneFileField(
        required=False,
        label="Suite file",
        help_text="JSON (any SyntaxGym dialect), long CSV, a wide table as TSV or CSV, or minimal pairs as JSONL. "
        "At most 5 MB.",
    )
    text = forms.CharField(
        required=False,
        label="or paste it here",
        strip=False,
        widget=forms.Textarea(attrs={"rows": 6, "spellcheck": "false"}),
    )
    join_policy = forms.ChoiceField(
        choices=JoinPolicy.choices,
        initial=JoinPolicy.SPACE,
        label="How regions are joined",
        help_text="What stands between two regions when the sentence is put together for a model.",
    )

    def __init__(self, *args: Any, newest: SuiteRevision | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.newest = newest
        self.problems: list[Any] = []

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if self.errors:
            return cleaned
        data, name = self._given(cleaned)
        try:
            document = read_suite(data, filename=name)
            if self.newest is not None and document.is_table:
                document = inherit(document, document_of(self.newest))
            cleaned["document"] = document
        except FormatError as error:
            self.problems = list(error.problems)
            raise ValidationError(
                "This file cannot be read as a suite; nothing was saved.", code="format"
            ) from error
        return cleaned

    def _given(self, cleaned: dict[str, Any]) -> tuple[bytes, str]:
        upload, text = cleaned.get("file"), cleaned.get("text") or ""
        if upload and text.strip():
            raise ValidationError("There is both a file and pasted text. Give one of them.")
        if upload:
            return read_upload(upload, MAX_BYTES), upload.name
        if text.strip():
            return text.encode("utf-8", "surrogatepass"), ""
        raise ValidationError("Choose a file, or paste a suite.")

    @property
    def document(self) -> SuiteDocument:
        document: SuiteDocument = self.cleaned_data["document"]
        return document


class ImportForm(DocumentForm):
    title = forms.CharField(
        max_length=200, required=False, help_text="What lists show. Empty: the name in the file."
    )
    tags = forms.CharField(required=False, help_text="Separated by commas, e.g. agreement, attraction")
    visibility = forms.ChoiceField(choices=Visibility.choices, initial=Visibility.PRIVATE)

    field_order = ["file", "text", "title", "tags", "visibility", "join_policy"]

    def clean_tags(self) -> list[str]:
        return split_tags(self.cleaned_data["tags"])


class SuiteForm(forms.ModelForm):
    tag_names = forms.CharField(
        required=False, label="Tags", help_text="Separated by commas, e.g. agreement, attraction"
    )

    class Meta:
        model = Suite
        fields = [
            "title",
            "description",
            "author",
            "language",
            "licence",
            "visibility",
            "reference",
            "bibtex",
            "comment",
            "without_modifier",
        ]
        widgets = {
            "description": forms.Textarea(attrs={"rows": 5}),
            "author": forms.Textarea(attrs={"rows": 2}),
            "reference": forms.Textarea(attrs={"rows": 2}),
            "bibtex": forms.Textarea(attrs={"rows": 5, "spellcheck": "false"}),
            "comment": forms.Textarea(attrs={"rows": 3}),
        }

    field_order = ["title", "description", "tag_names"]

    def __init__(self, *args: Any, user: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        plain: Any = self.fields["without_modifier"]
        plain.queryset, plain.empty_label = pairable(user, self.instance), "Found by the name in the file"
        plain.label_from_instance = lambda suite: (
            f"{suite.title} ({suite.slug}), by {suite.owner.display_name}"
        )
        if self.instance.pk:
            self.fields["tag_names"].initial = ", ".join(tag.name for tag in self.instance.tags.all())

    def clean_tag_names(self) -> list[str]:
        return split_tags(self.cleaned_data["tag_names"])


class ErrataForm(forms.Form):
    errata = forms.CharField(
        required=False,
        max_length=10_000,
        widget=forms.Textarea(attrs={"rows": 5}),
        help_text="e.g. Item 12: the contents of two conditions are swapped. Readers see it above the revision.",
    )


class FreezeForm(forms.Form):
    note = forms.CharField(
        required=False,
        max_length=2000,
        label="What changed",
        widget=forms.TextInput(attrs={"placeholder": "first version, fixed item 12 …"}),
    )


def split_tags(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]
