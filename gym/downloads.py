"""Download responses. Tables are written by lmgym.text.csv_writer, suites by lmgym.suites.formats."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import IO, Any

from django.http import FileResponse, HttpResponse, StreamingHttpResponse

from lmgym.text.csv_writer import csv_pieces, csv_text


def download(content: str, filename: str, content_type: str) -> HttpResponse:
    """An attachment in UTF-8."""
    response = HttpResponse(content, content_type=f"{content_type}; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{filename}"'
    return response


def csv_download(filename: str, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> HttpResponse:
    return download(csv_text(header, rows), filename, "text/csv")


def json_download(filename: str, data: Any) -> HttpResponse:
    """JSON attachment. NaN is not allowed; missing numbers are null."""
    return download(
        json.dumps(data, ensure_ascii=False, indent=2, allow_nan=False), filename, "application/json"
    )


def stream(
    pieces: Iterable[str] | Iterable[bytes], filename: str, content_type: str
) -> StreamingHttpResponse:
    """Like `download`, but streamed."""
    response = StreamingHttpResponse(pieces, content_type=f"{content_type}; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{filename}"'
    return response


def csv_stream(filename: str, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> StreamingHttpResponse:
    """Like `csv_download`, but streamed."""
    return stream(csv_pieces(header, rows), filename, "text/csv")


def file_download(file: IO[bytes], filename: str, content_type: str) -> FileResponse:
    """A binary attachment; the file is closed after sending."""
    file.seek(0)
    return FileResponse(file, as_attachment=True, filename=filename, content_type=content_type)
