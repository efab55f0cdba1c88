"""Triggers that record every change of a table in the transaction of the change, whichever way it is made: by a model,
a queryset, a cascade, or SQL from elsewhere.

Migrations remove the triggers, because SQLite refuses to change a table that a trigger mentions, and they are
installed after the last one. Without its triggers and its row, a table counts as unwatched, and pages that read it are
not kept.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator
from typing import Any

from django.apps import apps
from django.db import connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Model

from gym.page_cache.models import TableChange

UNWATCHED = frozenset(
    {
        "accounts.ApiToken", "accounts.SentenceCharge", "accounts.TokenBucket", "accounts.User_groups",
        "accounts.User_user_permissions", "admin.LogEntry", "api.SentRequest", "auth.Group", "auth.Group_permissions",
        "auth.Permission", "jobs.Batch", "jobs.Lock", "jobs.WorkerHeartbeat",
        "notices.Notice", "page_cache.TableChange", "runs.RunChunk", "runs.ScoreCache", "sessions.Session",
        "sharing.Invitation",
    }
)  # fmt: skip
"""Models that no page of visitors shows, or that change every few seconds while the site works."""

NOT_SHOWN = {
    "accounts.User": {"password", "last_login", "unread_notices", "notices_by_mail", "secrets"},
    "jobs.Job": {
        "claimed_by", "lease_until", "heartbeat_at", "done", "total", "unit", "rate", "progress_at",
    },
}  # fmt: skip
"""Columns whose updates do not count: no page of visitors shows them, except the progress of an active job, and pages
with an active job are not kept."""

MAX_ROWS = 32
"""On PostgreSQL, the average number of rows that a table has before a transaction replaces them by its own."""

_POSTGRESQL_FUNCTION = f"""
CREATE OR REPLACE FUNCTION page_cache_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF random() < {1 / MAX_ROWS} THEN
        -- rows of other transactions are committed and never change, so nobody waits for them
        DELETE FROM page_cache_tablechange WHERE id IN (
            SELECT id FROM page_cache_tablechange
            WHERE "table" = TG_TABLE_NAME AND writer <> txid_current() FOR UPDATE SKIP LOCKED
        );
    END IF;
    INSERT INTO page_cache_tablechange ("table", writer, value)
    VALUES (TG_TABLE_NAME, txid_current(), (random() * 9007199254740992)::bigint)
    ON CONFLICT ("table", writer) DO UPDATE SET value = excluded.value;
    RETURN NULL;
END $$
"""  # noqa: S608  no input


def watched() -> Iterator[type[Model]]:
    """Yield the models whose tables have triggers."""
    for model in apps.get_models(include_auto_created=True):
        if model._meta.managed and not model._meta.proxy and model._meta.label not in UNWATCHED:
            yield model


def install(using: str, **_: Any) -> None:
    """Create the missing triggers, and give every watched table a row. Receiver of `post_migrate`."""
    connection = connections[using]
    present = set(connection.introspection.table_names())
    if connection.vendor not in ("postgresql", "sqlite") or TableChange._meta.db_table not in present:
        return
    tables = [model for model in watched() if model._meta.db_table in present]
    with transaction.atomic(using=using), connection.cursor() as cursor:
        existing = _existing(connection)
        if connection.vendor == "postgresql":
            cursor.execute(_POSTGRESQL_FUNCTION)
        for model in tables:
            for name, statement in _triggers(connection, model):
                if (model._meta.db_table, name) not in existing:
                    cursor.execute(statement)
        for model in tables:
            TableChange.objects.using(using).update_or_create(
                table=model._meta.db_table,
                writer=0,
                defaults={"value": random.SystemRandom().getrandbits(52)},
            )


def remove(using: str, plan: Any = None, **_: Any) -> None:
    """Remove all triggers, so that pages are not kept until they are back. Receiver of `pre_migrate`; does nothing if
    there are no migrations to apply."""
    connection = connections[using]
    if not plan or TableChange._meta.db_table not in connection.introspection.table_names():
        return
    quote = connection.ops.quote_name
    with transaction.atomic(using=using), connection.cursor() as cursor:
        for table, name in _existing(connection):
            on = f" ON {quote(table)}" if connection.vendor == "postgresql" else ""
            cursor.execute(f"DROP TRIGGER {quote(name)}{on}")
        TableChange.objects.using(using).all().delete()


def _existing(connection: BaseDatabaseWrapper) -> set[tuple[str, str]]:
    """Return our triggers as (table, name)."""
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute(
                "SELECT c.relname, t.tgname FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid "
                "WHERE t.tgname LIKE 'page_cache_%' AND pg_table_is_visible(c.oid)"
            )
        else:
            cursor.execute(
                "SELECT tbl_name, name FROM sqlite_master WHERE type = 'trigger' AND name LIKE 'page_cache_%'"
            )
        return set(cursor.fetchall())


def _triggers(connection: BaseDatabaseWrapper, model: type[Model]) -> Iterator[tuple[str, str]]:
    """Yield name and statement of the triggers of a table. The name contains a hash of the definition, so that a
    changed definition gives a new trigger."""
    table, quote = model._meta.db_table, connection.ops.quote_name
    hidden = NOT_SHOWN.get(model._meta.label, set())
    fields = [field for field in model._meta.local_concrete_fields if field.name not in hidden]
    columns = ", ".join(quote(str(field.column)) for field in fields)
    update = f"UPDATE OF {columns}" if hidden else "UPDATE"
    if connection.vendor == "postgresql":
        body = (
            f"AFTER INSERT OR DELETE OR {update} OR TRUNCATE ON {quote(table)} "
            "FOR EACH STATEMENT EXECUTE FUNCTION page_cache_changed()"
        )
        name = f"page_cache_{_digest(body)}"
        yield name, f"CREATE TRIGGER {quote(name)} {body}"
        return
    for event in ("INSERT", "DELETE", update):
        # An UPDATE of a row that exists: the conflict clause of the outer statement (INSERT OR IGNORE) would
        # replace that of an upsert.
        change = "UPDATE page_cache_tablechange SET value = random()"
        body = (
            f"AFTER {event} ON {quote(table)} BEGIN {change} WHERE \"table\" = '{table}' AND writer = 0; END"
        )
        name = f"page_cache_{table}_{_digest(body)}"
        yield name, f"CREATE TRIGGER {quote(name)} {body}"


def _digest(body: str) -> str:
    return hashlib.sha256(body.encode()).hexdigest()[:12]
