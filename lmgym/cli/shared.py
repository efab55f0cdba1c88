"""Running a subcommand: problems, progress, output. Light: what a problem may be is imported when there is one."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

DONE, BELOW, WRONG, NO_VERDICT, INTERRUPTED = 0, 1, 2, 3, 130
EXIT_STATUS = {
    DONE: "success",
    BELOW: "a pass rate is below --fail-under, agent tests failed, or a check found an error",
    WRONG: "an error: of an argument, a file, a model, a site",
    NO_VERDICT: "no agent test failed, but some have no verdict",
    INTERRUPTED: "interrupted",
}
"""Of every command."""


class Failed(Exception):
    """A problem the user can fix; the message has the remedy."""


def run(
    act: Callable[[argparse.Namespace], int], parser: argparse.ArgumentParser, argv: Sequence[str]
) -> int:
    """Parse the arguments and run. Problems the user can fix are printed to standard error with exit status 2; a
    closed pipe ends the command quietly."""
    options = parser.parse_args(argv)
    try:
        return act(options)
    except BrokenPipeError:
        silence()
        return DONE
    except KeyboardInterrupt:
        note(f"{parser.prog}: interrupted")
        return INTERRUPTED
    except _problems() as error:
        note(f"{parser.prog}: {in_words(error)}")
        return WRONG


def _problems() -> tuple[type[Exception], ...]:
    """Exceptions that are the user's to mend; anything else is a bug and keeps its traceback."""
    from lmgym.client.transport import ApiError, NotReached
    from lmgym.errors import BackendError, FormatError, InvalidArgument

    return Failed, BackendError, FormatError, InvalidArgument, ApiError, NotReached, TimeoutError, OSError


def in_words(error: Exception) -> str:
    """The message of one of the problems, on as many lines as it has parts."""
    from lmgym.client.transport import ApiError

    if isinstance(error, ApiError):
        return "\n".join(error.lines())
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror or error}"
    return str(error)


def silence() -> None:
    """Python would fail again at exit, when it flushes what is left in the buffer."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())


def say(line: str = "") -> None:
    sys.stdout.write(f"{line}\n")


def note(line: str) -> None:
    """Progress and remarks go to standard error, so that standard output is the result alone."""
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def share(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no rate: a number from 0 to 1")
    return value


PAIR_ENDINGS = {"jsonl": "blimp", "zip": "lm-eval"}
"""Of files with minimal pairs; other files end like the name of their format."""
FORMATS = ("table", "csv", "json", "parquet")


def add_output(parser: argparse.ArgumentParser, formats: Sequence[str] = FORMATS) -> None:
    """`--format`, with the first as default, and `--output`."""
    parser.add_argument("--format", choices=formats, default=formats[0])
    parser.add_argument("--output", "-o", type=Path, help="a file; default: standard output")


def check_output(options: argparse.Namespace) -> None:
    """Before anything is computed. Raises Failed."""
    if options.format == "parquet" and options.output is None:
        raise Failed("Parquet is no text: name a file with --output.")


def write(text: str | bytes, output: Path | None) -> None:
    """To a file, or to standard output as UTF-8. Raises Failed."""
    data = text.encode() if isinstance(text, str) else text
    if output is None:
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.flush()
        return
    try:
        output.write_bytes(data)
    except OSError as error:
        raise Failed(f"{output}: {error.strerror or error}") from error


def format_of(output: Path | None, formats: Collection[str], endings: Mapping[str, str], option: str) -> str:
    """The format for a file, by its ending: one in `endings`, else one of `formats`; json without an ending. Raises
    Failed for another one; `option` names the format instead."""
    ending = output.suffix.lstrip(".").lower() if output else ""
    if not ending:
        return "json"
    if ending not in endings and ending not in formats:
        known = ", ".join(
            f".{one}" for one in sorted({*endings, *formats} - {*endings.values()}) if "-" not in one
        )
        raise Failed(
            f"{output}: no format that can be written ends so. Use {known}, or choose one with {option}."
        )
    return endings.get(ending, ending)


def as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"


def rendered(frame: Any, form: str) -> str | bytes:
    """A DataFrame as csv, json (a list of records; missing values are null) or parquet."""
    if form == "csv":
        return str(frame.to_csv(index=False))
    if form == "parquet":
        return _parquet(frame)
    return as_json(json.loads(frame.to_json(orient="records", double_precision=15)))


def _parquet(frame: Any) -> bytes:
    import io

    buffer = io.BytesIO()
    try:
        frame.to_parquet(buffer, index=False)
    except ImportError as error:
        raise Failed('Parquet needs the package pyarrow: pip install "lm-gym[parquet]"') from error
    return buffer.getvalue()


def aligned(rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> str:
    """Rows in columns for a terminal; those at the places `right` are flush right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = (
        "  ".join(
            cell.rjust(width) if column in right else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )
    return "\n".join(lines) + "\n"
