"""Tools for corpora: plain text to JSON lines and back, sorting, vocabularies, a look at the tokens. Streams in,
lines out."""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from gym.lmchallenge.core import corpus
from gym.lmchallenge.core.corpus import Line
from gym.lmchallenge.core.errors import CorpusError
from gym.lmchallenge.core.lint import Watch
from gym.lmchallenge.core.tokens import keeper, tokens


def to_json(lines: Iterable[Line], *, user: str | None = None, timestamps: bool = False) -> Iterator[str]:
    """JSON lines. With `user`, lines without a userId get this one; with `timestamps`, lines without one get their
    number, so that each is learnt before the next is played."""
    for line in lines:
        row = dict(line.row)
        if user is not None:
            row.setdefault("userId", user)
        if timestamps:
            row.setdefault("timestamp", line.number)
        yield json.dumps({**row, "text": line.text}, ensure_ascii=False) + "\n"


def to_text(lines: Iterable[Line]) -> Iterator[str]:
    """Plain text: users, timestamps and other keys are lost. A newline inside a text, which would make two lines
    of one, a carriage return at its end, which would be taken for that of the line, and half a surrogate pair, which
    no file can hold, are refused: raises CorpusError."""
    for line in lines:
        if "\n" in line.text:
            raise CorpusError(
                f"Line {line.number}: there is a newline in the text.",
                "Plain text cannot hold it: replace it first.",
            )
        if line.text.endswith("\r"):
            raise CorpusError(
                f"Line {line.number}: the text ends in a carriage return.",
                "Plain text cannot hold it there: replace it first.",
            )
        if any("\ud800" <= char <= "\udfff" for char in line.text):
            raise CorpusError(f"Line {line.number}: half a surrogate pair is no text.", "Replace it first.")
        yield line.text + "\n"


def in_order(stream: Iterable[bytes], source: str = "the corpus") -> Iterator[bytes]:
    """JSON lines grouped by userId (users in the order in which they first appear) and within a user by timestamp;
    lines without a timestamp, or with null, come first; equals keep their order. The lines themselves stay as they
    are, byte for byte. Holds keys in memory and texts on disk. Raises CorpusError, also where timestamps cannot be
    compared."""
    users: dict[str, int] = {}
    keys: list[tuple[int, int, float, int, int]] = []
    with tempfile.TemporaryFile() as copy:
        for number, raw in enumerate(stream, 1):
            line = corpus.read_line(raw, number, "json", source)
            user = users.setdefault(json.dumps(line.user, sort_keys=True), len(users))
            time: Any = None if line.time is corpus.MISSING else line.time
            if time is not None and (isinstance(time, bool) or not isinstance(time, int | float)):
                raise CorpusError(f"{source}, line {number}: the timestamp {time!r} is no number.")
            keys.append((user, int(time is not None), time or 0, number, copy.tell()))
            copy.write(raw.rstrip(b"\r\n") + b"\n")
        keys.sort(key=lambda key: key[:4])
        for *_, place in keys:
            copy.seek(place)
            yield copy.readline()


def vocabulary(
    lines: Iterable[Line], *, keep: str = "all", least: int = 1, most: int | None = None
) -> Iterator[tuple[str, int]]:
    """(word, count) of all tokens that pass the filter and were seen at least `least` times, most frequent first,
    then in order of appearance."""
    keeps = keeper(keep)
    counts = Counter(token for line in lines for _, token in tokens(line.text) if keeps(token))
    for word, count in counts.most_common(most):
        if count >= least:
            yield word, count


def preview(
    lines: Iterable[Line], form: str, most: int = 20, characters: int | None = None
) -> dict[str, Any]:
    """The first `most` lines with their tokens as [start, end], and what is odd about the whole corpus: {"lines",
    "characters", "tokens", "users", "warnings", "shown": [{"number", "text", "user", "timestamp", "tokens"}]}.
    `characters`: of a shown line, only tokens within so many are listed."""
    watch = Watch(form)
    shown: list[dict[str, Any]] = []
    count = 0
    for line in watch.through(lines):
        if len(shown) >= most:
            count += sum(1 for _ in tokens(line.text))
        else:
            found: list[list[int]] = []
            for start, token in tokens(line.text):
                count += 1
                if characters is None or start + len(token) <= characters:
                    found.append([start, start + len(token)])
            time = None if line.time is corpus.MISSING else line.time
            shown.append(
                {
                    "number": line.number,
                    "text": line.text,
                    "user": line.user,
                    "timestamp": time,
                    "tokens": found,
                }
            )
    return {
        "lines": watch.lines,
        "characters": watch.characters,
        "tokens": count,
        "users": watch.users,
        "warnings": [warning.as_dict() for warning in watch.warnings],
        "shown": shown,
    }
