"""Run a subcommand: errors, progress, output. Exception types are imported only when an error is raised."""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from lmgym.text.replacing import replace_file

if TYPE_CHECKING:
    from lmgym.client import ApiError

DONE, BELOW, WRONG, NO_VERDICT, INTERRUPTED = 0, 1, 2, 3, 130
EXIT_STATUS = {
    DONE: "success",
    BELOW: "a pass rate is below --fail-under or fell, agent tests failed, or a check found errors or made repairs",
    WRONG: "an error in an argument, a file, a model or a site",
    NO_VERDICT: "no agent test failed, but some have no verdict",
    INTERRUPTED: "interrupted",
}
"""Exit statuses of all commands."""


Path_ = TypeVar("Path_", str, Path)
Value = TypeVar("Value")


class Failed(Exception):
    """A problem the user can fix; the message says how."""


def run(
    act: Callable[[argparse.Namespace], int], parser: argparse.ArgumentParser, argv: Sequence[str]
) -> int:
    """Parse the arguments and run the command; return its exit status.

    Problems the user can fix are printed to standard error with status 2. A closed pipe ends the command quietly."""
    options = parser.parse_args(argv)
    try:
        if "formats" in options:
            _settle_format(options)
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
    """Return the exceptions caused by input or environment. Any other exception is a bug and keeps its traceback."""
    from lmgym.client.transport import ApiError, NotReached
    from lmgym.errors import BackendError, FormatError, InvalidArgument

    return Failed, BackendError, FormatError, InvalidArgument, ApiError, NotReached, TimeoutError, OSError


def in_words(error: Exception) -> str:
    """Return the message to print for an exception of a type in `_problems`; may have several lines."""
    from lmgym.client.transport import ApiError

    if isinstance(error, ApiError):
        return "\n".join(lines_of(error))
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror or error}"
    return str(error)


def read_all(paths: Iterable[Path_], read: Callable[[Path_], Value]) -> list[Value]:
    """Read all files. Raises Failed with the problems of every file that cannot be read."""
    values, problems = [], []
    for path in paths:
        try:
            values.append(read(path))
        except _problems() as error:
            problems.append(in_words(error))
    if problems:
        raise Failed("\n".join(problems))
    return values


def lines_of(error: ApiError) -> list[str]:
    """Return the lines to print for a site's error, with what to do if an account is needed."""
    advice = ["Log in with: lmgym login https://… (or set LM_GYM_TOKEN)"] if error.status == 401 else []
    return [*error.lines(), *advice]


def silence() -> None:
    """Discard the buffer of standard output, because flushing it at exit would fail again."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())


def print_line(line: str = "") -> None:
    sys.stdout.write(f"{line}\n")


def note(line: str) -> None:
    """Write progress or a remark to standard error; standard output is only for the result."""
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def share(text: str) -> float:
    """Parse a rate, 0 to 1."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0 to 1")
    return value


PAIR_ENDINGS = {"jsonl": "blimp", "zip": "lm-eval"}
"""Formats of minimal pairs by file extension. The extensions of other formats are their names."""
TABLE_ENDINGS = {"txt": "table", "tex": "latex", "md": "markdown"}
FORMATS = ("table", "csv", "json", "parquet")
PAPER_FORMATS = ("latex", "markdown")
"""Formats of tables for papers."""


def add_output(parser: argparse.ArgumentParser, formats: Sequence[str] = FORMATS) -> None:
    """Add `--format` and `--output`. `run` sets the format: the one requested, else by the extension of the file, else
    the first of `formats`."""
    parser.add_argument(
        "--format", choices=formats, help=f"default: by the extension of --output, else {formats[0]}"
    )
    parser.add_argument("--output", "-o", type=Path, help="a file; default: standard output")
    parser.set_defaults(formats=formats)


def _settle_format(options: argparse.Namespace) -> None:
    """Set `options.format` before anything is computed. Raises Failed."""
    formats: Sequence[str] = options.formats
    if options.format is None:
        options.format = format_of(options.output, formats, TABLE_ENDINGS, default=formats[0])
    if options.format == "parquet" and options.output is None:
        raise Failed("Parquet is binary: specify a file with --output.")


def write(text: str | bytes, output: Path | None) -> None:
    """Write to a file, or to standard output as UTF-8. Raises Failed."""
    data = text.encode() if isinstance(text, str) else text
    if output is None:
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.flush()
        return
    try:
        replace_file(output, data)
    except OSError as error:
        raise Failed(f"{output}: {error.strerror or error}") from error


def format_of(
    output: Path | None,
    formats: Collection[str],
    endings: Mapping[str, str],
    *,
    default: str = "json",
    option: str = "--format",
) -> str:
    """Choose the format of a file by its extension.

    Args:
        formats: formats of the command. The name of a format serves as its extension, unless the format is in
            `endings` or its name has a hyphen.
        endings: formats by extension, where the extension is not the name.
        default: format without a file or an extension.
        option: option that sets the format explicitly, for the message.

    Raises:
        Failed: unknown extension.
    """
    extension = output.suffix.lstrip(".").lower() if output else ""
    if not extension:
        return default
    by_extension = {extension: form for extension, form in endings.items() if form in formats}
    by_extension |= {form: form for form in formats if form not in by_extension.values() and "-" not in form}
    if extension not in by_extension:
        raise Failed(
            f"{output}: unknown extension. Use {', '.join(f'.{extension}' for extension in sorted(by_extension))}, "
            f"or choose a format with {option}."
        )
    return by_extension[extension]


def as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"


def rendered(frame: Any, form: str) -> str | bytes:
    """Render a DataFrame as csv, json (records with all digits; missing and infinite values null) or parquet."""
    if form == "csv":
        return str(frame.to_csv(index=False))
    if form == "parquet":
        return _parquet(frame)
    finite = frame.replace([math.inf, -math.inf], math.nan)
    return as_json(finite.astype(object).where(finite.notna(), None).to_dict("records"))


def _parquet(frame: Any) -> bytes:
    import io

    buffer = io.BytesIO()
    try:
        frame.to_parquet(buffer, index=False)
    except ImportError as error:
        raise Failed('Parquet needs the package pyarrow: pip install "lm-gym[parquet]"') from error
    return buffer.getvalue()


def aligned(rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> str:
    """Align rows in columns for a terminal. `right`: indices of right-aligned columns."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = (
        "  ".join(
            cell.rjust(width) if column in right else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )
    return "\n".join(lines) + "\n"
