"""Options and error handling shared by the subcommands."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from lmgym.errors import BackendError, FormatError, InvalidArgument
from lmgym.models.engine.policy import METRICS, TOKEN_POLICIES, WHITESPACE_POLICIES
from lmgym.suites.formats import SuiteDocument
from lmgym.suites.intake import NotUnderstood
from lmgym.suites.intake.readings import ROLES
from lmgym.suites.regions import JOIN_POLICIES


class Failed(Exception):
    """A problem the user can fix; the message says how."""


def run(
    act: Callable[[argparse.Namespace], int], parser: argparse.ArgumentParser, argv: Sequence[str]
) -> int:
    """Parse the arguments and run. Problems the user can fix are printed to standard error with exit status 2; a
    closed pipe ends the command quietly."""
    options = parser.parse_args(argv)
    try:
        return act(options)
    except (Failed, BackendError, InvalidArgument, FormatError) as error:
        print(f"{parser.prog}: {error}", file=sys.stderr)  # noqa: T201
        return 2
    except BrokenPipeError:
        sys.stderr.close()
        return 1
    except KeyboardInterrupt:
        print(f"{parser.prog}: interrupted", file=sys.stderr)  # noqa: T201
        return 130


def add_policy(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("policy: every choice that changes a number")
    group.add_argument(
        "--bos",
        metavar="auto|always|never|TOKEN",
        help="start token: the model's own (auto), none, or one as the vocabulary spells it",
    )
    group.add_argument("--eos", action="store_true", default=None, help="score the end of the sentence, too")
    group.add_argument("--join", choices=JOIN_POLICIES, help="how regions become a sentence; default: space")
    group.add_argument("--metric", choices=METRICS, help="of tokens in a region; default: the suite's")
    group.add_argument(
        "--whitespace", choices=WHITESPACE_POLICIES, help="whitespace correction; default: none"
    )
    group.add_argument("--tokens", choices=TOKEN_POLICIES, help="all, or those that predictions need")


def policy_of(options: argparse.Namespace) -> dict[str, Any]:
    """The policy options given on the command line, as fields of `ScoringPolicy`."""
    names = ("bos", "eos", "join", "metric", "whitespace", "tokens")
    return {name: value for name in names if (value := getattr(options, name)) is not None}


def add_device(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda, cuda:1, cuda:all; default: auto")
    parser.add_argument("--dtype", default="float32", choices=("float32", "bfloat16", "float16"))


def add_columns(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--columns",
        type=columns,
        default={},
        metavar="A=item,B=condition,C=text,D=data",
        help=f"role of each column of a table, by letter: {', '.join(ROLES)} (data: kept with the items, not scored); "
        "columns not named are not read. Needed if a column may not be a region",
    )


def columns(text: str) -> dict[str, str]:
    """{letter: role} of `A=item,B=condition`."""
    found = {}
    for part in filter(None, text.replace(" ", "").split(",")):
        letter, _, role = part.partition("=")
        if not letter.isalpha() or role not in ROLES:
            raise argparse.ArgumentTypeError(f"“{part}”: write a column's letter = one of {', '.join(ROLES)}")
        found[letter.upper()] = role
    return found


def load(path: str, given: dict[str, str]) -> SuiteDocument:
    """The suite in a file. Raises Failed, which names the file and every problem with its place."""
    from lmgym.evaluation import load_suite

    try:
        return load_suite(path, columns=given)
    except OSError as error:
        raise Failed(f"{path}: {error.strerror or error}") from error
    except FormatError as error:
        raise Failed(unread(path, error)) from error


def unread(path: str | Path, error: FormatError) -> str:
    """Every problem of an unreadable file with its place, and the option that would resolve it."""
    problems = "\n".join(f"  {one.names}: {one}" if one.names else f"  {one}" for one in error.problems)
    asked = ""
    if isinstance(error, NotUnderstood) and "columns" in error.reading.asks:
        proposed = ",".join(f"{letter}={role}" for letter, role in error.reading.proposed_columns.items())
        asked = f"\nFor example: --columns {proposed}"
    return f"{path} cannot be read as a suite:\n{problems}{asked}"


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


def rendered(frame: Any, form: str) -> str | bytes:
    """A DataFrame as csv, json (a list of records; missing values are null) or parquet."""
    if form == "csv":
        return str(frame.to_csv(index=False))
    if form == "parquet":
        return parquet(frame)
    records = json.loads(frame.to_json(orient="records", double_precision=15))
    return json.dumps(records, ensure_ascii=False, indent=2) + "\n"


def parquet(frame: Any) -> bytes:
    import io

    buffer = io.BytesIO()
    try:
        frame.to_parquet(buffer, index=False)
    except ImportError as error:
        raise Failed("Parquet needs the package pyarrow: pip install pyarrow") from error
    return buffer.getvalue()
