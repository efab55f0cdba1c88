"""The only place that writes downloads (suite documents themselves are written by lmgym.suites.formats)."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from hashlib import sha256
from typing import IO, Any

from django.http import FileResponse, HttpResponse, StreamingHttpResponse

from lmgym.text import guard


def safe_cell(value: Any) -> Any:
    """Text that a spreadsheet would execute gets an apostrophe in front; numbers stay numbers."""
    if isinstance(value, str):
        return _safe_word(value) if len(value) < 100 else _safe_text(value)
    return "" if value is None else value


def _safe_text(text: str) -> str:
    return guard(text.replace("\0", "\ufffd"))


_safe_word = lru_cache(maxsize=8192)(_safe_text)  # long tables say the same words again and again


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


PIECE = 64 * 1024
"""Characters of a streamed table that are sent at once: a piece per row would cost more than making it."""


def stream(
    pieces: Iterable[str] | Iterable[bytes], filename: str, content_type: str
) -> StreamingHttpResponse:
    """As `download`, for what need not fit into memory."""
    response = StreamingHttpResponse(pieces, content_type=f"{content_type}; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{filename}"'
    return response


def csv_stream(filename: str, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> StreamingHttpResponse:
    """As `csv_download`, for tables that need not fit into memory."""
    return stream(csv_pieces(header, rows), filename, "text/csv")


def csv_pieces(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    """The header at once, so that a download begins at once; then about PIECE characters each."""
    yield csv_text(header, [])
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\r\n")  # noqa: TID251  this module is where downloads are written
    for row in rows:
        writer.writerow([safe_cell(cell) for cell in row])
        if out.tell() >= PIECE:
            yield out.getvalue()
            out.seek(0)
            out.truncate()
    yield out.getvalue()


def file_download(file: IO[bytes], filename: str, content_type: str) -> FileResponse:
    """A binary attachment; the file is closed when it is sent."""
    file.seek(0)
    return FileResponse(file, as_attachment=True, filename=filename, content_type=content_type)


EPOCH = (1980, 1, 1, 0, 0, 0)


def add_to_zip(archive: zipfile.ZipFile, path: str, pieces: Iterable[str | bytes]) -> dict[str, Any]:
    """A compressed file without a clock, so that the same results give the same bytes. Returns its path, bytes and
    sha256."""
    info = zipfile.ZipInfo(path, EPOCH)
    info.compress_type = zipfile.ZIP_DEFLATED
    digest, size = sha256(), 0
    with archive.open(info, "w", force_zip64=True) as target:
        for piece in pieces:
            data = piece if isinstance(piece, bytes) else piece.encode("utf-8", "surrogatepass")
            target.write(data)
            digest.update(data)
            size += len(data)
    return {"path": path, "bytes": size, "sha256": digest.hexdigest()}
