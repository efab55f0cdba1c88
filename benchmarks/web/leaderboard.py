"""How long the leaderboard of 50 models x 100 suites takes on the server, as a page and from the API, and how many
queries it asks.

    python -m benchmarks.web.leaderboard [--models 50] [--suites 100] [--repeats 15] [--record]

Makes a site of its own in a temporary folder with stored aggregates (and no outcomes: the page must not need any),
asks for page, API and long CSV in this process, and prints the median, the slowest and the number of queries of each.
Then it takes every tenth run away, lets every twentieth be of another policy, and asks for the page as somebody who is
signed in and could run what is missing, and with seeds joined.
Exits with 1 above 300 ms or 10 queries. `--record` keeps what it found in benchmarks/web/results/leaderboard.json.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--models", type=int, default=50)
    parser.add_argument("--suites", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--record", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {
            "GYM_VAR_DIR": folder,
            "DJANGO_SETTINGS_MODULE": "gym.settings",
            "GYM_DATABASE_URL": "",
            "GYM_API_REQUESTS_PER_MINUTE": "0",
        }
        import django

        django.setup()
        from django.conf import settings

        settings.ALLOWED_HOSTS = ["testserver"]
        fill(given.models, given.suites)
        return measure(given)


def fill(n_models: int, n_suites: int) -> None:
    from django.core.management import call_command
    from django.utils import timezone

    from gym.accounts.models import User
    from gym.runs.models import RunScore, SuiteRun
    from lmgym.runs.rules import RULES
    from suites.services import set_tags
    from tests.factories import make_model, make_revision

    call_command("migrate", verbosity=0)
    owner = User.objects.create_user("owner")
    models = [make_model(owner, slug=f"model-{k:03}", tags=[f"group:{k // 5}"]) for k in range(n_models)]
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
                    not_evaluable=0, rate=(7 * k + s) % 25 / 24, low=0.1, high=0.9, chance=0.5,
                    p=0.1,
                )
                for k, run in enumerate(runs)
                for rule in RULES
            ]
        )  # fmt: skip


def thin_out() -> None:
    """Missing cells, and cells of another policy."""
    from django.db.models import F

    from gym.runs.models import RunScore, SuiteRun

    runs = SuiteRun.objects.annotate(place=F("pk") % 20)
    others = list(runs.filter(place=5).values_list("pk", flat=True))
    gone = list(runs.filter(place__in=[0, 10]).values_list("pk", flat=True))
    SuiteRun.objects.filter(pk__in=others).update(
        standing=SuiteRun.Standing.OTHER, policy={"bos": "never", "metric": "sum"}
    )
    RunScore.objects.filter(run__in=gone).delete()
    SuiteRun.objects.filter(pk__in=gone).delete()


ADDRESSES = ("/leaderboard/", "/api/v1/leaderboard/", "/api/v1/leaderboard/?format=csv")
SIGNED_IN = ("/leaderboard/", "/leaderboard/?group=1", "/leaderboard/?source=computed")
"""Asked for again with missing cells."""


def measure(given: argparse.Namespace) -> int:
    from django.contrib.auth import get_user_model
    from django.test import Client

    from benchmarks.web.record import asked, save

    client, rows = Client(), []

    def ask(address: str, name: str) -> None:
        row = asked(client, name, address, given.repeats)
        print(
            f"{name:60} median {row['median_ms']:4.0f} ms, slowest {row['slowest_ms']:4.0f} ms of {given.repeats}; "
            f"{row['queries']} queries; {row['bytes'] / 1e6:.2f} MB",
            flush=True,
        )
        rows.append(row)

    for address in ADDRESSES:
        ask(address, address)
    thin_out()
    client.force_login(get_user_model().objects.get(username="owner"))
    for address in SIGNED_IN:
        ask(address, f"{address}, signed in, a tenth missing")
    if given.record:
        print(f"kept in {save('leaderboard', {'models': given.models, 'suites': given.suites}, rows)}")
    return int(any(row["median_ms"] > 300 or row["queries"] > 10 for row in rows))


if __name__ == "__main__":
    sys.exit(main())
