"""lmgym init: prepare the database and the first account."""

from __future__ import annotations

import secrets
from typing import Any

from django.core.management import CommandError, call_command
from django.core.management.base import BaseCommand, CommandParser

from gym.accounts.models import User
from gym.site_command import connection_problem, database_problem
from lmgym.cli.site_options import add_init_options

ADMIN = "admin"
NO_DEMO = 3
"""Exit status if everything except the demo data was created."""


class Command(BaseCommand):
    help = "Create or update the tables, and create an administrator if the site has none. Safe to repeat."
    requires_system_checks = []  # the checks may use the database

    def add_arguments(self, parser: CommandParser) -> None:
        add_init_options(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        if problem := connection_problem():
            raise CommandError(problem)
        if database_problem():
            call_command("migrate", interactive=False, verbosity=0)
            self.stdout.write("The database is up to date.")
        failure: Exception | None = None
        if options["demo"]:
            try:
                call_command("demo")
            except Exception as error:  # noqa: BLE001  reported below; the site works without its demo
                failure = error
        self.ensure_administrator()
        if failure:
            raise CommandError(
                f"The demo data could not be created: {failure}", returncode=NO_DEMO
            ) from failure

    def ensure_administrator(self) -> None:
        """Create the account `admin` with a random password, printed once, unless there is an administrator. If another
        account has that name, print how to create an administrator."""
        if User.objects.filter(is_superuser=True).exists():
            return
        if User.objects.filter(username=ADMIN).exists():
            self.stdout.write(
                f"There is no administrator, and the name {ADMIN} is taken. Run `lmgym manage createsuperuser`."
            )
            return
        password = secrets.token_urlsafe(12)
        User.objects.create_superuser(ADMIN, password=password)
        self.stdout.write(f"Account {ADMIN}, password {password} (shown only now; change it under Profile)")
