"""The only place that reads uploaded files: how many, then size, then bytes."""

from __future__ import annotations

from typing import IO, Any

from django import forms
from django.core.exceptions import ValidationError
from django.core.files.uploadedfile import UploadedFile

KEEP = {"hx-preserve": True}
"""Chosen files stay chosen where htmx replaces the form around the input."""


class _OneFileInput(forms.ClearableFileInput):
    def value_from_datadict(self, data: Any, files: Any, name: str) -> Any:
        given = files.getlist(name) if hasattr(files, "getlist") else []
        return given if len(given) > 1 else super().value_from_datadict(data, files, name)


class OneFileField(forms.FileField):
    """A file of a form. Django reads the last of several under one name; here they are refused."""

    widget = _OneFileInput

    def widget_attrs(self, widget: forms.Widget) -> dict[str, Any]:
        return super().widget_attrs(widget) | KEEP

    def clean(self, data: Any, initial: Any = None) -> Any:
        if isinstance(data, list):
            raise ValidationError(
                f"{len(data)} files were sent, where one is taken. Send one after the other.", code="several"
            )
        return super().clean(data, initial)


class SeveralFilesInput(forms.ClearableFileInput):
    allow_multiple_selected = True

    def value_from_datadict(self, data: Any, files: Any, name: str) -> Any:
        return files.getlist(name) if hasattr(files, "getlist") else files.get(name)


class SeveralFilesField(forms.FileField):
    """Files under one name; `clean` gives the list of them."""

    widget = SeveralFilesInput

    def widget_attrs(self, widget: forms.Widget) -> dict[str, Any]:
        return super().widget_attrs(widget) | KEEP

    def clean(self, data: Any, initial: Any = None) -> Any:
        if not data and self.required:
            raise ValidationError(self.error_messages["required"], code="required")
        return [super(SeveralFilesField, self).clean(file, initial) for file in data or []]


def read_upload(upload: UploadedFile[Any], limit: int) -> bytes:
    """The bytes of an upload of at most `limit` bytes; ValidationError otherwise, before anything is read."""
    if upload.size is None or upload.size > limit:
        megabytes = limit / 1_000_000
        raise ValidationError(
            f"{upload.name} is larger than {megabytes:g} MB. Split it into several files.", code="too-large"
        )
    data: bytes = upload.read(limit + 1)
    if len(data) > limit:
        raise ValidationError(f"{upload.name} is larger than it said.", code="too-large")
    return data


def open_upload(upload: UploadedFile[Any], limit: int) -> IO[bytes]:
    """An upload of at most `limit` bytes as a stream, for what is too large to be held; ValidationError otherwise."""
    if upload.size is None or upload.size > limit:
        raise ValidationError(f"{upload.name} is larger than {limit / 1_000_000:g} MB.", code="too-large")
    upload.seek(0)
    assert upload.file is not None
    return upload.file
