"""Read suite files for commands: options, and messages for problems."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lmgym.cli.shared import Failed, note
from lmgym.errors import FormatError, InvalidArgument
from lmgym.suites.formats import SuiteDocument
from lmgym.suites.intake import ENCODINGS, NotUnderstood
from lmgym.suites.intake.parsing import CHOICES, MATCHED, NO_PREDICTION, ROLES

NAMES = (
    "columns",
    "sheet",
    "encoding",
    "header",
    "layout",
    "prediction",
    "cut",
    "fillers",
    "empty",
    "incomplete",
    "marks",
    "markup",
    "conditions",
    "regions",
)
"""Options that are arguments of `load_suite`."""


def add_reading(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("how to read a suite file")
    group.add_argument(
        "--columns",
        type=columns,
        default={},
        metavar="A=item,B=condition,C=text,D=data",
        help=f"role of each column of a table, by letter: {', '.join(ROLES)} (condition_text: one column per "
        "condition; data: kept with the items, not scored; docs/suite-format.md has them all); others are not read. "
        "Required if it is unclear which columns are regions",
    )
    group.add_argument(
        "--sheet",
        default="",
        metavar="NAME",
        help="sheet of a workbook; required if several sheets could be the suite",
    )
    group.add_argument(
        "--encoding", default="", choices=list(ENCODINGS), help="encoding of a text file that is not UTF-8"
    )
    group.add_argument(
        "--header",
        type=header,
        default="",
        metavar="ROW",
        help="number of the row that names the columns, or “no”",
    )
    group.add_argument(
        "--layout",
        default="",
        choices=CHOICES["layout"],
        help="every two rows of a list of sentences are a pair, with the good (or bad) sentence first; groups: without "
        "an item column, an item begins when a condition is repeated; single: every row is an item in the only "
        "condition",
    )
    group.add_argument(
        "--prediction",
        default="",
        metavar="CONDITION",
        help=f"condition that should have the lower total surprisal, {MATCHED} (each target after its own context) or "
        f"{NO_PREDICTION}; required if the headings do not say which sentence is better",
    )
    group.add_argument(
        "--cut",
        default="",
        choices=CHOICES["cut"],
        help="what separates regions in a single column of text; required if its cells contain / or |",
    )
    group.add_argument(
        "--fillers",
        default="",
        choices=CHOICES["fillers"],
        help="leave out (or keep) items that have different conditions from most, or read the first, second, … of "
        "several experiments",
    )
    group.add_argument(
        "--empty",
        default="",
        choices=CHOICES["empty"],
        help="take cells without text (empty or ∅) as empty texts, leave their items out, or keep the signs as text",
    )
    group.add_argument(
        "--incomplete",
        default="",
        choices=CHOICES["incomplete"],
        help="fill in the condition above in rows without one (merged cells), or leave them out (remarks)",
    )
    group.add_argument(
        "--marks",
        default="",
        choices=CHOICES["marks"],
        help="remove (or keep) marks of judgements (*) and of words (*word*, _word_, [word]), or cut sentences there",
    )
    group.add_argument(
        "--markup", default="", choices=CHOICES["markup"], help="remove (or keep) HTML in texts"
    )
    for option in ("conditions", "regions"):
        group.add_argument(
            f"--{option}",
            action=_Renames,
            type=new_name,
            default={},
            metavar="OLD=NEW",
            help=f"rename one of the {option} of a table, or leave it out (OLD=); can be repeated",
        )


class _Renames(argparse.Action):
    """Collect the pairs of a repeated option in a dictionary."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: str | None = None) -> None:
        setattr(namespace, self.dest, {**getattr(namespace, self.dest), values[0]: values[1]})


def new_name(text: str) -> tuple[str, str]:
    """Parse `OLD=NEW`; an empty NEW means that the name is left out."""
    old, sign, new = (part.strip() for part in text.partition("="))
    if not old or not sign:
        raise argparse.ArgumentTypeError(f"“{text}” is not OLD=NEW")
    return old, new


def header(text: str) -> str:
    """Parse the number of a row, “yes” or “no”."""
    if text not in ("", "yes", "no") and not (text.isdecimal() and int(text)):
        raise argparse.ArgumentTypeError(f"“{text}” is not the number of a row, “yes” or “no”")
    return text


def columns(text: str) -> dict[str, str]:
    """Parse `A=item,B=condition` to {letter: role}."""
    roles = {}
    for part in filter(None, text.replace(" ", "").split(",")):
        letter, _, role = part.partition("=")
        if not letter.isalpha() or role not in ROLES:
            raise argparse.ArgumentTypeError(f"“{part}” is not LETTER=ROLE with a role of {', '.join(ROLES)}")
        roles[letter.upper()] = role
    return roles


def reading(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the reading options set on the command line, as arguments of `load_suite`."""
    return {name: options[name] for name in NAMES if options[name]}


def load(path: str, options: argparse.Namespace) -> SuiteDocument:
    """Load a suite file. Raises Failed, which names the file and every problem with its location."""
    from lmgym.evaluation import load_suite

    arguments = reading(vars(options))
    try:
        if arguments:
            _note_unused(path, arguments)
        return load_suite(path, **arguments)
    except OSError as error:
        raise Failed(f"{path}: {error.strerror or error}") from error
    except FormatError as error:
        raise Failed(unread(path, error)) from error
    except InvalidArgument as error:
        raise Failed(f"{path}: {error}") from error


def _note_unused(path: str, arguments: Mapping[str, Any]) -> None:
    """Report reading options that have no effect on this file, judging by its first bytes. Raises OSError."""
    with Path(path).open("rb") as file:
        start = file.read(512).removeprefix(b"\xef\xbb\xbf").lstrip()
    if start[:1] == b"{" and not path.lower().endswith((".jsonl", ".ndjson")):
        kind, unused = "JSON", set(arguments)
    elif start.startswith(b"PK"):
        kind, unused = "a workbook", set(arguments) & {"encoding"}
    else:
        kind, unused = "not a workbook", set(arguments) & {"sheet"}
    if unused:
        names = ", ".join(f"--{name}" for name in NAMES if name in unused)
        note(f"{path} is {kind}; ignored: {names}")


def unread(path: str | Path, error: FormatError) -> str:
    """List the problems of an unreadable file with their locations, and the option that would resolve them."""
    problems = "\n".join(f"  {problem}" for problem in error.problems)
    return f"{path} cannot be read as a suite:\n{problems}{_remedy(error)}"


def _remedy(error: FormatError) -> str:
    if not isinstance(error, NotUnderstood):
        return ""
    read = error.result
    asked = [choice for choice in read.choices if choice.option in read.asks]
    lines = [f"\n  --{one.option} {value}: {label}" for one in asked for value, label in one.answers]
    if "columns" in read.asks:
        proposed = ",".join(f"{letter}={role}" for letter, role in read.proposed_columns.items())
        return "".join([f"\nFor example: --columns {proposed}", *lines])
    if asked:
        return "".join(["\nChoose:", *lines])
    if "sheet" in read.asks:
        return f'\nSheets: {", ".join(read.sheets)}. For example: --sheet "{read.sheets[0]}"'
    if "encoding" in read.asks:
        samples = [f"\n  --encoding {name}: {lines[0]}" for name, lines in read.encodings.items() if lines]
        return "".join(["\nThe first line with non-ASCII letters, by encoding:", *samples])
    return ""
