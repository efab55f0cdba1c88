"""Resources that a department needs in a year on PostgreSQL: size, frequent pages, backup and migration.

    python -m benchmarks.growth [--suites 100] [--models 100] [--year 100000]

Stores suites x models runs with everything that a separate run would store: a job, the bits of every token, results,
scores, and one row in the score cache for each sentence (as if no sentence had been scored before). One run of a demo
suite is computed; the others are copies of its rows. Prints, for a tenth of the models and for all:

* bytes per run of each table and its indexes, and bytes per year: bytes per run x runs per year, for the score cache at
  most its limit;
* the median of five requests for each page, in this process;
* `pg_dump -Fc`: seconds and bytes;
* `migrate runs` from the first migration to the newest, and a new column on the largest table.

PostgreSQL is at GYM_TEST_POSTGRES_URL, by default postgresql://postgres@127.0.0.1:5432; the benchmark's database is
dropped.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import tempfile
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

REPEATS = 5
SMALL = 1e6
"""Tables with fewer bytes than this at the end are summed in one row."""
SUITE, MODEL = "subordination", "demo-ngram"
"""A suite of typical size (96 sentences and two predictions), and a model whose bits are not round
numbers."""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--suites", type=int, default=100)
    parser.add_argument("--models", type=int, default=100)
    parser.add_argument("--year", type=int, default=100_000, help="runs per year")
    options = parser.parse_args()

    from benchmarks.chaos.site import url_of
    from tests.services.conftest import execute

    name = f"growth{uuid.uuid4().hex[:12]}"
    execute(f"CREATE DATABASE {name}")
    try:
        with tempfile.TemporaryDirectory(prefix="growth-") as folder:
            os.environ |= {
                "GYM_VAR_DIR": folder,
                "DJANGO_SETTINGS_MODULE": "gym.settings",
                "GYM_DATABASE_URL": url_of(name),
                "GYM_LOG_LEVEL": "WARNING",
                "GYM_QUOTA_SUITES": "0, 0",
            }
            Bench(options, url_of(name), Path(folder) / "backup").run()
    finally:
        execute(f"DROP DATABASE {name} WITH (FORCE)")


class Bench:
    def __init__(self, given: argparse.Namespace, url: str, backup: Path) -> None:
        import django

        django.setup()
        from django.conf import settings
        from django.core.management import call_command

        settings.ALLOWED_HOSTS = ["testserver"]
        call_command("migrate", verbosity=0)
        self.given, self.url, self.backup = given, url, backup

    def run(self) -> None:
        few = max(1, self.given.models // 10)
        fill(self.given.suites)
        more_models(few)
        small = self.measure()
        more_models(self.given.models - few)
        large = self.measure()
        run = computed_run()
        tokens = sum(len(row.tokens) for row in run.sentence_scores.all())
        print(f"A run has {run.n_sentences} sentences and {tokens:,} tokens.\n")
        self.print_sizes(large)
        print_costs(small, large)

    def measure(self) -> dict[str, Any]:
        analyse()
        return {
            "runs": n_runs(),
            "tables": table_bytes(),
            "pages": page_times(),
            "backup": timed(
                lambda: subprocess.run(["pg_dump", "-Fc", "-f", self.backup, self.url], check=True)
            ),
            "backup_bytes": self.backup.stat().st_size,
            "migrate": migrate_again(),
            "column": new_column(),
        }

    def print_sizes(self, measured: dict[str, Any]) -> None:
        runs, tables = measured["runs"], measured["tables"]
        print(
            f"| {runs:,} runs | MB | bytes a run | GB in a year of {self.given.year:,} runs |\n|---|---|---|---|"
        )
        large = {name: size for name, size in tables.items() if size >= SMALL}
        rows = {**large, "all others": sum(tables.values()) - sum(large.values())}
        years = {name: self.year(name, size / runs) for name, size in rows.items()}
        for name, size in rows.items():
            print(f"| {name} | {size / 1e6:,.1f} | {size / runs:,.0f} | {years[name] / 1e9:.1f} |")
        total = sum(rows.values())
        print(
            f"| **together** | {total / 1e6:,.1f} | {total / runs:,.0f} | {sum(years.values()) / 1e9:.1f} |"
        )

    def year(self, table: str, bytes_a_run: float) -> float:
        """Return a table's bytes per year. The score cache keeps at most GYM_SCORE_CACHE_SENTENCES."""
        from django.conf import settings

        runs = float(self.given.year)
        if table == "runs_scorecache" and settings.GYM_SCORE_CACHE_SENTENCES:
            runs = min(runs, settings.GYM_SCORE_CACHE_SENTENCES / computed_run().n_unique)
        return runs * bytes_a_run


def print_costs(small: dict[str, Any], large: dict[str, Any]) -> None:
    print(f"\n| | {small['runs']:,} runs | {large['runs']:,} runs |\n|---|---|---|")
    for page in large["pages"]:
        print(f"| {page}, ms | {1e3 * small['pages'][page]:.0f} | {1e3 * large['pages'][page]:.0f} |")
    for label, key in (
        ("backup, s", "backup"),
        ("`migrate runs`, s", "migrate"),
        ("new column, s", "column"),
    ):
        print(f"| {label} | {small[key]:.1f} | {large[key]:.1f} |")
    print(f"| backup, MB | {small['backup_bytes'] / 1e6:,.0f} | {large['backup_bytes'] / 1e6:,.0f} |")


def timed(act: Callable[[], object]) -> float:
    start = time.perf_counter()
    act()
    return time.perf_counter() - start


def fill(suites: int) -> None:
    """Create the demo, one run on one of its suites, and copies of that suite."""
    from benchmarks.web.world import copies_of_suite
    from gym.demo.loader import load_demo
    from gym.jobs.testing import run_pending
    from gym.runs.work.services import queue_run
    from models_registry.actors import inspect
    from models_registry.models import RegisteredModel
    from suites.models import SuiteRevision

    list(load_demo(queue_runs=False))
    model = RegisteredModel.objects.get(slug=MODEL)
    RegisteredModel.objects.filter(pk=model.pk).update(**inspect(model))
    model.refresh_from_db()
    revision = SuiteRevision.objects.get(suite__slug=SUITE)
    copies_of_suite(revision, suites - 1)
    queue_run(revision, model, actor=model.owner)
    run_pending()


def more_models(number: int) -> None:
    """Create further models, and for each of them a copy of the computed run on every suite."""
    from django.utils import timezone

    from gym.runs.models import PredictionResult, RunScore, SuiteRun
    from models_registry.models import RegisteredModel
    from suites.models import SuiteRevision
    from tests.factories import make_model

    done = computed_run()
    existing = RegisteredModel.objects.count()
    models = [make_model(done.owner, slug=f"model-{existing + k:03}") for k in range(number)]
    results = list(done.prediction_results.all())
    scores = list(done.scores.all())
    for revision in SuiteRevision.objects.filter(sha256=done.revision.sha256).prefetch_related("predictions"):
        predictions = {row.position: row for row in revision.predictions.all()}
        runs = SuiteRun.objects.bulk_create(
            copy_of(done, "key", revision=revision, model=model, job=None, completed_at=timezone.now())
            for model in models
        )
        PredictionResult.objects.bulk_create(
            copy_of(row, run=run, prediction=predictions[row.position]) for run in runs for row in results
        )
        RunScore.objects.bulk_create(copy_of(row, run=run) for run in runs for row in scores)
    complete_runs()


def computed_run() -> Any:
    from gym.runs.models import SuiteRun

    return SuiteRun.objects.select_related("revision", "owner", "job").earliest("pk")


def copy_of(row: Any, *reset: str, **changes: Any) -> Any:
    """Copy a row without saving it. Fields named in `reset` get their defaults."""
    fields = [field for field in row._meta.fields if field.name not in ("id", *reset, *changes)]
    return type(row)(**{field.attname: getattr(row, field.attname) for field in fields}, **changes)


def complete_runs() -> None:
    """Create jobs, bits of tokens and rows of the score cache for runs that lack them, copied from the
    computed run."""
    from gym.jobs.models import Job
    from gym.runs.models import ScoreCache, SentenceScore, SuiteRun

    done = computed_run()
    bare = list(SuiteRun.objects.filter(job=None))
    for run in bare:
        run.job = copy_of(done.job)
    Job.objects.bulk_create([run.job for run in bare], batch_size=2000)
    SuiteRun.objects.bulk_update(bare, ["job"], batch_size=2000)
    copied = [
        field.column for field in SentenceScore._meta.fields if field.name not in ("id", "run", "sentence")
    ]
    cached = [field.column for field in ScoreCache._meta.fields if field.name not in ("id", "text_sha256")]
    execute_here(
        f"""
        INSERT INTO runs_sentencescore (run_id, sentence_id, {", ".join(copied)})
        SELECT run.id, sentence.id, {", ".join(f"score.{name}" for name in copied)}
        FROM runs_suiterun AS run
        JOIN suites_sentence AS sentence ON sentence.revision_id = run.revision_id
        JOIN suites_sentence AS computed ON computed.revision_id = {done.revision_id}
            AND computed.position = sentence.position
        JOIN runs_sentencescore AS score ON score.sentence_id = computed.id AND score.run_id = {done.pk}
        WHERE run.id = ANY(%s)
        """,
        [[run.pk for run in bare]],
    )
    execute_here(
        f"""
        INSERT INTO runs_scorecache (text_sha256, {", ".join(cached)})
        SELECT encode(sha256((run.id || ' ' || cache.text_sha256)::bytea), 'hex'),
            {", ".join(f"cache.{name}" for name in cached)}
        FROM (SELECT unnest(%s) AS id) AS run
        CROSS JOIN (SELECT * FROM runs_scorecache ORDER BY id LIMIT {done.n_unique}) AS cache
        """,
        [[run.pk for run in bare]],
    )


def execute_here(statement: str, values: Any = None) -> list[tuple[Any, ...]]:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return cursor.fetchall() if cursor.description else []


def analyse() -> None:
    execute_here("VACUUM ANALYZE")


def n_runs() -> int:
    return int(execute_here("SELECT count(*) FROM runs_suiterun")[0][0])


def table_bytes() -> dict[str, int]:
    """Return bytes by table, including indexes and long values, the largest first."""
    rows = execute_here(
        "SELECT relname, pg_total_relation_size(oid) FROM pg_class WHERE relkind = 'r' "
        "AND relnamespace = 'public'::regnamespace ORDER BY 2 DESC"
    )
    return {str(name): int(size) for name, size in rows}


def page_times() -> dict[str, float]:
    """Return the median seconds of REPEATS requests by page, after one request to warm up."""
    from django.test import Client
    from django.urls import reverse

    from gym.runs.models import SuiteRun

    run = SuiteRun.objects.select_related("revision__suite").order_by("pk")[n_runs() // 2]
    pages = {
        "home": reverse("home"),
        "list of suites": reverse("suite-list"),
        "suite": reverse("suite-detail", args=[run.revision.suite.slug]),
        "run": reverse("run-detail", args=[run.key]),
        "leaderboard": reverse("leaderboard"),
    }
    client = Client()

    def seconds(address: str) -> float:
        assert client.get(address).status_code == 200, address
        return statistics.median(timed(lambda: client.get(address)) for _ in range(REPEATS))

    return {page: seconds(address) for page, address in pages.items()}


def migrate_again() -> float:
    from django.core.management import call_command

    call_command("migrate", "runs", "0001", verbosity=0)
    return timed(lambda: call_command("migrate", "runs", verbosity=0))


def new_column() -> float:
    """Time adding a column as a migration does, with a default for existing rows, in seconds."""
    took = timed(
        lambda: execute_here("ALTER TABLE runs_sentencescore ADD COLUMN tried integer DEFAULT 0 NOT NULL")
    )
    execute_here("ALTER TABLE runs_sentencescore DROP COLUMN tried")
    return took


if __name__ == "__main__":
    main()
