"""What came back: headers, and bodies that are unpacked no further than they may be."""

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

from lmgym.net.errors import BadAnswer, HTTPStatus, TooLarge

_EXCERPT = 300
_PIECE = 65_536


@dataclass(frozen=True)
class Answer:
    """status, headers (names in lower case; of repeated ones the last counts) and the unpacked body."""

    status: int
    headers: Mapping[str, str]
    body: bytes = field(repr=False)
    what: str = ""

    @property
    def ok(self) -> bool:
        return 200 <= self.status < 300

    @property
    def retry_after(self) -> float | None:
        """Seconds the server asks to wait, where it does."""
        return retry_after(self.headers)

    def raise_for_status(self) -> Answer:
        """This answer, or HTTPStatus when it is not a success."""
        if self.ok:
            return self
        text = excerpt(self.body)
        said = f": {text}" if text else "."
        raise HTTPStatus(f"{self.what} answered {self.status}{said}", self.status, text, self.retry_after)

    def json(self) -> Any:
        """The body as JSON; BadAnswer when it is something else."""
        return parse_json(self.body, self.what)


def _refuse(word: str) -> None:
    raise ValueError(f"{word} is not a number of JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"{digits[:20]} is too large a number")
    return number


STRICT = json.JSONDecoder(parse_constant=_refuse, parse_float=_finite)
"""Reads JSON that can be written again: no NaN, no Infinity, nothing that becomes one. Raises ValueError."""


def parse_json(data: bytes, what: str) -> Any:
    """Strict JSON: UTF-8, no NaN, no Infinity."""
    try:
        return STRICT.decode(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        text = excerpt(data[:_EXCERPT])
        raise BadAnswer(f"{what} answered something that is not JSON ({error}): {text}") from error


def excerpt(body: bytes) -> str:
    """The beginning of a body as one line of printable text."""
    text = re.sub(r"\s+", " ", body[: 4 * _EXCERPT].decode("utf-8", "replace")).strip()
    text = "".join(character for character in text if character.isprintable())
    return text if len(text) <= _EXCERPT else f"{text[:_EXCERPT]}…"


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that a Retry-After header asks to wait: a number, or a date, which is read by the server's own clock
    (Date) where it tells the time. None without one."""
    told = headers.get("retry-after", "").strip()
    try:
        seconds = float(told)
    except ValueError:
        until = _date(told)
        if until is None:
            return None
        return max(0.0, until - (_date(headers.get("date", "")) or time.time()))
    return seconds if math.isfinite(seconds) and seconds >= 0 else None


def _date(text: str) -> float | None:
    """Seconds since 1970 of a date as HTTP writes it."""
    try:
        return parsedate_to_datetime(text).timestamp()
    except (ValueError, OverflowError):
        return None


def headers_of(response: httpcore2.Response) -> dict[str, str]:
    return {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in response.headers}


def pieces(response: httpcore2.Response, most_bytes: int, what: str) -> Iterator[bytes]:
    """The body piece by piece, unpacked; TooLarge before more than `most_bytes` have been unpacked."""
    packing = headers_of(response).get("content-encoding", "identity").strip().lower()
    raw: Iterable[bytes] = response.iter_stream()
    if packing in ("identity", ""):
        unpacked = iter(raw)
    elif packing in ("gzip", "x-gzip"):
        unpacked = _gunzip(raw, what)
    else:
        raise BadAnswer(f"{what} packed its answer as {packing[:40]!r}, which was not asked for.")
    total = 0
    for piece in unpacked:
        total += len(piece)
        if total > most_bytes:
            raise TooLarge(f"{what} sent more than {most_bytes} bytes.")
        yield piece


def _gunzip(raw: Iterable[bytes], what: str) -> Iterator[bytes]:
    """Never more than one piece at a time is unpacked, so a small bomb stays small."""
    unpacker = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
    came = False
    for piece in raw:
        came = came or bool(piece)
        while piece:
            if unpacker.eof:
                raise BadAnswer(f"{what} sent more after the end of its packed answer.")
            try:
                data = unpacker.decompress(piece, _PIECE)
            except zlib.error as error:
                raise BadAnswer(f"{what} says its answer is packed with gzip, but it is not.") from error
            piece = unpacker.unconsumed_tail or unpacker.unused_data
            if data:
                yield data
    if came and not unpacker.eof:
        raise BadAnswer(f"{what} broke off its packed answer.")


def lines(body: Iterable[bytes], most_bytes: int, what: str) -> Iterator[bytes]:
    """Lines of a body without their ends (LF or CRLF). The last one needs none."""
    rest = bytearray()
    for piece in body:
        start = 0
        while (end := piece.find(b"\n", start)) >= 0:
            rest += piece[start:end]
            yield _line(rest, most_bytes, what)
            rest.clear()
            start = end + 1
        rest += piece[start:]
        if len(rest) > most_bytes:
            raise TooLarge(f"{what} sent a line of more than {most_bytes} bytes.")
    if rest:
        yield _line(rest, most_bytes, what)


def _line(data: bytearray, most_bytes: int, what: str) -> bytes:
    if len(data) > most_bytes:
        raise TooLarge(f"{what} sent a line of more than {most_bytes} bytes.")
    return bytes(data.removesuffix(b"\r"))
