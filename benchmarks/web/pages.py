"""How many queries every list and detail page asks, and how long the server takes, on a large site.

    python -m benchmarks.web.pages [--suites 1000] [--models 50] [--items 20] [--repeats 5] [--most-queries 10]

Fills a PostgreSQL database of its own (on GYM_TEST_POSTGRES_URL, by default postgresql://postgres@127.0.0.1:5432) by
bulk inserts: every model has run on every suite, which with the defaults is a million stored outcomes. Asks each page
as its author in this process, prints queries (besides the two that find out who asks) and the median time of the
server, drops the database, and exits with 1 when a page asked more queries than allowed.
"""

from __future__ import annotations

import argparse
import os
import signal
import statistics
import sys
import tempfile
import time
from urllib.parse import urlsplit

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
    given = parser.parse_args()
    import psycopg

    name = f"gym_bench_{os.getpid()}"
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))  # the database goes then too
    with psycopg.connect(SERVER, autocommit=True) as server, tempfile.TemporaryDirectory() as folder:
        server.execute(f"CREATE DATABASE {name}")
        try:
            url = urlsplit(SERVER)._replace(path=f"/{name}").geturl()
            return _on(url, folder, given)
        finally:
            from django.db import connections

            connections.close_all()
            server.execute(f"DROP DATABASE {name} WITH (FORCE)")


def _on(url: str, folder: str, given: argparse.Namespace) -> int:
    os.environ |= {
        "GYM_VAR_DIR": folder,
        "DJANGO_SETTINGS_MODULE": "gym.settings",
        "GYM_DATABASE_URL": url,
        "GYM_API_REQUESTS_PER_MINUTE": "0",
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
    world = fill(given.suites, given.models, given.items)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    print(
        f"{world.suites:,} suites, {world.models} models, {world.outcomes:,} outcomes, "
        f"filled in {time.perf_counter() - begun:.0f} s",
        flush=True,
    )
    return measure(world, given.repeats, given.most_queries)


def measure(world, repeats: int, most_queries: int) -> int:
    from django.db import connection
    from django.test import Client
    from django.test.utils import CaptureQueriesContext

    client = Client()
    client.force_login(world.owner)
    over = []
    print(f"{'page':24} {'queries':>7} {'median ms':>10} {'kB':>7}")
    for name, address in world.addresses().items():
        client.get(address)  # templates are compiled once
        times = []
        for _ in range(repeats):
            with CaptureQueriesContext(connection) as asked:
                start = time.perf_counter()
                page = client.get(address)
                body = b"".join(page) if page.streaming else page.content
                times.append(1000 * (time.perf_counter() - start))
        assert page.status_code == 200, (name, page.status_code)
        if len(asked) > most_queries:
            over.append(name)
        print(
            f"{name:24} {len(asked):7} {statistics.median(times):10.0f} {len(body) / 1000:7.0f}", flush=True
        )
    print(f"more than {most_queries} queries: {', '.join(over) or 'none'}")
    return int(bool(over))


if __name__ == "__main__":
    sys.exit(main())
