"""How long the leaderboard of 50 models x 100 suites takes on the server, and how many queries it asks.

    python -m benchmarks.web.leaderboard [--models 50] [--suites 100] [--repeats 15]

Makes a site of its own in a temporary folder with stored aggregates (and no outcomes: the page must not need any),
asks for the page in this process, and prints the median, the slowest and the number of queries. Exits with 1 above
300 ms or 10 queries.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--models", type=int, default=50)
    parser.add_argument("--suites", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=15)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {
            "GYM_VAR_DIR": folder,
            "DJANGO_SETTINGS_MODULE": "gym.settings",
            "GYM_DATABASE_URL": "",
        }
        import django

        django.setup()
        from django.conf import settings

        settings.ALLOWED_HOSTS = ["testserver"]
        fill(given.models, given.suites)
        return measure(given.repeats)


def fill(n_models: int, n_suites: int) -> None:
    from django.core.management import call_command
    from django.utils import timezone

    from gym.accounts.models import User
    from gym.evaluations.models import SuiteRun
    from gym.results.models import RunScore
    from gym.results.rules import RULES
    from suites.services import set_tags
    from tests.factories import make_model, make_revision

    call_command("migrate", verbosity=0)
    owner = User.objects.create_user("owner")
    models = [make_model(owner, slug=f"model-{k:03}") for k in range(n_models)]
    for s in range(n_suites):
        revision = make_revision(owner, name=f"suite_with_a_name_{s:03}", items=3)
        set_tags(revision.suite, [f"circuit-{s % 6}"])
        runs = SuiteRun.objects.bulk_create(
            [
                SuiteRun(revision=revision, model=model, owner=owner, policy={}, completed_at=timezone.now())
                for model in models
            ]
        )
        RunScore.objects.bulk_create(
            [
                RunScore(
                    run=run, rule=rule, n=24, judged=24, passed=(7 * k + s) % 25, ties=0, too_close=0,
                    not_evaluable=0, rate=(7 * k + s) % 25 / 24, low=0.1, high=0.9, chance=0.5, chance_p=0.1,
                )
                for k, run in enumerate(runs)
                for rule in RULES
            ]
        )  # fmt: skip


def measure(repeats: int) -> int:
    from django.db import connection
    from django.test import Client
    from django.test.utils import CaptureQueriesContext

    client = Client()
    with CaptureQueriesContext(connection) as asked:
        page = client.get("/leaderboard/")
    assert page.status_code == 200
    queries = len(asked)
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        page = client.get("/leaderboard/")
        times.append(1000 * (time.perf_counter() - start))
    median = statistics.median(times)
    print(
        f"median {median:.0f} ms, slowest {max(times):.0f} ms of {repeats}; {queries} queries; "
        f"{len(page.content) / 1e6:.2f} MB of HTML"
    )
    return int(median > 300 or queries > 10)


if __name__ == "__main__":
    sys.exit(main())
