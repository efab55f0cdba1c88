from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import CommandError, CommandParser

from gym.accounts.models import User
from gym.conflicts import Conflict
from gym.pages.account_deletion import delete_account
from gym.pages.account_export import export_account
from gym.site_command import SiteCommand


class Command(SiteCommand):
    help = (
        "Write everything that an account owns to a zip, without secrets. With --delete, then delete the account by "
        "the rules of its page “Delete your account”: objects that others rely on are kept without the owner's name."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("username")
        parser.add_argument("--output", "-o", type=Path, required=True, metavar="ZIP", help="file to create")
        parser.add_argument(
            "--delete", action="store_true", help="delete the account once the zip is written"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        output: Path = options["output"]
        user = User.objects.filter(username=options["username"]).first()
        if user is None:
            raise CommandError(f"Account not found: {options['username']!r}.")
        try:  # readable by this user only
            target = os.open(output, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        except OSError as error:
            raise CommandError(f"{output} cannot be created: {error.strerror}.") from error
        try:
            with os.fdopen(target, "w+b") as file:
                n_files = export_account(user, file)
                file.flush()
                os.fsync(file.fileno())
        except BaseException:
            output.unlink()
            raise
        self.stdout.write(f"{user.username}: {n_files} files -> {output}")
        if options["delete"]:
            try:
                delete_account(user)
            except (ValidationError, Conflict) as error:
                reason = " ".join(error.messages) if isinstance(error, ValidationError) else str(error)
                raise CommandError(
                    f"The zip was written, but the account was not deleted. {reason}"
                ) from error
            self.stdout.write(f"{options['username']}: deleted")
