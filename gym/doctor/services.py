"""Checks of what the site depends on: database, broker, workers, stored secrets, mail, outbound requests."""

from __future__ import annotations

import shutil

from django.conf import settings
from django.core.mail import get_connection
from django.db import connection
from django.db.utils import DatabaseError

from gym import secrets
from gym.doctor.levels import BAD, OK, WARN, Finding
from gym.jobs import conf
from gym.jobs.broker import broker_problem, eviction_policy
from gym.jobs.selectors import WorkerView, queue_summary, workers
from gym.jobs.worker import clock_seconds
from gym.site_command import database_problem
from lmgym import __version__
from lmgym.net.rules import parse_rule
from lmgym.text import count

MAIL_SECONDS = 5
CLOCK_SECONDS = 3.0
"""Difference between clocks that is reported. It must stay below a lease."""
FEW_CONNECTIONS = 0.8


def check() -> list[Finding]:
    database = _database()
    if any(level == BAD for level, _ in database):
        return [*database, *_broker(), *_mail(), *_outbound()]
    return [*database, *_secrets(), *_broker(), *_queue(), *_mail(), *_outbound()]


def _database() -> list[Finding]:
    if problem := database_problem():
        return [(BAD, problem)]
    vendor = connection.vendor
    lines = [(OK, f"{vendor} responds; all migrations are applied")]
    if vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA journal_mode")
            mode = cursor.fetchone()[0]
        if mode != "wal":
            lines.append(
                (
                    WARN,
                    f"SQLite journal is {mode}, not wal: is the file on a network disk? Move it with GYM_VAR_DIR.",
                )
            )
    if vendor == "postgresql":
        lines += _connections()
        ahead = clock_seconds()
        if abs(ahead) > CLOCK_SECONDS:
            lines.append(
                (
                    BAD,
                    f"the clocks of this machine and of the database differ by {abs(ahead):.0f} s: synchronise them "
                    "(NTP)",
                )
            )
    return lines


def _connections() -> list[Finding]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*), current_setting('max_connections')::int FROM pg_stat_activity")
        used, most = cursor.fetchone()
    level = WARN if used > FEW_CONNECTIONS * most else OK
    each = "each web thread and each thread of a worker may use one"
    return [(level, f"{used} of {most} connections of PostgreSQL are in use; {each}")]


def _broker() -> list[Finding]:
    broker = settings.GYM_BROKER_URL.split("@")[-1] or "database://"
    if problem := broker_problem():
        return [
            (BAD, f"the broker {broker} does not answer: {problem}. Workers poll the database until it does.")
        ]
    lines = [(OK, f"broker {broker}")]
    if (policy := eviction_policy()) not in ("", "noeviction"):
        lines.append((WARN, f"Redis may drop messages ({policy}): set maxmemory-policy noeviction"))
    return lines


def _secrets() -> list[Finding]:
    """Check that all stored secrets can be decrypted, e.g. after restoring a backup without the key."""
    try:
        rows = list(secrets.stored())
    except DatabaseError as error:
        return [(BAD, f"stored secrets cannot be read: {error}")]
    lost = [row for row, readable in rows if not readable]
    if not lost:
        return [(OK, f"{count(len(rows), 'row')} with stored secrets, all readable")] if rows else []
    kinds = ", ".join(sorted({f"{row._meta.verbose_name} {row.pk}" for row in lost})[:5])
    return [
        (
            BAD,
            f"the secrets of {len(lost)} of {count(len(rows), 'row')} cannot be read ({kinds}): GYM_SECRETS_KEY (if "
            "unset, GYM_SECRET_KEY) has changed since they were stored. Set the old key, or enter the secrets again.",
        )
    ]


def _queue() -> list[Finding]:
    lines: list[Finding] = []
    try:
        alive = [worker for worker in workers() if worker.alive]
        stuck = [queue for queue in queue_summary() if queue.is_stuck]
    except DatabaseError as error:
        return [(BAD, f"the job tables cannot be read: {error}")]
    if alive:
        lines.append((OK, f"live workers: {len(alive)}"))
        lines += _differences(alive)
    else:
        lines.append((WARN, "no worker is alive: `lmgym serve` or `lmgym worker` starts one"))
    lines += [
        (BAD, f"no worker serves queue {queue.name} ({count(queue.queued, 'waiting job')})")
        for queue in stuck
    ]
    return lines


def _differences(alive: list[WorkerView]) -> list[Finding]:
    """Report live workers with another version, a wrong clock, or no messages."""
    lines: list[Finding] = []
    for worker in alive:
        name = f"worker {worker.host}:{worker.pid}"
        if worker.version not in ("", __version__):
            lines.append((WARN, f"{name} runs LM Gym {worker.version}, this is {__version__}: restart it"))
        if abs(worker.clock_seconds) > CLOCK_SECONDS:
            level = BAD if abs(worker.clock_seconds) > conf.lease_seconds() / 2 else WARN
            lines.append(
                (level, f"the clock of {name} differs by {worker.clock_seconds:+.0f} s: synchronise it (NTP)")
            )
        if worker.broker_problem:
            lines.append((WARN, f"{name} receives no messages: {worker.broker_problem}"))
    return lines


def _mail() -> list[Finding]:
    """Connect and sign in to the mail server."""
    if not settings.EMAIL_HOST:
        return []
    server = f"{settings.EMAIL_HOST}:{settings.EMAIL_PORT}"
    mail = get_connection(timeout=MAIL_SECONDS)
    try:
        mail.open()
    except Exception as error:  # noqa: BLE001  smtplib, ssl and sockets raise unrelated classes
        return [
            (
                WARN,
                f"the mail server {server} (GYM_EMAIL_URL) cannot be used: {error or type(error).__name__}",
            )
        ]
    mail.close()
    return [(OK, f"mail server {server}")]


def _outbound() -> list[Finding]:
    lines = []
    for entry in settings.GYM_NET_ALLOW:
        try:
            parse_rule(entry)
        except ValueError as error:
            lines.append((BAD, f"GYM_NET_ALLOW: {error}"))
    allowed = ", ".join(settings.GYM_NET_ALLOW) or "nowhere"
    lines.append((OK, f"outbound requests may go to: {allowed}"))
    missing = [name for name, argv in settings.GYM_LMZOO_COMMANDS.items() if shutil.which(argv[0]) is None]
    lines += [
        (BAD, f"GYM_LMZOO_COMMANDS: the program for {name} is not installed on this machine")
        for name in missing
    ]
    return lines
