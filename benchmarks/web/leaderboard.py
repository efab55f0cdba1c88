"""Server time and number of queries of the leaderboard of 50 models x 100 suites, as a page and from the API.

    python -m benchmarks.web.leaderboard [--models 50] [--suites 100] [--repeats 15] [--record]

Creates a site in a temporary folder with stored aggregates (without outcomes, which the page must not need), requests
the page, the API and the long CSV in this process, and prints the median, the slowest time and the number of queries of
each. Then it deletes every tenth run, changes the policy of every twentieth, and requests the page as a signed-in user
who could run what is missing, and with grouped seeds. Exits with 1 above 300 ms or 10 queries. `--record` saves the
results in benchmarks/web/results/leaderboard.json.
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
    options = parser.parse_args()
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
        fill(options.models, options.suites)
        return measure(options)


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
    """Delete some runs, and give others a different policy."""
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
"""Addresses that are requested again by a signed-in user, after `thin_out` has removed cells."""


def measure(options: argparse.Namespace) -> int:
    from django.contrib.auth import get_user_model
    from django.test import Client

    from benchmarks.web.record import measure_address, save

    client, rows = Client(), []

    def ask(address: str, name: str) -> None:
        row = measure_address(client, name, address, options.repeats)
        print(
            f"{name:60} median {row['median_ms']:4.0f} ms, slowest {row['slowest_ms']:4.0f} ms of {options.repeats}; "
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
    if options.record:
        print(f"saved in {save('leaderboard', {'models': options.models, 'suites': options.suites}, rows)}")
    return int(any(row["median_ms"] > 300 or row["queries"] > 10 for row in rows))


if __name__ == "__main__":
    sys.exit(main())
