"""Number of queries and server time of every list and detail page on a large site.

    python -m benchmarks.web.pages [--suites 1000] [--models 50] [--items 20] [--repeats 5] [--most-queries 10]
                                  [--record]

Fills its own PostgreSQL database (at GYM_TEST_POSTGRES_URL, by default postgresql://postgres@127.0.0.1:5432) by bulk
inserts: every model has run on every suite, which with the defaults is a million stored outcomes. Requests each page as
its author in this process, with the garbage collector set as in the web server, prints the number of queries (including
session and account) and the median server time, and drops the database. Exits with 1 if a page makes more queries than
allowed. `--record` saves the results in benchmarks/web/results/pages.json.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
import time
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from benchmarks.web.world import World

SERVER = os.environ.get("GYM_TEST_POSTGRES_URL", "postgresql://postgres@127.0.0.1:5432/postgres")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--suites", type=int, default=1000)
    parser.add_argument("--models", type=int, default=50)
    parser.add_argument("--items", type=int, default=20)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--most-queries", type=int, default=10)
    parser.add_argument("--record", action="store_true")
    options = parser.parse_args()
    import psycopg

    name = f"gym_bench_{os.getpid()}"
    signal.signal(
        signal.SIGTERM, lambda number, frame: sys.exit(128 + number)
    )  # so that the database is dropped as well
    with psycopg.connect(SERVER, autocommit=True) as server, tempfile.TemporaryDirectory() as folder:
        server.execute(f"CREATE DATABASE {name}")
        try:
            url = urlsplit(SERVER)._replace(path=f"/{name}").geturl()
            return _on(url, folder, options)
        finally:
            from django.db import connections

            connections.close_all()
            server.execute(f"DROP DATABASE {name} WITH (FORCE)")


def _on(url: str, folder: str, options: argparse.Namespace) -> int:
    os.environ |= {
        "GYM_VAR_DIR": folder,
        "DJANGO_SETTINGS_MODULE": "gym.settings",
        "GYM_DATABASE_URL": url,
        "GYM_API_REQUESTS_PER_MINUTE": "0",
        "GYM_MAX_RUNS_PER_USER": "0",
        "GYM_MAX_SENTENCES_PER_DAY": "0",
        "GYM_MAX_ACTIVE_JOBS_PER_USER": "0",
        "GYM_QUOTA_SUITES": "0, 0",
        "GYM_LOG_LEVEL": "ERROR",
    }
    import django

    django.setup()
    from django.conf import settings
    from django.core.management import call_command
    from django.db import connection

    from benchmarks.web.world import fill

    settings.ALLOWED_HOSTS = ["testserver"]
    call_command("migrate", verbosity=0)
    begun = time.perf_counter()
    world = fill(options.suites, options.models, options.items)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    print(
        f"{world.suites:,} suites, {world.models} models, {world.outcomes:,} outcomes, "
        f"filled in {time.perf_counter() - begun:.0f} s",
        flush=True,
    )
    return measure(world, options)


def measure(world: World, options: argparse.Namespace) -> int:
    from django.test import Client

    from benchmarks.web.record import measure_address, save
    from gym.jobs.web_server import collect_less_often

    client = Client()
    client.force_login(world.owner)
    rows, most = [], options.most_queries
    collect_less_often()
    print(f"{'page':26} {'queries':>9} {'median ms':>10} {'kB':>7}")
    for name, address in world.addresses().items():
        row = measure_address(client, name, address, options.repeats)
        print(
            f"{name:26} {row['queries']:>9} {row['median_ms']:10.0f} {row['bytes'] / 1000:7.0f}",
            flush=True,
        )
        rows.append(row)
    if options.record:
        load = {"suites": world.suites, "models": world.models, "outcomes": world.outcomes}
        print(f"saved in {save('pages', load, rows)}")
    over = [row["name"] for row in rows if row["queries"] > most]
    print(f"more than {most} queries: {', '.join(over) or 'none'}")
    return int(bool(over))


if __name__ == "__main__":
    sys.exit(main())
