"""Responses for downloads. lmgym.text.csv_writer writes tables, lmgym.suites.formats writes suites."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import IO, Any

from django.http import FileResponse, HttpResponse, StreamingHttpResponse

from lmgym.text.csv_writer import csv_pieces, csv_text


def download(content: str, filename: str, content_type: str) -> HttpResponse:
    """Return a text attachment in UTF-8."""
    response = HttpResponse(content, content_type=f"{content_type}; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{filename}"'
    return response


def csv_download(filename: str, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> HttpResponse:
    return download(csv_text(header, rows), filename, "text/csv")


def json_download(filename: str, data: Any) -> HttpResponse:
    """Return a JSON attachment. NaN is not allowed; missing numbers are null."""
    return download(
        json.dumps(data, ensure_ascii=False, indent=2, allow_nan=False), filename, "application/json"
    )


def stream(
    pieces: Iterable[str] | Iterable[bytes], filename: str, content_type: str
) -> StreamingHttpResponse:
    """Return a streamed text attachment in UTF-8."""
    response = StreamingHttpResponse(pieces, content_type=f"{content_type}; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{filename}"'
    return response


def csv_stream(filename: str, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> StreamingHttpResponse:
    """Return a streamed CSV attachment."""
    return stream(csv_pieces(header, rows), filename, "text/csv")


def zip_stream(pieces: Iterable[bytes], filename: str, size: int) -> StreamingHttpResponse:
    """Return a streamed zip attachment of `size` bytes."""
    response = stream(pieces, filename, "application/zip")
    response["Content-Type"] = "application/zip"
    response["Content-Length"] = str(size)
    return response


def file_download(file: IO[bytes], filename: str, content_type: str) -> FileResponse:
    """Return a binary attachment; the file is closed after sending."""
    file.seek(0)
    return FileResponse(file, as_attachment=True, filename=filename, content_type=content_type)
