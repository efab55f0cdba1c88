"""Streaming decoder for version 4 logs.

msgspec decodes the fields for statistics, colours and comparisons by schema. Lines that do not fit the schema
(NaN, counts written as 2.0 or true, unexpected shapes) are parsed by the standard library, checked value by
value, and converted or rejected with an error that names the location.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Annotated, Any, ClassVar, TypeAlias

from msgspec import UNSET, Meta, MsgspecError, Raw, Struct, UnsetType, field
from msgspec.json import Decoder

from lmgym.lmchallenge.errors import LogError
from lmgym.lmchallenge.logs.log_rows import GAMES, MOST_COUNTED, RESULT_KEYS, Row, game_of, right_before

Count: TypeAlias = Annotated[int, Meta(ge=0, lt=MOST_COUNTED)]
Score: TypeAlias = float | None


class Entry(Struct, gc=False, kw_only=True):
    """A token or a run of text: its target, or only its length."""

    target: str | UnsetType = UNSET
    target_chars: Count | UnsetType = field(name="targetChars", default=UNSET)

    @property
    def text(self) -> str | None:
        """The target; None if the log hides it."""
        return None if self.target is UNSET else self.target

    @property
    def part(self) -> str | int:
        """The target, or its number of characters if the log hides it."""
        if self.target is not UNSET:
            return self.target
        assert self.target_chars is not UNSET  # rejected in __post_init__ of both subclasses
        return self.target_chars

    def _require_target(self) -> None:
        if self.target is UNSET and self.target_chars is UNSET:
            raise ValueError("both target and targetChars are missing")


class RankedEntry(Entry, gc=False, kw_only=True):
    """An entry in a wp or tc log."""

    rank: Count | None = None
    score: Score = None
    predictions: Raw | UnsetType = UNSET

    def __post_init__(self) -> None:
        self._require_target()

    def predicted(self) -> Any:
        """Return the predictions as logged, or None. They are not validated because no metric uses them."""
        return json.loads(bytes(self.predictions)) if isinstance(self.predictions, Raw) else None


class CorrectionEntry(Entry, gc=False, kw_only=True):
    """An entry in an ic log. A candidate is [text, typing score, model score], or only the two scores; `score` has both
    scores of the target.
    """

    score: tuple[float, Score]
    candidates: list[list[str | float | None]]
    verbatim: Any = UNSET
    right_before: bool | None = field(name="verbatimMatch", default=None)

    def __post_init__(self) -> None:
        self._require_target()
        if self.right_before is None:
            if self.target is UNSET or self.verbatim is UNSET:
                raise ValueError("verbatimMatch is missing, and so is target or verbatim")
            self.right_before = self.target == self.verbatim


class LogLine(Struct, gc=False, kw_only=True):
    """A log line of any game."""

    game: ClassVar[str]

    entries: list[Any]
    user: Any = field(name="userId", default=UNSET)
    training_chars: Annotated[int, Meta(gt=-MOST_COUNTED, lt=MOST_COUNTED)] | float | None = field(
        name="trainingChars", default=None
    )

    @property
    def text(self) -> list[str | int]:
        """Targets, or their lengths if hidden; for tc, which splits a line wherever the typist accepts a prediction,
        the whole line or its length.
        """
        parts = [entry.part for entry in self.entries]
        if self.game != "tc":
            return parts
        if all(isinstance(part, str) for part in parts):
            return ["".join(parts)]
        return [sum(part if isinstance(part, int) else len(part) for part in parts)]


class WordPredictionLine(LogLine, gc=False, kw_only=True):
    game = "wp"
    entries: list[RankedEntry] = field(name="wordPredictions")


class TextCompletionLine(LogLine, gc=False, kw_only=True):
    game = "tc"
    entries: list[RankedEntry] = field(name="textCompletions")


class InputCorrectionLine(LogLine, gc=False, kw_only=True):
    game = "ic"
    entries: list[CorrectionEntry] = field(name="inputCorrections")


LINES: dict[str, type[LogLine]] = {
    line.game: line for line in (WordPredictionLine, TextCompletionLine, InputCorrectionLine)
}


_DECODERS = {game: Decoder(line) for game, line in LINES.items()}


def read_lines(
    stream: Iterable[bytes], source: str = "the log", limit: int | None = None, *, first: int = 1
) -> Iterator[tuple[int, LogLine]]:
    """Yield (line number, line) for each non-blank line, counting from `first`. All lines must come from the same game.

    Raises:
        LogError: a line is invalid or belongs to another game.
    """
    decoder: Decoder[LogLine] | None = None
    game = ""
    for number, raw in islice(enumerate(stream, first), limit):
        line = _decoded(raw, decoder) if decoder else None
        if line is None:
            row = _row(raw, f"{source}, line {number}", game)
            if row is None:
                continue
            game = game or game_of(row)
            decoder = _DECODERS[game]
            line = line_of_row(row, number)
        yield number, line


def read_rows(stream: Iterable[bytes], source: str = "the log") -> Iterator[tuple[int, Row]]:
    """Yield (line number, row) for each non-blank line, with all keys, so that it can be written again.

    Makes the same checks as `read_lines`, except for trainingChars. Results of other games are dropped, so that
    `game_of` returns the log's game for every row. Raises LogError.
    """
    game = ""
    for number, raw in enumerate(stream, 1):
        row = _row(raw, f"{source}, line {number}", game)
        if row is not None:
            game = game or game_of(row)
            yield number, row


def line_of_row(row: Row, number: int) -> LogLine:
    """Decode a row from `read_rows`. Raises LogError if trainingChars is not a number or is too large."""
    learnt = row.get("trainingChars")
    if learnt is not None and type(learnt) not in (int, float):
        raise LogError(f"Line {number} of the log: trainingChars is {learnt!r}, not a number.")
    if type(learnt) is int and abs(learnt) >= MOST_COUNTED:
        raise LogError(f"Line {number} of the log: trainingChars is too large.")
    game = game_of(row)
    convert = _correction if game == "ic" else _ranked
    entries = [convert(entry) for entry in row[RESULT_KEYS[game]]]
    return LINES[game](entries=entries, user=row.get("userId", UNSET), training_chars=learnt)


def _decoded(raw: bytes, decoder: Decoder[LogLine]) -> LogLine | None:
    """Decode a line by schema; return None if it does not fit."""
    try:
        if not raw.isascii():
            raw.decode("utf-8")  # msgspec does not check the values of keys that it skips
        return decoder.decode(raw)
    except (MsgspecError, UnicodeDecodeError, RecursionError):
        return None


# -- conversion ----------------------------------------------------------------------------------------------


def _ranked(entry: Row) -> RankedEntry:
    score = entry.get("score")
    return RankedEntry(
        target=entry.get("target", UNSET),
        target_chars=entry.get("targetChars", UNSET),
        rank=entry.get("rank"),
        score=float(score) if isinstance(score, int | float) and type(score) is not bool else None,
        predictions=Raw(json.dumps(entry["predictions"])) if "predictions" in entry else UNSET,
    )


def _correction(entry: Row) -> CorrectionEntry:
    target = entry.get("target")
    typing, model = entry["score"]
    return CorrectionEntry(
        target=UNSET if target is None else target,
        target_chars=entry.get("targetChars", UNSET),
        score=(float(typing), None if model is None else float(model)),
        candidates=entry["candidates"],
        verbatim=entry.get("verbatim", UNSET),
        right_before=right_before(entry),
    )


# -- checks --------------------------------------------------------------------------------------------------


def _row(raw: bytes, where: str, game: str) -> Row | None:
    """Parse and check a line of a log of this game ("" accepts any). Returns None for a blank line."""
    if not raw.strip():
        return None
    row = _object(raw, where)
    line_game = game_of(row, where)
    if not game:
        game = line_game
    elif RESULT_KEYS[game] not in row:
        raise LogError(f"{where}: a line of {line_game} in a log of {game}.", "A log contains one game.")
    key = RESULT_KEYS[game]
    _check(game, row[key], where)
    for other in GAMES.keys() - {key}:
        row.pop(other, None)  # copied from the corpus
    return row


def _object(raw: bytes, where: str) -> Row:
    try:
        row = json.loads(raw)
    except UnicodeDecodeError:
        raise LogError(f"{where}: this is not UTF-8.") from None
    except json.JSONDecodeError as error:
        raise _not_json(error, raw.endswith(b"\n"), where) from None
    except RecursionError:
        raise LogError(f"{where}: the JSON is nested too deeply.") from None
    except ValueError as error:
        raise LogError(
            f"{where}: this is not JSON ({error}).", "Each line must be one JSON object."
        ) from None
    if not isinstance(row, dict):
        raise LogError(f"{where}: this is not a JSON object.", "Each line must be one JSON object.")
    return row


def _not_json(error: json.JSONDecodeError, has_end: bool, where: str) -> LogError:
    """Return a LogError that names the column. `has_end`: the line ends with a newline."""
    text, at = error.doc, error.pos
    comma = text.rfind(",", 0, at + 1)
    # Python up to 3.12 reports the position of the bracket, Python 3.13 and later that of the comma.
    if comma >= 0 and not text[comma + 1 : at].strip() and text[comma + 1 :].lstrip()[:1] in ("]", "}"):
        return LogError(
            f"{where}, column {comma + 1}: this is not JSON: a comma before the closing bracket.",
            "Delete that comma.",
        )
    if not has_end:
        hint = "The log may have been cut off here."
    elif text[at:].strip():
        hint = "Each line must be one JSON object."
    else:
        hint = "The line ends inside the object: write each object on one line."
    column = len(text[:at].rstrip("\r\n")) + 1
    return LogError(f"{where}, column {column}: this is not JSON: {error.msg}.", hint)


def _check(game: str, entries: Any, where: str) -> None:
    """Raise LogError for the first invalid entry."""
    if not isinstance(entries, list):
        raise LogError(f"{where}: {RESULT_KEYS[game]} is not a list.")
    check = _check_ic if game == "ic" else _check_ranked
    for at, entry in enumerate(entries):
        try:
            problem = check(entry)
        except (TypeError, KeyError, AttributeError):
            problem = "it is not a valid entry of this game"
        if problem:
            raise LogError(f"{where}: {RESULT_KEYS[game]}[{at}]: {problem}.")


def _check_ranked(entry: Any) -> str:
    if "target" in entry:
        if not isinstance(entry["target"], str):
            return "target is not a string"
    elif not _is_count(entry, "targetChars"):
        return "both target and targetChars are missing"
    if entry.get("rank") is not None and not _is_count(entry, "rank"):
        return f"rank is {entry['rank']!r}, not a count"
    return _huge(entry.get("score"))


def _is_count(entry: Any, key: str) -> bool:
    """Return whether the value is a non-negative integer, converting 2.0, which the reference accepts, to 2."""
    value = entry.get(key)
    if isinstance(value, bool) or (isinstance(value, float) and value.is_integer()):
        value = entry[key] = int(value)
    return type(value) is int and 0 <= value < MOST_COUNTED


def _huge(score: Any) -> str:
    """Return an error message if the score is an integer too large for a double, else ""."""
    try:
        float(score if type(score) is int else 0)
    except OverflowError:
        return "score is too large"
    return ""


def _check_ic(entry: Any) -> str:
    target = entry.get("target")
    if target is None and not _is_count(entry, "targetChars"):
        return "both target and targetChars are missing"
    if not isinstance(target, str | None):
        return "target is not a string"
    if entry.get("verbatimMatch") is None and not ("target" in entry and "verbatim" in entry):
        return "verbatimMatch is missing, and so is target or verbatim"
    pair = entry["score"]
    if len(pair) != 2 or type(pair[0]) not in _NUMBERS or type(pair[1]) not in _SCORES:
        return f"{pair!r} is not a pair of scores"
    if huge := _huge(pair[0]) or _huge(pair[1]):
        return huge
    # Candidates are validated together in `interpolation.Tokens`.
    return "" if isinstance(entry["candidates"], list) else "candidates is not a list"


_NUMBERS = frozenset((int, float))
_SCORES = frozenset((int, float, type(None)))
