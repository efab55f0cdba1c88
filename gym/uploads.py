"""Uploaded files: form fields, and the functions that read an upload within a size limit."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import IO, Any

from django import forms
from django.core.exceptions import ValidationError
from django.core.files.uploadedfile import UploadedFile

KEEP = {"hx-preserve": True}
"""Attributes that keep the chosen files when htmx replaces the form around the input."""


class _SingleFileInput(forms.ClearableFileInput):
    def value_from_datadict(self, data: Any, files: Any, name: str) -> Any:
        uploads = files.getlist(name) if hasattr(files, "getlist") else []
        return uploads if len(uploads) > 1 else super().value_from_datadict(data, files, name)


class SingleFileField(forms.FileField):
    """A single file. Several files are an error, whereas Django would take the last one."""

    widget = _SingleFileInput

    def widget_attrs(self, widget: forms.Widget) -> dict[str, Any]:
        return super().widget_attrs(widget) | KEEP

    def clean(self, data: Any, initial: Any = None) -> Any:
        if isinstance(data, list):
            raise ValidationError(f"{len(data)} files were sent; only one is accepted.", code="several")
        return super().clean(data, initial)


class MultipleFilesInput(forms.ClearableFileInput):
    allow_multiple_selected = True

    def value_from_datadict(self, data: Any, files: Any, name: str) -> Any:
        return files.getlist(name) if hasattr(files, "getlist") else files.get(name)


class MultipleFilesField(forms.FileField):
    """Several files; `clean` returns a list."""

    widget = MultipleFilesInput

    def widget_attrs(self, widget: forms.Widget) -> dict[str, Any]:
        return super().widget_attrs(widget) | KEEP

    def clean(self, data: Any, initial: Any = None) -> Any:
        if not data and self.required:
            raise ValidationError(self.error_messages["required"], code="required")
        return [super(MultipleFilesField, self).clean(file, initial) for file in data or []]


def folder_field(endings: Sequence[str], **options: Any) -> MultipleFilesField:
    """Return a field for a folder with its subfolders. static/js/folder.js sends only files with these endings, and
    their paths in the field `paths` of the same form."""
    attrs = {
        "multiple": True,
        "webkitdirectory": True,
        "data-folder": "paths",
        "data-endings": ",".join(endings),
    }
    return MultipleFilesField(required=False, widget=MultipleFilesInput(attrs=attrs), **options)


def files_of_folder(
    folder: Sequence[UploadedFile[Any]], paths: str, endings: Sequence[str]
) -> list[tuple[str, UploadedFile[Any]]]:
    """Pair the files of a `folder_field` that have one of these endings with their paths in the folder. Without
    scripts, only their names are known. Raises ValidationError."""
    try:
        names = json.loads(paths) if paths else [str(upload.name) for upload in folder]
    except (ValueError, RecursionError):
        names = None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ValidationError("The paths of the folder's files must be a list of names.")
    if len(names) != len(folder):
        raise ValidationError("The number of paths differs from the number of files in the folder.")
    return [pair for pair in zip(names, folder, strict=True) if pair[0].lower().endswith(tuple(endings))]


def read_upload(upload: UploadedFile[Any], limit: int) -> bytes:
    """Read an upload of at most `limit` bytes. Raises ValidationError before reading a larger one."""
    if upload.size is None or upload.size > limit:
        megabytes = limit / 1_000_000
        raise ValidationError(
            f"{upload.name} is larger than {megabytes:g} MB, the limit for such files.", code="too-large"
        )
    data: bytes = upload.read(limit + 1)
    if len(data) > limit:
        raise ValidationError(f"{upload.name} is larger than its announced size.", code="too-large")
    return data


def open_upload(upload: UploadedFile[Any], limit: int) -> IO[bytes]:
    """Open an upload of at most `limit` bytes as a stream. Raises ValidationError for a larger one."""
    if upload.size is None or upload.size > limit:
        raise ValidationError(
            f"{upload.name} is larger than {limit / 1_000_000:g} MB, the limit for such files.",
            code="too-large",
        )
    upload.seek(0)
    assert upload.file is not None
    return upload.file
