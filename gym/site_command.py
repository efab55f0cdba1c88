"""Base class for the site's commands, which report what to run if the database is not ready."""

from __future__ import annotations

from collections.abc import Iterable

from django.core.management.base import BaseCommand, CommandError
from django.db import Error as DatabaseError
from django.db import connection
from django.db.migrations.executor import MigrationExecutor


class SiteCommand(BaseCommand):
    """A command that uses the site's tables. It refuses to start until all migrations are applied."""

    requires_migrations_checks = True

    def check_migrations(self) -> None:
        if problem := database_problem():
            raise CommandError(problem)


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
    "database, and import them with `lmgym manage import_suite` and `lmgym manage upload_results`. docs/deploy.md has "
    "the steps."
)


def is_former(applied: Iterable[tuple[str, str]]) -> bool:
    """Return True if these (app, migration) pairs are from before the migrations were squashed."""
    return any(app == "evaluations" for app, _ in applied)


def migration_problem() -> str:
    executor = MigrationExecutor(connection)
    if is_former(executor.loader.applied_migrations):
        return FORMER
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    if not plan:
        return ""
    if not executor.loader.applied_migrations:
        return "The database is empty: run `lmgym init` first (`lmgym serve` does this automatically)."
    waiting = "1 migration has" if len(plan) == 1 else f"{len(plan)} migrations have"
    return (
        f"The database is older than this version of LM Gym ({waiting} not been applied): run `lmgym init`."
    )
