"""The only place that writes downloads (suite documents themselves are written by suites.formats)."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import IO, Any

from django.http import FileResponse, HttpResponse, StreamingHttpResponse

from suites.formats import guard


def safe_cell(value: Any) -> Any:
    """Text that a spreadsheet would execute gets an apostrophe in front; numbers stay numbers."""
    if isinstance(value, str):
        return guard(value.replace("\0", "\ufffd"))
    return "" if value is None else value


def csv_text(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """RFC 4180: with CRLF as line end, a cell that holds either character is quoted and cannot begin a row."""
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\r\n")  # noqa: TID251  this module is where downloads are written
    writer.writerow(header)
    writer.writerows([safe_cell(cell) for cell in row] for row in rows)
    return out.getvalue()


def download(content: str, filename: str, content_type: str) -> HttpResponse:
    """An attachment in UTF-8."""
    response = HttpResponse(content, content_type=f"{content_type}; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{filename}"'
    return response


def csv_download(filename: str, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> HttpResponse:
    return download(csv_text(header, rows), filename, "text/csv")


def json_download(filename: str, data: Any) -> HttpResponse:
    """Lossless JSON; NaN never occurs (values without a number are null)."""
    return download(
        json.dumps(data, ensure_ascii=False, indent=2, allow_nan=False), filename, "application/json"
    )


class _Line:
    """A file that hands back what is written to it, so that a table can be sent row by row."""

    def write(self, text: str) -> str:
        return text


def csv_stream(filename: str, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> StreamingHttpResponse:
    """As `csv_download`, for tables that need not fit into memory."""
    writer = csv.writer(_Line(), lineterminator="\r\n")  # noqa: TID251  this module is where downloads are written
    lines = (writer.writerow([safe_cell(cell) for cell in row]) for row in chain([header], rows))
    response = StreamingHttpResponse(lines, content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{filename}"'
    return response


def file_download(file: IO[bytes], filename: str, content_type: str) -> FileResponse:
    """A binary attachment; the file is closed when it is sent."""
    file.seek(0)
    return FileResponse(file, as_attachment=True, filename=filename, content_type=content_type)
