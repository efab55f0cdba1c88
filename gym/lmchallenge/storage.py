"""Store logs in the database as compressed chunks of whole lines, and read them back as a stream."""

from __future__ import annotations

import gzip
import io
import zlib
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from django.db.models import F

from gym.lmchallenge.models import Corpus, Game, LogChunk
from lmgym.files import bounded
from lmgym.lmchallenge import corpus as corpora
from lmgym.lmchallenge.corpus import Line
from lmgym.lmchallenge.errors import LmcError, LogError
from lmgym.lmchallenge.logs import decoder, log_rows
from lmgym.lmchallenge.logs.alignment import LogText
from lmgym.lmchallenge.logs.decoder import LogLine
from lmgym.lmchallenge.logs.interpolation import Mix, Tokens
from lmgym.lmchallenge.logs.log_rows import Row
from lmgym.lmchallenge.logs.table import Table, read_table
from lmgym.lmchallenge.logs.version5 import log as version5_log
from lmgym.lmchallenge.logs.version5.log import Message, Token
from lmgym.lmchallenge.logs.version5.stats import fingerprint_of

CHUNK_BYTES = 1_000_000
"""Uncompressed size at which a chunk ends, after the line that reaches it. Games commit smaller chunks as well."""
LINE_BYTES = 20_000_000
"""Maximum length in bytes of a line in an uploaded log. Decoding it takes ten times as much memory."""
LINE_VALUES = 1_000_000
MAX_LINES = 500_000
SECONDS = 300
"""Time limit for parsing an uploaded log during a request."""


def pack(data: bytes) -> bytes:
    """Compress with gzip; equal data give equal bytes."""
    return gzip.compress(data, mtime=0)


def unpacked_lines(packed: bytes) -> Iterator[bytes]:
    """Yield lines with their newlines, without decompressing everything at once."""
    with gzip.GzipFile(fileobj=io.BytesIO(packed)) as stream:
        yield from stream


def lines_of(corpus: Corpus) -> Iterator[Line]:
    """Read the lines of the corpus as games do."""
    return corpora.read(unpacked_lines(bytes(corpus.packed)), corpus.form, corpus.slug)


def words_of(game: Game) -> list[str] | None:
    """Return the game's vocabulary (ic, wr), or None if it has none."""
    return corpora.vocabulary(unpacked_lines(bytes(game.words))) if game.words else None


def append(game: Game, rows: list[str]) -> None:
    """Append whole lines. Call in a transaction; in a job, in one that only the live attempt can commit."""
    if not rows:
        return
    data = "".join(rows).encode("ascii")
    packed = pack(data)
    LogChunk.objects.create(game=game, first_line=game.lines + 1, lines=len(rows), packed=packed)
    Game.objects.filter(pk=game.pk).update(
        lines=F("lines") + len(rows), size=F("size") + len(data), packed_size=F("packed_size") + len(packed)
    )
    game.lines += len(rows)
    game.size += len(data)
    game.packed_size += len(packed)


def packed_log(game: Game) -> Iterator[bytes]:
    """Yield the log as a gzip file, chunk by chunk."""
    chunks = LogChunk.objects.filter(game=game).order_by("first_line")
    for packed in chunks.values_list("packed", flat=True).iterator(chunk_size=4):
        yield bytes(packed)


def log_lines(game: Game, first: int = 1, last: int | None = None) -> Iterator[bytes]:
    """Yield lines `first` to `last` of the log. Chunks without any of these lines are not read."""
    chunks = LogChunk.objects.filter(game=game, first_line__gt=first - _longest(game, first))
    if last is not None:
        chunks = chunks.filter(first_line__lte=last)
    for chunk in chunks.order_by("first_line").iterator(chunk_size=2):
        for number, raw in enumerate(unpacked_lines(bytes(chunk.packed)), chunk.first_line):
            if number >= first and (last is None or number <= last):
                yield raw


def rows_at(game: Game, numbers: Sequence[int]) -> Iterator[tuple[int, bytes]]:
    """Yield (number, row) for these line numbers, in this order, reading only the chunks that contain them."""
    chunks = LogChunk.objects.filter(game=game).order_by("first_line")
    starts = dict(chunks.values_list("first_line", "pk"))
    firsts = list(starts)
    by_chunk: dict[int, list[int]] = {}
    for number in sorted(numbers):
        by_chunk.setdefault(firsts[bisect_right(firsts, number) - 1], []).append(number)
    rows: dict[int, bytes] = {}
    pks = [starts[first] for first in by_chunk]
    for first, packed in chunks.filter(pk__in=pks).values_list("first_line", "packed").iterator(chunk_size=2):
        sought = iter(by_chunk[first])
        number = next(sought)
        for at, raw in enumerate(unpacked_lines(bytes(packed)), first):
            if at == number:
                rows[at] = raw
                if (number := next(sought, 0)) == 0:
                    break
    return ((number, rows[number]) for number in numbers)


def _longest(game: Game, first: int) -> int:
    """Return the number of lines from the start of the chunk that contains `first` up to and including `first`."""
    before = LogChunk.objects.filter(game=game, first_line__lte=first).order_by("-first_line")
    start = before.values_list("first_line", flat=True).first()
    return first - start + 1 if start else first


def decoded(game: Game, first: int = 1, last: int | None = None) -> Iterator[tuple[int, LogLine]]:
    """Yield (number, line) for lines `first` to `last`."""
    return decoder.read_lines(log_lines(game, first, last), game.title, first=first)


def decoded_tokens(game: Game, first: int = 1, last: int | None = None) -> Iterator[tuple[int, Token]]:
    """Yield (number, token) for lines `first` to `last` of a version 5 log."""
    return version5_log.read(log_lines(game, first, last), game.title, first=first)


def decoded_line(game: Game, at: int) -> LogLine:
    """Return line `at`, counted from 0."""
    ((_, line),) = decoded(game, at + 1, at + 1)
    return line


def table_of(
    game: Game, *, keep: str, mixes: Sequence[Mix] = (), first: int = 1, last: int | None = None
) -> Table:
    """Read lines `first` to `last` as a table."""
    return read_table(decoded(game, first, last), filters=[keep], mixes=mixes)


def reduced(row: Row, form: str) -> Row:
    """Convert a row to one of the three privacy formats: "targets" (without predictions), "lengths" (without any words
    of the text), "predictions" (as stored). Missing information cannot be restored.
    """
    if form == "predictions":
        return row
    game = log_rows.game_of(row)
    key = log_rows.RESULT_KEYS[game]
    return {**row, key: [_reduced(entry, game, form == "lengths") for entry in row[key]]}


def _reduced(entry: Row, game: str, lengths: bool) -> Row:
    result = {name: value for name, value in entry.items() if name != "predictions"}
    if not lengths:
        return result
    if game == "ic":
        result["verbatimMatch"] = log_rows.right_before(entry)
        result["candidates"] = [pair[-2:] for pair in result["candidates"]]
        result.pop("verbatim", None)
    target = result.pop("target", None)
    if target is not None:
        result["targetChars"] = len(target)
    return result


def _has_words(entry: Row, game: str) -> bool:
    """Return whether an entry contains any text: its target or, in ic, a typed word or candidate."""
    if entry.get("target") is not None:
        return True
    return game == "ic" and ("verbatim" in entry or any(len(pair) > 2 for pair in entry["candidates"]))


def log_in(game: Game, form: str) -> Iterator[bytes]:
    """Yield the log in a privacy format, formatted as the reference does."""
    for _, row in decoder.read_rows(log_lines(game), game.title):
        yield log_rows.line_of(reduced(row, form)).encode("ascii")


def gzipped(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Compress the lines as a stream."""
    packer = zlib.compressobj(wbits=31)
    for line in lines:
        if piece := packer.compress(line):
            yield piece
    yield packer.flush()


@dataclass
class LogContents:
    """Facts about an uploaded log, collected row by row.

    game         game of the log
    words        True if the log contains words
    predictions  True if it contains predictions
    entries      True if it contains any entry
    text         its text, if it is to be matched with a corpus
    characters   version 5: True if every token is one character
    rows         version 5: number of rows
    starts       version 5: row at which each message starts
    """

    game: str = ""
    words: bool = False
    predictions: bool = False
    entries: bool = False
    text: LogText | None = None
    characters: bool = True
    rows: int = 0
    starts: array[int] = field(default_factory=lambda: array("q"))
    _message: Any = None
    _number: int = 0
    _targets: list[str] = field(default_factory=list)

    @property
    def played(self) -> str:
        """The game that was played. A ce log is a we log whose tokens are characters."""
        return "ce" if self.game == "we" and self.characters else self.game

    def add(self, number: int, row: Row, line: LogLine) -> None:
        """Add a row, both raw and decoded, with its number in the file."""
        if self.text is not None:
            self.text.add(number, line)
        self.game = line.game
        entries = row[log_rows.RESULT_KEYS[self.game]]
        self.entries = self.entries or bool(entries)
        self.words = self.words or any(_has_words(entry, self.game) for entry in entries)
        self.predictions = self.predictions or any("predictions" in entry for entry in entries)

    def add_token(self, number: int, row: Row, source: str) -> None:
        """Add a row of a version 5 log, with its number in the file. Raises LogError if it lacks what the
        statistics need."""
        where = f"{source}, line {number}"
        token = version5_log.token_of(row, where)
        if not token.game or token.completions is None or token.results is None:
            keys = ", ".join(log_rows.GAMES_5)
            raise LogError(f"{where}: the line has no results.", f"One of {keys} is required.")
        if self.game not in ("", token.game):
            raise LogError(
                f"{where}: this line is of the game {token.game}, but earlier lines are of {self.game}.",
                "A log contains one game.",
            )
        try:
            fingerprint_of(token)
            token.scores  # noqa: B018
        except LogError as error:
            raise LogError(f"{where}: {error.message}", error.hint) from None
        self.game = token.game
        self.entries = self.words = self.predictions = True
        self.characters = self.characters and token.token == token.character and len(token.target) == 1
        if (token.user, token.message) != self._message:
            self._end_message()
            self._message, self._number = (token.user, token.message), number
            self.starts.append(self.rows)
        self.rows += 1
        if self.text is not None:
            self._targets.append(token.target)

    def _end_message(self) -> None:
        if self._targets and self.text is not None:
            self.text.add(self._number, Message(self.played, self._targets))
        self._targets = []

    def end(self) -> None:
        """Finish after the last row has been added."""
        self._end_message()
        self.starts.append(self.rows)

    def logged(self, game: Game, at: int) -> LogLine | Message:
        """Return line or message `at` of the stored log, from 0."""
        if not self.rows:
            return decoded_line(game, at)
        tokens = decoded_tokens(game, self.starts[at] + 1, self.starts[at + 1])
        return Message(self.played, [token.target for _, token in tokens])


def parse_upload(stream: Any, source: str, limit: int, contents: LogContents) -> Iterator[list[str]]:
    """Check an uploaded log and yield its lines in chunks.

    Blank lines are dropped, rows are reformatted, and each row is added to `contents`. Raises LogError for an invalid
    log, or one of more than `limit` bytes when decompressed. The size is checked before the first line is decoded, so
    the stream must be seekable.
    """
    limits = bounded.Limits(limit, MAX_LINES, LINE_BYTES, values=LINE_VALUES, seconds=SECONDS)
    with named(source, LogError):
        bounded.measure(stream, limits)
    chunk: list[str] = []
    size = total = 0
    is_of_5, lines = version5_log.recognised(bounded_lines(stream, source, limits, LogError), source)
    read_rows = version5_log.read_rows if is_of_5 else decoder.read_rows
    for number, row in read_rows(lines, source):
        if is_of_5:
            contents.add_token(number, row, source)
        else:
            contents.add(number, row, _countable(number, row, source))
        spelled = log_rows.line_of(row)
        chunk.append(spelled)
        size += len(spelled)
        total += len(spelled)
        if total > limit:
            raise LogError(
                f"{source}: the log is larger than {limit / 1e6:,.0f} MB when uncompressed.", "Split the log."
            )
        if size >= CHUNK_BYTES:
            yield chunk
            chunk, size = [], 0
    contents.end()
    if chunk:
        yield chunk


def _countable(number: int, row: Row, source: str) -> LogLine:
    """Decode a row. Raises LogError for errors that `read_rows` does not check."""
    line = decoder.line_of_row(row, number)
    if line.game == "ic":
        candidates, scores = (
            [getattr(entry, name) for entry in line.entries] for name in ("candidates", "score")
        )
        Tokens.of(candidates, scores, f"{source}, line {number}")
    return line


def bounded_lines(stream: Any, source: str, limits: bounded.Limits, kind: type[LmcError]) -> Iterator[bytes]:
    """Yield the lines of a file that may be compressed, up to the limits."""
    with named(source, kind):
        yield from bounded.lines(stream, limits)


@contextmanager
def named(source: str, kind: type[LmcError]) -> Iterator[None]:
    """Convert exceeded limits to errors of this kind that name the file."""
    try:
        yield
    except bounded.Refused as error:
        line = f", line {error.line}" if error.line else ""
        raise kind(f"{source}{line}: {error.message}.", error.hint) from None
