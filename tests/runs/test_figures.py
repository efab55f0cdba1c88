"""Every chart of the site as a file for a paper, and as data."""

from __future__ import annotations

import csv
import io
import json
import re
import xml.etree.ElementTree as ET

import pytest
from django.urls import reverse

from gym.agents.models import AgentSuite
from gym.lmchallenge.models import Corpus
from gym.pages.figure_views import KINDS
from gym.propara.models import AnswerSet, Submission
from lmgym.runs.rules import ALL
from tests.factories import make_model, make_revision
from tests.once import once_a_module
from tests.runs.boards import finished_run
from tests.runs.drawings import address, make_world

built, people, world = once_a_module(make_world)

SVG = "{http://www.w3.org/2000/svg}"
NO_RULE = ("people-", "run-", "lmc-", "propara-", "agent-")
"""Charts without a pass rate over several predictions."""


def test_every_chart_comes_as_a_drawing_without_a_title_and_as_numbers(client, world):
    for kind in KINDS:
        svg = client.get(address(kind, "svg", world))
        assert svg.status_code == 200, kind
        root = ET.fromstring(svg.content)
        assert root.find(f"{SVG}rect").get("fill") == "#ffffff", kind
        assert b"class=" not in svg.content, kind
        assert b"var(" not in svg.content, kind
        written = ["".join(text.itertext()) for text in root.iter(f"{SVG}text")]
        assert root.findtext(f"{SVG}title") not in written, kind
        rows = list(csv.DictReader(io.StringIO(client.get(address(kind, "csv", world)).content.decode())))
        data = json.loads(client.get(address(kind, "json", world)).content)
        assert rows, kind
        assert len(rows) == len(data["rows"]), kind
        assert list(rows[0]) == data["columns"], kind


def test_every_chart_of_pass_rates_says_its_rule_in_every_form(client, world):
    for kind in KINDS:
        if kind.startswith(NO_RULE):
            continue
        of_rule = world | {kind: {**world[kind], "rule": ALL.key}}
        rows = list(csv.DictReader(io.StringIO(client.get(address(kind, "csv", of_rule)).content.decode())))
        assert {row["rule"] for row in rows} == {ALL.key}, kind
        data = json.loads(client.get(address(kind, "json", of_rule)).content)
        assert data["rule"]["key"] == data["query"]["rule"] == ALL.key, kind
        drawing = client.get(address(kind, "svg", of_rule)).content.decode()
        assert f"Scoring rule: {ALL.label}" in drawing, kind


def test_charts_of_something_else_have_no_rule(client, world):
    for kind in KINDS:
        if kind.startswith(NO_RULE):
            assert json.loads(client.get(address(kind, "json", world)).content)["rule"] is None, kind


def test_the_table_of_a_charts_numbers_names_the_rule_and_takes_it_along_when_copied(client, world):
    suite = reverse("suite-detail", args=["npi"])
    for page in (reverse("leaderboard"), reverse("model-detail", args=["m1"]), suite):
        text = client.get(f"{page}?rule=all").content.decode()
        captions = re.findall(r"<caption>(.*?)</caption>", text)
        assert captions or page == suite, page  # whose chart shares the numbers of the table of results
        assert all(caption.endswith("Scoring rule: all predictions.") for caption in captions), page
        assert 'data-copy-note="Scoring rule: all predictions' in text, page


def test_charts_are_had_as_png_at_300_dpi_and_as_pdf(client, world):
    for kind in ("run-regions", "run-margins", "leaderboard-heat", "model-steps"):
        svg = ET.fromstring(client.get(address(kind, "svg", world)).content)
        png = client.get(address(kind, "png", world))
        assert png["Content-Type"] == "image/png"
        assert png.content.startswith(b"\x89PNG")
        width = int.from_bytes(png.content[16:20], "big")
        assert width == pytest.approx(float(svg.get("width")) * 300 / 96, abs=2)
        pdf = client.get(address(kind, "pdf", world))
        assert pdf["Content-Type"] == "application/pdf"
        assert pdf.content.startswith(b"%PDF")
        assert "attachment" in pdf["Content-Disposition"]


def test_a_chart_is_as_wide_as_a_column_or_a_page_of_a_journal(client, world):
    for size, mm in (("single", 85), ("double", 180)):
        png = client.get(address("run-regions", "png", world) + f"&size={size}")
        assert int.from_bytes(png.content[16:20], "big") == pytest.approx(mm / 25.4 * 300, abs=2)
        svg = client.get(address("run-regions", "svg", world) + f"&size={size}").content.decode()
        assert f'width="{mm}.00mm"' in svg
        [box] = re.findall(
            rb"/MediaBox ?\[0 0 ([\d.]+) ",
            client.get(address("run-regions", "pdf", world) + f"&size={size}").content,
        )
        assert float(box) == pytest.approx(mm / 25.4 * 72, abs=0.1)
    assert client.get(address("run-regions", "pdf", world) + "&size=poster").status_code == 404


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
    assert rows[1]["mean_surprisal"] == "10.0"
    assert rows[0]["n"] == "3"


def test_a_chart_of_nothing_is_not_there(client, world):
    for query in ("run=none", "", "suite=scored&r=x", "of=nobody", "suite=%00&r=1", "r=99999999999999"):
        for kind in ("run-regions", "suite-models", "model-tags", "nothing-like-it"):
            assert client.get(f"/figures/{kind}.svg?{query}").status_code == 404, (kind, query)


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


@pytest.mark.parametrize(
    ("steps", "is_log"),
    [
        ((1000, 2000, 3000), False),
        ((10_000, 143_000), False),
        ((1, 10, 100, 143_000), True),
        ((0, 8, 90_000), True),
    ],
)
def test_learning_curves_have_a_logarithmic_axis_where_early_checkpoints_crowd(client, people, steps, is_log):
    revision = make_revision(people.alice, name="curve")
    for step in steps:
        model = make_model(people.alice, slug=f"s{step}", tags=["group:curve", f"step:{step}"])
        finished_run(revision, model, [1, 0, 1])
    chart = client.get(f"/figures/model-steps.svg?of=s{steps[0]}").content.decode()
    assert (">100k<" in chart and ">10k<" in chart) == is_log
    assert ("a logarithmic axis cannot show it" in chart) == (is_log and 0 in steps)
    assert (
        f"SG score,{steps[0]:.1f}," in client.get(f"/figures/model-steps.csv?of=s{steps[0]}").content.decode()
    )


def test_the_suites_page_shows_models_beside_each_other_and_bits_by_region(client, world):
    page = client.get(reverse("suite-detail", args=["scored"])).content.decode()
    assert "Surprisal by region: M1" in page
    assert "Models compared" in client.get(reverse("suite-detail", args=["npi"])).content.decode()


WRONG = (
    "lmc-search.svg?game=%00", "lmc-search.svg?game=GAME&filter=none", "lmc-learning.svg?game=none",
    "propara-board.svg?set=light&v=x",
    "propara-board.svg?set=light&v=9", "propara-actions.svg?submission=none", "agent-suite-trend.svg?suite=%00",
    "agent-trend.svg?suite=manners&case=x", "agent-trend.svg?suite=manners&case=999999",
    "compare-suites.svg?model=m1", "compare-suites.svg?model=m1,none", "compare-items.svg?model=m1,m2",
    "compare-items.svg?model=m1,m2&suite=none", "compare-items.svg?model=m1,m2&suite=scored",
)  # fmt: skip


def test_a_wrong_address_of_a_chart_is_not_there(client, world):
    game = world["lmc-search"]["game"]
    for query in WRONG:
        assert client.get(f"/figures/{query.replace('GAME', game)}").status_code == 404, query


def test_charts_of_the_neighbours_are_under_the_rights_of_their_pages(client, world, people):
    kinds = [kind for kind in KINDS if kind.startswith(("lmc", "propara", "agent"))]
    assert all(client.get(address(kind, "csv", world)).status_code == 200 for kind in kinds)
    for model in (Corpus, AnswerSet, AgentSuite):
        model.objects.update(visibility="private")
    for person in (None, people.charlie, people.alice):
        if person:
            client.force_login(person)
        seen = {kind: client.get(address(kind, "csv", world)).status_code for kind in kinds}
        assert set(seen.values()) == {200 if person == people.alice else 404}, (person, seen)


def test_the_heat_map_of_a_mixture_has_every_mixture(client, world):
    data = json.loads(client.get(address("lmc-search", "json", world)).content)
    mixtures = [(penalty, alpha) for penalty in (-8, -6, -4, -2, 0) for alpha in range(11)]
    assert [(row[0], round(10 * row[1])) for row in data["rows"]] == mixtures
    page = client.get(reverse("lmc-search", args=[world["lmc-search"]["game"]])).content.decode()
    assert "/figures/lmc-search.pdf?" in page


def test_the_chart_of_actions_has_the_counts_of_the_page(client, world):
    rows = list(
        csv.DictReader(io.StringIO(client.get(address("propara-actions", "csv", world)).content.decode()))
    )
    report = Submission.objects.get(key=world["propara-actions"]["submission"]).report["confusion"]
    assert {(row["answer"], row["prediction"]): int(row["n"]) for row in rows} == {
        (right, said): n for right, counts in report.items() for said, n in counts.items()
    }


def test_two_models_are_drawn_against_each_other(client, world):
    rows = list(
        csv.DictReader(io.StringIO(client.get(address("compare-suites", "csv", world)).content.decode()))
    )
    assert {row["suite"]: row["difference"] for row in rows} == dict.fromkeys(
        ("embed", "embed_mod", "npi", "npi_two"), "0.25"
    )
    items = list(
        csv.DictReader(io.StringIO(client.get(address("compare-items", "csv", world)).content.decode()))
    )
    assert [(row["margin_M1"], row["margin_M2"]) for row in items] == [
        ("1.0", "1.0"), ("-1.0", "1.0"), ("-1.0", "-1.0"), ("1.0", "1.0")
    ]  # fmt: skip
    for address_of_page in ("?model=m1&model=m2", "?model=m1&model=m2&suite=npi"):
        page = client.get(reverse("compare") + address_of_page).content.decode()
        assert "data-figure" in page


def test_every_chart_on_a_page_has_its_numbers_beside_it(client, world):
    run, suite = reverse("run-detail", args=[world["run"]]), reverse("suite-detail", args=["npi"])
    for page in (
        run,
        suite,
        reverse("leaderboard"),
        reverse("model-detail", args=["m1"]),
    ):
        text = client.get(page).content.decode()
        charts = text.count("data-figure>")
        own = text.count('class="figure-data"')
        assert charts
        # region means of a run, and pass rates of the models on a suite, are in tables of the page itself
        assert own == charts - (page in (run, suite)), page
