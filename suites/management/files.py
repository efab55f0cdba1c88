"""What the suite commands share: reading files with errors a person can act on."""

from __future__ import annotations

from pathlib import Path

from django.core.management.base import CommandError

from gym.lib.problems import FormatError
from suites.formats import MAX_BYTES, SuiteDocument, read_suite


def read_file(path: Path) -> SuiteDocument:
    """The suite in a file; CommandError names the file and every problem with its place."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise CommandError(f"{path}: larger than {MAX_BYTES / 1_000_000:g} MB")
        data = path.read_bytes()
    except OSError as error:
        raise CommandError(f"{path}: {error.strerror}") from error
    try:
        return read_suite(data, filename=path.name)
    except FormatError as error:
        problems = "\n".join(
            f"  {problem.names}: {problem}" if problem.names else f"  {problem}" for problem in error.problems
        )
        raise CommandError(f"{path} cannot be read as a suite:\n{problems}") from error


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
