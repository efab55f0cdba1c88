"""Read version 5 logs as a stream: one token or character per line.

msgspec decodes the fields used for statistics. Lines it rejects (NaN is not JSON) are parsed by the standard
library.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

import msgspec
from msgspec import UNSET, Struct, UnsetType

from lmgym.lmchallenge.errors import LogError
from lmgym.lmchallenge.gzip_reader import ZIP
from lmgym.lmchallenge.logs.log_rows import is_version_5, refuse_version_4

GAMES = {"completions": "wc", "logp": "we", "results": "wr"}
"""Key of the results -> game. Logs of `ce` look like `we` logs."""


class Token(Struct, gc=False, kw_only=True):
    """A line: a token or character with the model's results. `grep` sets `select`."""

    target: str
    user: Any = None
    message: Any = None
    token: Any = None
    character: Any = None
    select: Any = True
    completions: list[list[str]] | UnsetType | None = UNSET
    logp: float | UnsetType | None = UNSET
    results: list[list[str | float | None]] | UnsetType | None = UNSET
    verbatim: Any = None

    @property
    def game(self) -> str:
        """wc, we (also for ce) or wr; "" for a line without results."""
        return next((game for key, game in GAMES.items() if getattr(self, key) is not UNSET), "")

    @property
    def scores(self) -> list[tuple[str, float, float | None]]:
        """Candidate, error score and model score (None if unknown) of each result. Raises LogError if a result is
        malformed."""
        scores = []
        for candidate in self.results or ():
            word, error, score = (*candidate[:3], None, None, None)[:3]
            if (
                len(candidate) < 3
                or not isinstance(word, str)
                or not isinstance(error, float | int)
                or not isinstance(score, float | int | None)
            ):
                raise LogError(f"{candidate!r} is not [candidate, error score, model score or null].")
            scores.append((word, float(error), None if score is None else float(score)))
        return scores


@dataclass(frozen=True)
class Message:
    """Tokens of a message, for code that compares texts."""

    game: str
    text: list[str]


def read(
    stream: Iterable[bytes], source: str = "the log", limit: int | None = None, *, first: int = 1
) -> Iterator[tuple[int, Token]]:
    """Yield (line number, token) for each non-blank line, counting from `first`. Raises LogError."""
    decoder = msgspec.json.Decoder(Token)
    for number, raw in islice(enumerate(stream, first), limit):
        if not raw.strip():
            continue
        try:
            raw.decode("utf-8")
            token = decoder.decode(raw)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            token = token_of(row_of(raw, f"{source}, line {number}"), f"{source}, line {number}")
        yield number, token


def recognised(lines: Iterable[bytes], source: str) -> tuple[bool | None, Iterator[bytes]]:
    """Detect the version from the first non-blank line. Returns (whether it is version 5, or None for an empty log; all
    lines).

    Raises LogError for a zip archive.
    """
    lines = iter(lines)
    head: list[bytes] = []
    for line in lines:
        head.append(line)
        if line.strip():
            break
    if head and head[0].startswith(ZIP):
        raise LogError(
            f"{source}: this is a zip archive.", "Extract the log. It may be compressed with gzip."
        )
    version = _is_version_5(head[-1]) if head and head[-1].strip() else None
    return version, chain(head, lines)


def _is_version_5(line: bytes) -> bool:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return False  # the reader reports the error
    return isinstance(row, dict) and is_version_5(row)


def read_rows(stream: Iterable[bytes], source: str = "the log") -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (line number, row) for each non-blank line, with all keys, so that it can be written again. Raises LogError
    for a line that is not a JSON object or is from a log of version 4.
    """
    for number, raw in enumerate(stream, 1):
        if raw.strip():
            yield number, row_of(raw, f"{source}, line {number}")


def row_of(raw: bytes, where: str) -> dict[str, Any]:
    """Parse a line as a JSON object. Raises LogError, also for a line of a version 4 log."""
    try:
        row = json.loads(raw)
    except UnicodeDecodeError:
        raise LogError(f"{where}: this is not UTF-8.") from None
    except RecursionError:
        raise LogError(f"{where}: the JSON is nested too deeply.") from None
    except ValueError as error:
        hint = (
            "Each line is one JSON object." if raw.endswith(b"\n") else "The log may have been cut off here."
        )
        raise LogError(f"{where}: this is not JSON ({error}).", hint) from None
    if not isinstance(row, dict):
        raise LogError(f"{where}: this is not a JSON object.", "Each line is one JSON object.")
    refuse_version_4(row, where)
    return row


def token_of(row: Mapping[str, Any], where: str) -> Token:
    """Decode a row as a token. Raises LogError naming the key."""
    try:
        return msgspec.convert(row, Token)
    except msgspec.ValidationError as error:
        hint = "Each line must be one token or character, with its user, message, token and target."
        raise LogError(f"{where}: {error}.", hint) from None
