"""Exports that are built before they are sent (Parquet, zip) are refused above a number of rows; CSV is not."""

from __future__ import annotations

import gc
import io
import json
import tracemalloc
import zipfile
from itertools import count

import pyarrow.parquet as pq
import pytest
from django.db import connection
from django.urls import reverse

from gym.collections.services import create_collection
from gym.collections.zips import BY_SUITE
from gym.jobs.testing import run_pending
from gym.runs.models import SuiteRun
from gym.runs.tables import registry
from gym.runs.tables.registry import FRAMES, parquet_file, rows_at_least, rows_of
from gym.runs.work import services
from tests.factories import make_model, make_revision
from tests.once import once_a_module
from tests.runs.test_exports import content_of

TABLES = list(FRAMES)


def make_runs(people):
    revision = make_revision(people.alice, items=4, name="s")
    found = [
        services.queue_run(revision, make_model(people.alice, slug=f"m{k}"), actor=people.alice)
        for k in range(2)
    ]
    run_pending()
    create_collection(
        actor=people.alice, slug="paper", title="A paper", description="", reference="", revisions=[revision]
    )
    return found


built, people, runs = once_a_module(make_runs)


def rows_in(what: str, runs) -> int:
    return len(list(rows_of(FRAMES[what], SuiteRun.objects.filter(pk__in=[run.pk for run in runs]))))


@pytest.mark.parametrize("what", TABLES)
def test_rows_are_counted_from_stored_aggregates(runs, what, django_assert_max_num_queries):
    with django_assert_max_num_queries(3):
        n = rows_at_least(what, SuiteRun.objects.all())
    assert n == rows_in(what, runs) if what != "tokens" else 0 < n <= rows_in(what, runs)


def test_uploaded_outcomes_add_no_regions(runs):
    runs[0].sentence_scores.all().delete()
    SuiteRun.objects.filter(pk=runs[0].pk).update(source=SuiteRun.Source.UPLOADED, policy={})
    assert rows_at_least("regions", SuiteRun.objects.all()) == rows_in("regions", runs) > 0


@pytest.mark.parametrize("what", TABLES)
def test_parquet_beyond_the_limit_is_refused_with_a_hint_and_csv_is_not(client, runs, settings, what):
    n = rows_in(what, runs)
    settings.GYM_EXPORT_MAX_ROWS = n - 1
    page = client.get(reverse("export-table", args=[what, "parquet"]))
    assert page.status_code == 413
    text = page.content.decode()
    assert f"at most {n - 1:,} fit into one file" in text
    assert "Export it as CSV" in text
    answer = client.get(f"/api/v1/exports/{what}/parquet/")
    assert answer.status_code == 413
    assert answer.json()["code"] == "too-large"
    assert "Export it as CSV" in answer.json()["errors"][0]["hint"]
    assert client.get(reverse("export-table", args=[what, "csv"])).status_code == 200
    settings.GYM_EXPORT_MAX_ROWS = n
    assert client.get(reverse("export-table", args=[what, "parquet"])).status_code == 200


@pytest.mark.parametrize("address", ["/exports/tokens.parquet", "/api/v1/exports/tokens/parquet/"])
def test_a_refused_file_leaves_no_cursor_open(client, runs, settings, address):
    if connection.vendor != "postgresql":
        pytest.skip("only PostgreSQL keeps cursors in the server")
    settings.GYM_EXPORT_MAX_ROWS = rows_in("tokens", runs) - 1
    gc.disable()
    try:
        answer = client.get(address)
        with connection.cursor() as cursor:
            cursor.execute("SELECT name FROM pg_cursors")
            left = cursor.fetchall()
    finally:
        gc.enable()
    assert (answer.status_code, left) == (413, [])


def test_nothing_is_read_of_a_table_that_is_refused(client, runs, settings, monkeypatch):
    settings.GYM_EXPORT_MAX_ROWS = 5
    monkeypatch.setattr("gym.runs.pages.export_views.parquet_file", None)
    assert client.get(reverse("export-table", args=["regions", "parquet"])).status_code == 413


def test_zero_is_no_limit(client, runs, settings):
    settings.GYM_EXPORT_MAX_ROWS = 0
    assert client.get(reverse("export-table", args=["tokens", "parquet"])).status_code == 200


def test_a_zip_beyond_the_limit_is_refused_with_a_hint(client, people, runs, settings):
    client.force_login(people.alice)
    address = reverse("collection-download", args=["paper", "zip"])
    n = sum(rows_in(what, runs) for what in TABLES)
    ask, api = reverse("collection-zip", args=["paper"]), "/api/v1/collections/paper/files/zip/"
    settings.GYM_EXPORT_MAX_ROWS = 10  # refused before it starts
    page = client.post(ask)
    assert page.status_code == 413
    assert BY_SUITE in page.content.decode()
    answer = client.get(api)
    assert (answer.status_code, answer.json()["code"]) == (413, "too-large")
    settings.GYM_EXPORT_MAX_ROWS = n - 1  # found while writing
    client.post(ask)
    run_pending()
    assert BY_SUITE in client.get(ask).content.decode()
    answer = client.get(api)
    assert (answer.status_code, answer.json()["code"]) == (422, "failed")
    assert BY_SUITE in answer.json()["detail"]
    settings.GYM_EXPORT_MAX_ROWS = n
    client.post(ask)
    run_pending()
    archive = zipfile.ZipFile(io.BytesIO(content_of(client.get(address))))
    manifest = json.loads(archive.read("manifest.json"))
    assert {row["path"]: row["bytes"] for row in manifest["files"]} == {
        info.filename: info.file_size for info in archive.infolist() if info.filename != "manifest.json"
    }
    assert all(info.compress_type == zipfile.ZIP_DEFLATED for info in archive.infolist())


def test_parquet_is_written_some_rows_at_a_time(monkeypatch):
    monkeypatch.setattr(registry, "ROWS_AT_ONCE", 1_000)
    frame = FRAMES["regions"]
    numbers = count()

    def rows(n):
        for _ in range(n):
            k = next(numbers)
            yield (
                "run",
                "s",
                1,
                "0" * 64,
                "m",
                "computed",
                "surprisal",
                "none",
                k,
                "c",
                1,
                "r",
                f"text {k}",
                1.0,
                False,
            )

    peaks = []
    for n in (2_000, 12_000):
        tracemalloc.start()
        file = parquet_file(frame, rows(n))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        found = pq.ParquetFile(file)
        assert (found.metadata.num_rows, found.num_row_groups) == (n, n // 1_000)
    assert peaks[1] < 1.5 * peaks[0]


def test_an_empty_table_has_its_columns(client, runs):
    SuiteRun.objects.all().delete()
    response = client.get(reverse("export-table", args=["tokens", "parquet"]))
    found = pq.read_table(io.BytesIO(content_of(response)))
    assert (found.num_rows, tuple(found.column_names)) == (0, FRAMES["tokens"].header)
