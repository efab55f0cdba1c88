"""Responses: status, headers, and bodies decompressed under a limit."""

from __future__ import annotations

import json
import math
import re
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import Any

import httpcore2

from lmgym.net.errors import BadResponse, HTTPStatus, TooLarge

_EXCERPT = 300
_PIECE = 65_536


@dataclass(frozen=True)
class Response:
    """A complete response.

    Attributes:
        headers: values by lower-case name; the last of repeated headers wins.
        body: decompressed bytes.
        what: server name for messages.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes = field(repr=False)
    what: str = ""

    @property
    def ok(self) -> bool:
        return 200 <= self.status < 300

    @property
    def retry_after(self) -> float | None:
        """Seconds to wait as requested by the server, or None."""
        return retry_after(self.headers)

    def raise_for_status(self) -> Response:
        """Return self if the status is 2xx, else raise HTTPStatus."""
        if self.ok:
            return self
        text = excerpt(self.body)
        detail = f": {text}" if text else "."
        raise HTTPStatus(
            f"{self.what} returned HTTP {self.status}{detail}", self.status, text, self.retry_after
        )

    def json(self) -> Any:
        """Parse the body as strict JSON. Raises BadResponse if it is invalid."""
        return parse_json(self.body, self.what)


def _refuse(word: str) -> None:
    raise ValueError(f"{word} is not a JSON number")


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"the number {digits[:20]} is too large")
    return number


STRICT = json.JSONDecoder(parse_constant=_refuse, parse_float=_finite)
"""JSON decoder that rejects NaN, Infinity and numbers that overflow to infinity. Raises ValueError."""


def parse_json(data: bytes, server: str) -> Any:
    """Parse strict JSON: UTF-8, no NaN, no Infinity. Raises BadResponse."""
    try:
        return STRICT.decode(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        text = excerpt(data[:_EXCERPT])
        raise BadResponse(f"{server} returned something that is not JSON ({error}): {text}") from error


def excerpt(body: bytes) -> str:
    """Return the beginning of a body as one line of printable text."""
    text = re.sub(r"\s+", " ", body[: 4 * _EXCERPT].decode("utf-8", "replace")).strip()
    text = "".join(character for character in text if character.isprintable())
    return text if len(text) <= _EXCERPT else f"{text[:_EXCERPT]}…"


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds to wait from a Retry-After header, or None if it is missing or invalid.

    A date is compared with the server's own clock (the Date header) if the response has one.
    """
    value = headers.get("retry-after", "").strip()
    try:
        seconds = float(value)
    except ValueError:
        until = _date(value)
        if until is None:
            return None
        return max(0.0, until - (_date(headers.get("date", "")) or time.time()))
    return seconds if math.isfinite(seconds) and seconds >= 0 else None


def _date(text: str) -> float | None:
    """Parse an HTTP date to seconds since 1970."""
    try:
        return parsedate_to_datetime(text).timestamp()
    except (ValueError, OverflowError):
        return None


def headers_of(response: httpcore2.Response) -> dict[str, str]:
    return {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in response.headers}


def pieces(response: httpcore2.Response, most_bytes: int, server: str) -> Iterator[bytes]:
    """Yield the decompressed body.

    Raises:
        TooLarge: it has more than `most_bytes`.
        BadResponse: its encoding is neither identity nor gzip, or it is not valid gzip.
    """
    packing = headers_of(response).get("content-encoding", "identity").strip().lower()
    raw: Iterable[bytes] = response.iter_stream()
    if packing in ("identity", ""):
        unpacked = iter(raw)
    elif packing in ("gzip", "x-gzip"):
        unpacked = _gunzip(raw, server)
    else:
        raise BadResponse(f"{server} used the content encoding {packing[:40]!r}, which was not requested.")
    total = 0
    for piece in unpacked:
        total += len(piece)
        if total > most_bytes:
            raise TooLarge(f"{server} sent more than {most_bytes} bytes.")
        yield piece


def _gunzip(raw: Iterable[bytes], server: str) -> Iterator[bytes]:
    """Decompress in pieces of bounded size, so that a compression bomb uses little memory."""
    unpacker = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
    has_data = False
    for piece in raw:
        has_data = has_data or bool(piece)
        while piece:
            if unpacker.eof:
                raise BadResponse(f"{server} sent data after the end of its compressed response.")
            try:
                data = unpacker.decompress(piece, _PIECE)
            except zlib.error as error:
                raise BadResponse(f"{server} declared a gzip response, but sent something else.") from error
            piece = unpacker.unconsumed_tail or unpacker.unused_data
            if data:
                yield data
    if has_data and not unpacker.eof:
        raise BadResponse(f"{server} cut off its compressed response.")


def lines(body: Iterable[bytes], most_bytes: int, server: str) -> Iterator[bytes]:
    """Yield the lines of a body without their line endings (LF or CRLF); the last may have none. Raises
    TooLarge."""
    buffer = bytearray()
    for piece in body:
        start = 0
        while (end := piece.find(b"\n", start)) >= 0:
            buffer += piece[start:end]
            yield _line(buffer, most_bytes, server)
            buffer.clear()
            start = end + 1
        buffer += piece[start:]
        if len(buffer) > most_bytes:
            raise TooLarge(f"{server} sent a line of more than {most_bytes} bytes.")
    if buffer:
        yield _line(buffer, most_bytes, server)


def _line(data: bytearray, most_bytes: int, server: str) -> bytes:
    if len(data) > most_bytes:
        raise TooLarge(f"{server} sent a line of more than {most_bytes} bytes.")
    return bytes(data.removesuffix(b"\r"))
