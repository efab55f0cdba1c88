"""Django's migrate command, extended to refuse databases that this version cannot read."""

from __future__ import annotations

from typing import Any

from django.core.management import CommandError
from django.core.management.commands import migrate
from django.db import connections
from django.db.migrations.recorder import MigrationRecorder

from gym.site_command import FORMER, is_former, upgraded_by_newer


class Command(migrate.Command):
    def handle(self, *args: Any, **options: Any) -> None:
        connection = connections[options["database"]]
        if is_former(MigrationRecorder(connection).applied_migrations()):
            raise CommandError(FORMER)
        if problem := upgraded_by_newer(connection):
            raise CommandError(problem)
        super().handle(*args, **options)
