"""The only place that reads uploaded files: size first, then bytes."""

from __future__ import annotations

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
