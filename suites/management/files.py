"""What the suite commands share: reading files with errors a person can act on."""

from __future__ import annotations

from argparse import ArgumentTypeError
from dataclasses import replace
from pathlib import Path

from django.core.management.base import CommandError, CommandParser

from lmgym.suites.formats import MAX_BYTES, SuiteDocument
from lmgym.suites.intake import take_in
from lmgym.suites.intake.readings import NOTHING, ROLES, Answers, Reading
from lmgym.text.problems import Notice


def add_columns(parser: CommandParser) -> None:
    """The option that says what the columns of tables are."""
    parser.add_argument(
        "--columns",
        type=_answers,
        default=NOTHING,
        metavar="A=item,B=condition,C=text,D=data",
        help=f"what each column of the tables is, by its letter: {', '.join(ROLES)} (data: kept with the items, not "
        "scored); columns that are not named are not read. Needed where a table has columns that may not be regions",
    )


def _answers(text: str) -> Answers:
    columns = {}
    for part in filter(None, text.replace(" ", "").split(",")):
        letter, _, role = part.partition("=")
        if not letter.isalpha() or role not in ROLES:
            raise ArgumentTypeError(f"“{part}”: write a column's letter = one of {', '.join(ROLES)}")
        columns[letter.upper()] = role
    return Answers(columns=columns)


def read_file(path: Path, answers: Answers = NOTHING) -> SuiteDocument:
    """The suite in a file; CommandError names the file and every problem with its place. `answers` are for tables."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise CommandError(f"{path}: larger than {MAX_BYTES / 1_000_000:g} MB")
        data = path.read_bytes()
    except OSError as error:
        raise CommandError(f"{path}: {error.strerror}") from error
    reading = take_in(data, path.name, answers)
    if reading.document is None:
        problems = "\n".join(
            f"  {problem.names}: {problem}" if problem.names else f"  {problem}"
            for problem in reading.problems
        )
        raise CommandError(f"{path} cannot be read as a suite:\n{problems}{_option(reading)}")
    if reading.kind == "file":
        return reading.document
    notices = tuple(Notice("sheet", line.rstrip(".")) for line in reading.understood)
    return replace(reading.document, notices=notices)


def _option(reading: Reading) -> str:
    """The option that answers what is asked, with the roles that the columns seem to have."""
    if "columns" not in reading.asks:
        return ""
    return (
        f"\nFor example: --columns {','.join(f'{k}={role}' for k, role in reading.proposed_columns.items())}"
    )


def actor_named(username: str):
    """The account that acts; without a name the first superuser."""
    from django.contrib.auth import get_user_model

    users = get_user_model().objects
    user = (
        users.filter(username=username).first()
        if username
        else users.filter(is_superuser=True).order_by("pk").first()
    )
    if user is None:
        raise CommandError(
            f"There is no account {username!r}."
            if username
            else "There is no superuser; name an account with --owner."
        )
    return user
