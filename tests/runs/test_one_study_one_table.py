"""One study gives one table of pass rates: from the library, the command, the site's API, files and pages."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import pytest
from django.db import transaction
from django.test import Client, override_settings
from django.urls import reverse

import lmgym
from gym.collections.services import create_collection, publish_collection
from gym.demo.catalogue import MODELS_DIR, SUITES_DIR
from gym.jobs.testing import run_pending
from gym.runs.models import SuiteRun
from gym.runs.work.services import queue_run
from lmgym.cli import main
from lmgym.runs.tables import PredictionRate
from lmgym.text.columns import columns
from lmgym.text.number_format import whole_percent
from suites import services
from suites.options import SuiteOptions
from tests.factories import checked, make_model
from tests.lmgym.conftest import CONFORMANCE
from tests.people import make_people

pytestmark = pytest.mark.django_db
PUBLISHED = CONFORMANCE / "suites"
DEMO = SUITES_DIR / "[cfs]*.json"
"""Four of the demo's suites, two of them with two predictions."""
MODELS = {
    "demo-gpt2": (
        "causal",
        {"source": "directory", "path": "demo-gpt2", "device": "cpu", "kernels": "stock"},
    ),
    "demo-ngram": ("ngram", {"path": "demo-ngram"}),
}
KEY = ["suite", "model", "prediction_number"]
RATES = [name for name, _ in columns(PredictionRate) if name not in KEY]
STOCK_KERNELS = "lmgym.models.engine.packing.available"
"""Function to replace: kernels are chosen by timing at every load, which affects the last digits."""


class Study(NamedTuple):
    """A study: its suites, and the library's pass rates (`rates`). On the site, the suites are in the
    collection `study`."""

    pattern: str
    rates: pd.DataFrame


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(
            PUBLISHED / "*.json",
            id="published",
            marks=[
                pytest.mark.published,
                pytest.mark.long,
                pytest.mark.skipif(
                    not PUBLISHED.is_dir(), reason=f"no suites at {PUBLISHED} (set GYM_CONFORMANCE_DIR)"
                ),
            ],
        ),
        pytest.param(DEMO, id="demo"),
    ],
)
def study(request, module_db) -> Iterator[Study]:
    files = sorted(request.param.parent.glob(request.param.name))
    with (
        pytest.MonkeyPatch.context() as patch,
        override_settings(GYM_MODEL_DIR=MODELS_DIR),
        transaction.atomic(),
    ):
        patch.setattr(STOCK_KERNELS, lambda: False)
        run_on_the_site(files)
        rates = lmgym.evaluate(files, [MODELS_DIR / name for name in MODELS], device="cpu").rates()
        yield Study(str(request.param), rates)
        transaction.set_rollback(True)


def run_on_the_site(files: list[Path]) -> None:
    alice = make_people().alice
    models = [
        checked(make_model(alice, slug=slug, backend=backend, config=config))
        for slug, (backend, config) in MODELS.items()
    ]
    revisions = []
    for path in files:
        suite = services.import_suite(lmgym.load_suite(path), SuiteOptions(visibility="public"), actor=alice)
        revisions.append(services.freeze(suite, actor=alice))
    for model in models:
        for revision in revisions:
            queue_run(revision, model, actor=alice)
    assert {job.state for job in run_pending()} == {"done"}
    collection = create_collection(
        actor=alice, slug="study", title="Study", description="", reference="", revisions=revisions
    )
    publish_collection(collection, actor=alice)


def in_order(frame: pd.DataFrame, columns: list[str]) -> pd.DataFrame:
    return frame.sort_values(KEY)[[*KEY, *columns]].reset_index(drop=True)


def read_csv(text: str) -> pd.DataFrame:
    """Read a CSV with numbers parsed by `float`, which uses every digit."""
    frame = pd.read_csv(io.StringIO(text), dtype=str, keep_default_na=False)
    frame = frame.map(lambda cell: float(cell) if re.fullmatch(r"-?[\d.]+(e-?\d+)?", cell) else cell or None)
    return frame.replace({"True": True, "False": False})


def assert_same(found: pd.DataFrame, expected: pd.DataFrame, columns: list[str]) -> None:
    """Require the same rows and columns, bit for bit."""
    pd.testing.assert_frame_equal(
        in_order(found, columns), in_order(expected, columns), check_dtype=False, check_exact=True
    )


def test_the_command_prints_the_table_of_the_library(study, capsys):
    argv = ["evaluate", study.pattern, "--device", "cpu", "--format", "csv"]
    for name in MODELS:
        argv += ["-m", str(MODELS_DIR / name)]
    status = main(argv)
    out, err = capsys.readouterr()
    assert status == 0, err
    found = read_csv(out)
    assert list(found) == list(study.rates)
    assert_same(found, study.rates, [name for name in found if name not in KEY])


def test_the_api_has_the_table_of_the_library(client, study):
    runs = client.get("/api/v1/runs/", {"limit": 100}).json()
    assert runs["next"] is None
    found = [
        {"suite": run["suite"], "model": run["model"], **row}
        for run in runs["results"]
        for row in run["predictions"]
    ]
    assert_same(pd.DataFrame(found), study.rates, RATES)


def test_the_sites_file_of_all_predictions_is_the_table_of_the_library(client, study):
    found = read_csv(text_of(client, reverse("export-table", args=["predictions", "csv"])))
    assert_same(found, study.rates, RATES)


def test_the_file_of_the_collections_page_has_its_rates(client, study):
    address = reverse("collection-download", args=["study", "long.csv"])
    found = read_csv(text_of(client, address, rule="first")).assign(prediction_number=1)
    first = study.rates[study.rates["prediction_number"] == 1]
    assert_same(found, first, ["passed", "ties", "rate"])
    # Intervals of a score are made from its rate and effective number of items, not from counts.
    bounds = ["low", "high"]
    pd.testing.assert_frame_equal(
        in_order(found, bounds), in_order(first, bounds), check_dtype=False, rtol=1e-12
    )


def test_the_collections_page_shows_its_rates_in_percent(client, study):
    page = text_of(client, reverse("collection-detail", args=["study"]), rule="first")
    cells = re.findall(r'href="/runs/(\w+)/"><b>(\d+)</b><small>(\S+) to (\S+)</small></a>', unescape(page))
    run_of = {run.key: run for run in SuiteRun.objects.select_related("revision__suite", "model")}
    shown = {
        (run_of[key].revision.suite.slug, run_of[key].model.slug): tuple(percents) for key, *percents in cells
    }
    first = study.rates[study.rates["prediction_number"] == 1]
    assert shown == {
        (row.suite, row.model): tuple(map(whole_percent, (row.rate, row.low, row.high)))
        for row in first.itertuples()
    }


def text_of(client: Client, address: str, **query: str) -> str:
    response = client.get(address, query)
    assert response.status_code == 200, response.content
    return b"".join(response).decode()
