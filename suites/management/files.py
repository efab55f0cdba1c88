"""Helpers for the suite commands: read files, look up the acting account."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from gym.accounts.models import User
from lmgym.cli.suite_files import unread
from lmgym.suites.formats import MAX_BYTES, SuiteDocument
from lmgym.suites.intake import NotUnderstood, read_any
from lmgym.suites.intake.parsing import ParseOptions


def read_file(path: Path, **reading: Any) -> SuiteDocument:
    """Read a suite file. `reading`: columns, sheet, encoding, as in `load_suite`.

    Raises CommandError with the file, and every problem with its location."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise CommandError(f"{path}: larger than {MAX_BYTES / 1_000_000:g} MB")
        data = path.read_bytes()
    except OSError as error:
        raise CommandError(f"{path}: {error.strerror}") from error
    try:
        return read_any(data, path.name, ParseOptions(**reading))
    except NotUnderstood as error:
        raise CommandError(unread(path, error)) from error


def actor_named(username: str) -> User:
    """Return the acting account; by default the first superuser."""
    users = User.objects
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
