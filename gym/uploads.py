"""The only place that reads uploaded files: size first, then bytes."""

from __future__ import annotations

from typing import IO

from django.core.exceptions import ValidationError
from django.core.files.uploadedfile import UploadedFile


def read_upload(upload: UploadedFile, limit: int) -> bytes:
    """The bytes of an upload of at most `limit` bytes; ValidationError otherwise, before anything is read."""
    if upload.size is None or upload.size > limit:
        megabytes = limit / 1_000_000
        raise ValidationError(
            f"{upload.name} is larger than {megabytes:g} MB. Split it into several files.", code="too-large"
        )
    data = upload.read(limit + 1)
    if len(data) > limit:
        raise ValidationError(f"{upload.name} is larger than it said.", code="too-large")
    return data


def open_upload(upload: UploadedFile, limit: int) -> IO[bytes]:
    """An upload of at most `limit` bytes as a stream, for what is too large to be held; ValidationError otherwise."""
    if upload.size is None or upload.size > limit:
        raise ValidationError(f"{upload.name} is larger than {limit / 1_000_000:g} MB.", code="too-large")
    upload.seek(0)
    stream: IO[bytes] = upload.file
    return stream
