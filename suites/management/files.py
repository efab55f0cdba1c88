"""What the suite commands share: reading files with errors a person can act on."""

from __future__ import annotations

from pathlib import Path

from django.core.management.base import CommandError, CommandParser

from lmgym.cli.shared import columns, unread
from lmgym.suites.formats import MAX_BYTES, SuiteDocument
from lmgym.suites.intake import NotUnderstood, read_any
from lmgym.suites.intake.readings import NOTHING, ROLES, Answers


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
    return Answers(columns=columns(text))


def read_file(path: Path, answers: Answers = NOTHING) -> SuiteDocument:
    """The suite in a file; CommandError names the file and every problem with its place. `answers` are for tables."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise CommandError(f"{path}: larger than {MAX_BYTES / 1_000_000:g} MB")
        data = path.read_bytes()
    except OSError as error:
        raise CommandError(f"{path}: {error.strerror}") from error
    try:
        return read_any(data, path.name, answers)
    except NotUnderstood as error:
        raise CommandError(unread(path, error)) from error


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
