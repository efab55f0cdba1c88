"""Every chart of the site as a file for a paper, and as numbers."""

from __future__ import annotations

import csv
import io
import json
import xml.etree.ElementTree as ET

import pytest
from django.urls import reverse

from gym.evaluations import services
from gym.jobs.testing import run_pending
from gym.results.figure_views import KINDS
from suites.services import set_tags
from tests.factories import make_model, make_revision
from tests.results.worlds import finished_run

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def world(people):
    """Two checkpoints of one model with sizes and perplexities, on a suite, its modified twin and a third."""
    models = [
        make_model(people.alice, slug=f"m{k}", parameters=10**k * 5000, perplexity=90.0 - 10 * k,
                   tags=["group:ours", f"step:{k}000"])
        for k in (1, 2)
    ]  # fmt: skip
    for name, tag in (("embed", "a"), ("embed_mod", "a"), ("npi", "b"), ("npi_two", "b")):
        revision = make_revision(people.alice, name=name, items=4)
        set_tags(revision.suite, [tag])
        finished_run(revision, models[0], [1, 0, 0, 1])
        finished_run(revision, models[1], [1, 1, 0, 1])
    revision = make_revision(people.alice, name="scored")
    run = services.queue_run(revision, models[0], actor=people.alice)
    run_pending()
    return {"run": run.key, "suite": "scored", "r": "1", "of": "m1", "prediction": "0"}


def address(kind, form, world):
    query = "&".join(
        f"{name}={value}" for name, value in world.items() if name != "suite" or kind == "suite-models"
    )
    return f"{reverse('figure', args=[kind, form])}?{query}"


@pytest.mark.parametrize("kind", KINDS)
def test_every_chart_is_had_as_drawing_and_as_numbers(client, world, kind):
    svg = client.get(address(kind, "svg", world))
    assert svg.status_code == 200
    root = ET.fromstring(svg.content)
    assert root.find(f"{SVG}rect").get("fill") == "#ffffff"
    assert b"class=" not in svg.content
    assert b"var(" not in svg.content
    rows = list(csv.DictReader(io.StringIO(client.get(address(kind, "csv", world)).content.decode())))
    data = json.loads(client.get(address(kind, "json", world)).content)
    assert rows
    assert len(rows) == len(data["rows"])
    assert list(rows[0]) == data["columns"]


@pytest.mark.parametrize("kind", ["run-regions", "run-margins", "leaderboard-heat", "model-steps"])
def test_charts_are_had_as_png_at_300_dpi_and_as_pdf_with_fonts_inside(client, world, kind):
    svg = ET.fromstring(client.get(address(kind, "svg", world)).content)
    png = client.get(address(kind, "png", world))
    assert png["Content-Type"] == "image/png"
    assert png.content.startswith(b"\x89PNG")
    width = int.from_bytes(png.content[16:20], "big")
    assert width == pytest.approx(float(svg.get("width")) * 300 / 96, abs=2)
    pdf = client.get(address(kind, "pdf", world))
    assert pdf["Content-Type"] == "application/pdf"
    assert pdf.content.startswith(b"%PDF")
    assert b"/FontFile" in pdf.content
    assert "attachment" in pdf["Content-Disposition"]


def test_single_items_are_drawn_on_demand(client, world):
    plain = client.get(address("run-regions", "svg", world)).content
    threads = client.get(address("run-regions", "svg", world) + "&items=1").content
    assert b"thin lines: single items" not in plain
    assert b"thin lines: single items" in threads


def test_the_region_chart_has_the_means_of_the_run(client, world):
    rows = list(
        csv.DictReader(io.StringIO(client.get(address("run-regions", "csv", world)).content.decode()))
    )
    assert {row["condition"] for row in rows} == {"match", "mismatch"}
    assert rows[1]["mean_bits"] == "10.0"
    assert rows[0]["n_items"] == "3"


@pytest.mark.parametrize(
    "query", ["run=none", "", "suite=scored&r=x", "of=nobody", "suite=%00&r=1", "r=99999999999999"]
)
@pytest.mark.parametrize("kind", ["run-regions", "suite-models", "model-tags", "nothing-like-it"])
def test_a_chart_of_nothing_is_not_there(client, world, kind, query):
    assert client.get(f"/figures/{kind}.svg?{query}").status_code == 404


def test_other_forms_are_not_there(client, world):
    assert client.get(address("leaderboard-heat", "exe", world)).status_code == 404


def test_a_stranger_gets_no_chart_of_a_private_suite(client, people):
    revision = make_revision(people.alice, name="secret", visibility="private")
    run = finished_run(revision, make_model(people.alice), [1, 1, 1])
    client.force_login(people.charlie)
    for query in (f"run-margins.svg?run={run.key}&prediction=0", "suite-models.csv?suite=secret&r=1"):
        assert client.get(f"/figures/{query}").status_code == 404
    assert b"secret" not in client.get("/figures/leaderboard-heat.svg").content


def test_the_models_page_shows_tags_robustness_size_and_checkpoints(client, world):
    page = client.get(reverse("model-detail", args=["m2"])).content.decode()
    for words in ("M2 by tag", "Without and with modifier", "SG score by parameters", "SG score by perplexity",
                  "M2: checkpoints", "Strengths and weaknesses", "embed_mod"):  # fmt: skip
        assert words in page, words


def test_the_suites_page_shows_models_beside_each_other_and_bits_by_region(client, world):
    page = client.get(reverse("suite-detail", args=["scored"])).content.decode()
    assert "Surprisal by region, as read by M1" in page
    assert "Models beside each other" in client.get(reverse("suite-detail", args=["npi"])).content.decode()
