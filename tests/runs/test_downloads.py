"""Downloads of a run."""

from __future__ import annotations

import csv
import io
import json

import pytest
from django.urls import reverse

from gym.jobs.testing import run_pending
from gym.runs.tables.registry import FRAMES
from gym.runs.work import services
from lmgym.runs.uploaded import fit_part, read_results
from suites.options import SuiteOptions
from suites.selectors import document_of
from tests.factories import make_model, make_revision
from tests.once import once_a_module
from tests.runs.test_exports import content_of


def make_run(people):
    run = services.queue_run(make_revision(people.alice), make_model(people.alice), actor=people.alice)
    run_pending()
    return run


built, people, run = once_a_module(make_run)


def get(client, run, form):
    response = client.get(reverse("run-download", args=[run.key, form]))
    assert response.status_code == 200
    assert response["Content-Disposition"].startswith("attachment")
    return content_of(response).decode()


def test_json_holds_predictions_and_every_region(client, run):
    data = json.loads(get(client, run, "json"))
    [prediction] = data["predictions"]
    assert prediction["formula"] == "(2;%mismatch%) > (2;%match%)"
    assert (prediction["passed"], prediction["n"], prediction["outcomes"]) == (0, 3, [False] * 3)
    assert [detail["outcome"] for detail in prediction["details"]] == ["tie"] * 3
    regions = data["items"][0]["conditions"][0]["regions"]
    assert [region["surprisal"] for region in regions][:2] == [20.0, 10.0]
    assert data["provenance"]["suite_sha256"] == run.revision.sha256


def test_region_csv_has_a_row_for_every_cell(client, run):
    rows = list(csv.DictReader(io.StringIO(get(client, run, "regions.csv"))))
    assert len(rows) == 3 * 2 * 3
    assert rows[0]["region"] == "Subject"
    assert float(rows[0]["surprisal"]) == 20.0


def test_token_csv_sums_to_the_regions(client, run):
    tokens = csv.DictReader(io.StringIO(get(client, run, "tokens.csv")))
    assert (
        sum(float(row["surprisal"]) for row in tokens if row["region_number"] == "1")
        == 20.0 * 2 * 2 + 30.0 * 2
    )


def test_outcome_csv_says_what_held(client, run):
    rows = list(csv.DictReader(io.StringIO(get(client, run, "outcomes.csv"))))
    assert [(row["item"], row["outcome"], row["passed"]) for row in rows] == [
        (str(item), "tie", "False") for item in (1, 2, 3)
    ]


@pytest.mark.parametrize("what", list(FRAMES))
def test_a_table_of_the_runs_page_is_the_one_of_the_exports(client, run, what):
    page = client.get(run.get_absolute_url()).content.decode()
    assert reverse("run-download", args=[run.key, f"{what}.csv"]) in page
    address = reverse("export-table", args=[what, "csv"])
    other = client.get(f"{address}?run={run.key}")
    ours = client.get(reverse("run-download", args=[run.key, f"{what}.csv"]))
    assert content_of(ours) == content_of(other)
    assert ours["Content-Disposition"] == other["Content-Disposition"]
    header = get(client, run, f"{what}.csv").splitlines()[0].split(",")
    assert header[:4] == ["run", "suite", "revision", "suite_sha256"]


@pytest.mark.parametrize("what", ["items", "regions", "tokens"])
def test_the_api_has_the_same_tables(client, run, what):
    answer = client.get(f"/api/v1/runs/{run.key}/results/{what}/?format=csv")
    table = {"items": "outcomes"}.get(what, what)
    assert answer.content.decode() == get(client, run, f"{table}.csv")


@pytest.mark.parametrize("what", ["outcomes", "regions", "tokens"])
def test_what_was_downloaded_can_be_uploaded_again(client, run, what):
    uploaded = read_results(get(client, run, f"{what}.csv").encode())
    assert uploaded.kind == what
    result = fit_part(uploaded.parts[0], document_of(run.revision)).result
    stored = run.prediction_results.get()
    assert [code == 1 for code in result.predictions[0].outcomes] == [code == 1 for code in stored.outcomes]
    if what != "outcomes":
        regions = [row.regions for row in run.sentence_scores.order_by("sentence__position")]
        assert [row.regions for row in result.sentences] == regions
        assert result.predictions[0].margins == stored.margins


def test_cells_that_a_spreadsheet_would_run_are_disarmed(client, people):
    from tests.lmgym.suites.documents import suite_json

    document = suite_json(name="hostile")
    document["region_meta"]["1"] = "=HYPERLINK(1)"
    from lmgym.suites.formats import read_suite
    from suites import services as suites

    suite = suites.import_suite(
        read_suite(json.dumps(document).encode()), SuiteOptions(visibility="public"), actor=people.alice
    )
    run = services.queue_run(
        suites.freeze(suite, actor=people.alice), make_model(people.alice, slug="m"), actor=people.alice
    )
    run_pending()
    text = get(client, run, "regions.csv")
    assert "'=HYPERLINK" in text
    assert not [line for line in text.splitlines() if ",=" in line]


def test_an_unknown_form_is_a_404(client, run):
    assert client.get(reverse("run-download", args=[run.key, "xls"])).status_code == 404
