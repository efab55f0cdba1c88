"""Django's migrate command, extended to refuse databases that this version cannot read."""

from __future__ import annotations

from typing import Any

from django.core.management import CommandError
from django.core.management.commands import migrate
from django.db import connections
from django.db.migrations.recorder import MigrationRecorder

from gym.site_command import FORMER, is_former


class Command(migrate.Command):
    def handle(self, *args: Any, **options: Any) -> None:
        if is_former(MigrationRecorder(connections[options["database"]]).applied_migrations()):
            raise CommandError(FORMER)
        super().handle(*args, **options)
