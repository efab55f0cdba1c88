"""Base class for the site's commands, which report what to run if the database is not ready."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from time import monotonic, sleep

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import Error as DatabaseError
from django.db import connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from lmgym import __version__


class SiteCommand(BaseCommand):
    """A command that uses the site's tables. It refuses to start until all migrations are applied."""

    requires_migrations_checks = True
    waits_for_database = False
    """Whether the command waits for a PostgreSQL server that is starting."""

    def check_migrations(self) -> None:
        if self.waits_for_database:
            self.wait_for_database()
        if problem := database_problem():
            raise CommandError(problem)

    def wait_for_database(self) -> None:
        end = monotonic() + settings.GYM_DATABASE_WAIT_SECONDS
        announced = False
        while connection.vendor == "postgresql" and (problem := connection_problem()) and monotonic() < end:
            if not announced:
                self.stderr.write(
                    f"{problem} Waiting for it for up to {settings.GYM_DATABASE_WAIT_SECONDS} seconds."
                )
                announced = True
            sleep(1)


def database_problem() -> str:
    """Return why the site's tables cannot be used, and what to run; empty if they can be used."""
    return connection_problem() or migration_problem()


def connection_problem() -> str:
    try:
        connection.ensure_connection()
    except DatabaseError as error:
        reason = str(error).strip().replace("\n", " ")
        return f"The database ({connection.vendor}) does not answer: {reason}. Check GYM_DATABASE_URL."
    return ""


FORMER = (
    "This database was created by an older version of LM Gym with other tables and cannot be read. To keep suites and "
    "results, export them with that version (`manage.py export_suite`, and tokens.csv of the runs), create a new "
    "database, and import them with `lmgym manage import_suite --freeze` and `lmgym manage upload_results`. "
    "docs/deploy.md has the steps."
)


def is_former(applied: Iterable[tuple[str, str]]) -> bool:
    """Return True if these (app, migration) pairs are from before the migrations were squashed."""
    return any(app == "evaluations" for app, _ in applied)


@cache
def _last_numbers() -> dict[str, str]:
    """Return the number of each app's last migration: {"suites": "0008"}."""
    numbers: dict[str, str] = {}
    for app, name in MigrationLoader(None, ignore_no_migrations=True).disk_migrations:
        numbers[app] = max(numbers.get(app, ""), name[:4])
    return numbers


def upgraded_by_newer(connection: BaseDatabaseWrapper) -> str:
    """Return why this version is too old for the database, which has later migrations; "" if it is not."""
    last = _last_numbers()
    later = [
        f"{app}.{name}"
        for app, name in MigrationRecorder(connection).applied_migrations()
        if app in last and name[:4] > last[app]
    ]
    if not later:
        return ""
    return (
        f"A newer version of LM Gym upgraded this database (migration {max(later)}); this is {__version__}. Upgrade "
        "this installation, or restore the backup made before the upgrade."
    )


def migration_problem() -> str:
    executor = MigrationExecutor(connection)
    if is_former(
        executor.loader.applied_migrations
    ):  # first: its migrations have higher numbers than today's
        return FORMER
    if problem := upgraded_by_newer(connection):
        return problem
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    if not plan:
        return ""
    if not executor.loader.applied_migrations:
        return "The database is empty: run `lmgym init` first (`lmgym serve` does this automatically)."
    waiting = "1 migration has" if len(plan) == 1 else f"{len(plan)} migrations have"
    return (
        f"The database is older than this version of LM Gym ({waiting} not been applied): run `lmgym init`."
    )
