"""What the commands of this site share: they say in one sentence what to run when the database is not ready."""

from __future__ import annotations

from collections.abc import Iterable

from django.core.management.base import BaseCommand, CommandError
from django.db import Error as DatabaseError
from django.db import connection
from django.db.migrations.executor import MigrationExecutor


class SiteCommand(BaseCommand):
    """A command that reads or writes the site's tables. It refuses to start until they are as the code expects."""

    requires_migrations_checks = True

    def check_migrations(self) -> None:
        if problem := database_problem():
            raise CommandError(problem)


def database_problem() -> str:
    """Why the site's tables cannot be used, and what to run; empty when they can."""
    return connection_problem() or migration_problem()


def connection_problem() -> str:
    try:
        connection.ensure_connection()
    except DatabaseError as error:
        reason = str(error).strip().replace("\n", " ")
        return f"The database ({connection.vendor}) does not answer: {reason}. Check GYM_DATABASE_URL."
    return ""


FORMER = (
    "This database was made by a version of LM Gym from before the tables were made anew, and this version cannot read "
    "it. Suites and results of runs carry over: write them to files with the version that made it (`manage.py "
    "export_suite`, and tokens.csv of the runs), begin with a new database, and read them with `lmgym manage "
    "import_suite` and `lmgym manage upload_results`. docs/deploy.md says it step by step."
)


def is_former(applied: Iterable[tuple[str, str]]) -> bool:
    """Whether (app, migration) pairs are those of a database from before each app began anew with one migration."""
    return any(app == "evaluations" for app, _ in applied)


def migration_problem() -> str:
    executor = MigrationExecutor(connection)
    if is_former(executor.loader.applied_migrations):
        return FORMER
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    if not plan:
        return ""
    if not executor.loader.applied_migrations:
        return "The database is empty: run `lmgym init` first (`lmgym serve` does it by itself)."
    waiting = "1 migration has" if len(plan) == 1 else f"{len(plan)} migrations have"
    return (
        f"The database is older than this version of LM Gym ({waiting} not been applied): run `lmgym init`."
    )
