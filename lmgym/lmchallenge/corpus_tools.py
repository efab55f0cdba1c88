"""Check a corpus and convert it between plain text and JSON lines, as streams.

Warnings do not prevent playing. They name features of a corpus that affect how a game plays or is displayed.
"""

from __future__ import annotations

import json
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from lmgym.lmchallenge import corpus
from lmgym.lmchallenge.corpus import MISSING, Line, same_time, same_user
from lmgym.lmchallenge.errors import CorpusError
from lmgym.lmchallenge.tokens import tokens

RESERVED = ("trainingChars", "wordPredictions", "textCompletions", "inputCorrections")
KNOWN = ("userId", "timestamp")

MESSAGES = {
    "crlf": "Lines end in carriage return and newline. Carriage returns at the end of a line are not part of the text.",
    "bom": "The file begins with a byte order mark, which is part of the first line's context.",
    "tab": "A tab in the text. Tabs separate fields of the protocol, so a model program receives a space instead.",
    "return": "A carriage return inside a line. It does not end the line; a model program receives a space instead.",
    "newline": "A newline inside the text. It would end the command, so a model program receives a space instead.",
    "separator": "A line or paragraph separator (U+2028, U+2029, U+0085, form feed). It does not end the line.",
    "surrogate": "A lone surrogate, which is not a character. A model program receives U+FFFD instead.",
    "control": "A control character. It belongs to no token but is part of contexts.",
    "marks": "Combining marks (decomposed accents, vowel signs). They belong to no token, so they split words.",
    "json-as-text": "This looks like a line of JSON, but the corpus is read as plain text.",
    "user-key": 'Games of LM Challenge 5 use the key "user", those of LM Challenge 4 "userId". For the latter a line '
    "without it is anonymous.",
    "user-kind": "userId is a list or an object. It is compared as a whole.",
    "returning-user": "A user reappears after lines by another user. With training, the model is cleared at every "
    "change of user.",
    "time-order": "The timestamp is earlier than the previous one. Lines are played in the order of the file.",
    "time-kind": "The timestamp is not a number.",
    "null-time": "Several lines with the timestamp null are one batch; lines without a timestamp are not.",
    "batch": "Several lines share a timestamp: all are played before any is learnt. From here on, the reference's "
    "trainingChars counts the batch's last line once for each of them.",
    "extra-key": "A key besides userId, timestamp and text. It is copied into the log, even without targets.",
    "reserved-key": "A key reserved for logs. The game overwrites it, or readers mistake it for a result.",
    "empty": "An empty text. It is played (and learnt) but has no tokens.",
}
MAX_FINDINGS = 200
"""Maximum number of warnings counted separately; further keys are counted together."""
_SEPARATORS = frozenset("\u2028\u2029\x85\x0b\x0c\x1c\x1d\x1e")


@dataclass
class Finding:
    """One kind of warning: its first line and its count. `detail` names keys or values."""

    code: str
    line: int
    count: int = 1
    detail: str = ""

    @property
    def message(self) -> str:
        """Text of the warning."""
        return MESSAGES[self.code] + (f" ({self.detail})" if self.detail else "")

    def as_dict(self) -> dict[str, Any]:
        """Return plain JSON types."""
        return {"code": self.code, "line": self.line, "count": self.count, "message": self.message}


class CorpusInspector:
    """Inspector of corpus lines as they are streamed. `warnings` has one entry per kind (for keys, per key),
    in order of appearance.

    Memory grows with the number of users, not with the size of the corpus.
    """

    def __init__(self, form: str) -> None:
        self.form = form
        self.lines = self.characters = 0
        self._found: dict[tuple[str, str], Finding] = {}
        self._users: set[str] = set()
        self._counted: set[str] = set()
        self._before: Line | None = None

    @property
    def warnings(self) -> list[Finding]:
        """Warnings for the lines inspected so far."""
        return list(self._found.values())

    @property
    def users(self) -> int:
        """Number of distinct users, by userId or version 5's `user`; all lines without either count as one."""
        return len(self._counted)

    def inspect(self, lines: Iterable[Line]) -> Iterator[Line]:
        """Yield the lines unchanged, inspecting each."""
        for line in lines:
            self.inspect_line(line)
            yield line

    def inspect_line(self, line: Line) -> None:
        """Inspect the next line."""
        self.lines += 1
        self.characters += len(line.text)
        self._counted.add(json.dumps(user_of(line), sort_keys=True))
        self._text(line)
        if self.form == "json":
            self._row(line)
        self._order(line)
        self._before = line

    def _add(self, line: Line, code: str, detail: str = "") -> None:
        detail = detail[:100]
        if len(self._found) >= MAX_FINDINGS and (code, detail) not in self._found:
            detail = "others" if detail else ""
        known = self._found.get((code, detail))
        if known:
            known.count += 1
        else:
            self._found[code, detail] = Finding(code, line.number, detail=detail)

    def _text(self, line: Line) -> None:
        text = line.text
        if not text:
            self._add(line, "empty")
        if line.had_carriage_return:
            self._add(line, "crlf")
        if line.number == 1 and text.startswith("\ufeff"):
            self._add(line, "bom")
        for char, code in (("\t", "tab"), ("\r", "return"), ("\n", "newline")):
            if char in text:
                self._add(line, code)
        if not text.isascii() or not text.isprintable():
            for code, holds in _CHARACTERS:
                if any(map(holds, text)):
                    self._add(line, code)
        if self.form == "text" and text.startswith("{") and text.endswith("}") and '"text"' in text:
            self._add(line, "json-as-text")

    def _row(self, line: Line) -> None:
        for key in line.row:
            if key in RESERVED:
                self._add(line, "reserved-key", key)
            elif key == "user":
                self._add(line, "user-key")
            elif key not in KNOWN:
                self._add(line, "extra-key", key)
        if isinstance(line.user, list | dict):
            self._add(line, "user-kind")
        if line.time is not MISSING and line.time is not None and not _number(line.time):
            self._add(line, "time-kind")

    def _order(self, line: Line) -> None:
        before, user = self._before, json.dumps(line.user, sort_keys=True)
        if before is None or not same_user(before, line):
            if user in self._users:
                self._add(line, "returning-user")
            self._users.add(user)
            return
        if same_time(before, line):
            self._add(line, "null-time" if line.time is None else "batch")
        elif _number(before.time) and _number(line.time) and line.time < before.time:
            self._add(line, "time-order")


def user_of(line: Line) -> Any:
    """Return the user under the key of either version."""
    return line.row.get("userId", line.row.get("user"))


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


_CHARACTERS: tuple[tuple[str, Callable[[str], bool]], ...] = (
    ("separator", _SEPARATORS.__contains__),
    ("surrogate", lambda char: "\ud800" <= char <= "\udfff"),
    (
        "marks",
        lambda char: char > "\u02ff" and unicodedata.category(char) in ("Mn", "Mc") and char != "\ufe0f",
    ),
    (
        "control",
        lambda char: (
            (char < " " or "\x7f" <= char <= "\x9f") and char not in "\t\r\n" and char not in _SEPARATORS
        ),
    ),
)


def to_json(lines: Iterable[Line], *, user: str | None = None, timestamps: bool = False) -> Iterator[str]:
    """Convert to JSON lines.

    Args:
        user: userId for lines without one.
        timestamps: number the lines without a timestamp, so that each is learnt before the next is played.
    """
    for line in lines:
        row = dict(line.row)
        if user is not None:
            row.setdefault("userId", user)
        if timestamps:
            row.setdefault("timestamp", line.number)
        yield json.dumps({**row, "text": line.text}, ensure_ascii=False) + "\n"


def to_text(lines: Iterable[Line]) -> Iterator[str]:
    """Convert to plain text. Users, timestamps and other keys are lost.

    Raises CorpusError for a newline inside a text, a carriage return at its end, or a lone surrogate, which plain text
    cannot represent.
    """
    for line in lines:
        if "\n" in line.text:
            raise CorpusError(
                f"Line {line.number}: the text contains a newline.",
                "Plain text cannot represent it; replace it first.",
            )
        if line.text.endswith("\r"):
            raise CorpusError(
                f"Line {line.number}: the text ends in a carriage return.",
                "Plain text cannot represent it there; replace it first.",
            )
        if any("\ud800" <= char <= "\udfff" for char in line.text):
            raise CorpusError(f"Line {line.number}: the text contains a lone surrogate.", "Replace it first.")
        yield line.text + "\n"


def vocabulary(lines: Iterable[Line]) -> list[str]:
    """Return the distinct tokens, most frequent first; ties are in order of appearance."""
    counts = Counter(token for line in lines for _, token in tokens(line.text))
    return [word for word, _ in counts.most_common()]


def preview(
    lines: Iterable[Line], form: str, most: int = 20, characters: int | None = None
) -> dict[str, Any]:
    """Check a corpus and show its first `most` lines.

    Args:
        characters: list only tokens that end within this many characters from the start of a shown line.

    Returns:
        {"lines", "characters", "tokens", "users", "warnings", "shown": [{"number", "text", "user", "timestamp",
        "tokens"}]}; tokens are [start, end].
    """
    inspector = CorpusInspector(form)
    shown: list[dict[str, Any]] = []
    count = 0
    for line in inspector.inspect(lines):
        if len(shown) >= most:
            count += sum(1 for _ in tokens(line.text))
        else:
            token_spans: list[list[int]] = []
            for start, token in tokens(line.text):
                count += 1
                if characters is None or start + len(token) <= characters:
                    token_spans.append([start, start + len(token)])
            time = None if line.time is corpus.MISSING else line.time
            shown.append(
                {
                    "number": line.number,
                    "text": line.text,
                    "user": user_of(line),
                    "timestamp": time,
                    "tokens": token_spans,
                }
            )
    return {
        "lines": inspector.lines,
        "characters": inspector.characters,
        "tokens": count,
        "users": inspector.users,
        "warnings": [warning.as_dict() for warning in inspector.warnings],
        "shown": shown,
    }
