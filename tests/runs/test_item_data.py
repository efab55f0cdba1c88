"""Item data on the site: on the items page, in files, and as groups of results."""

from __future__ import annotations

import io
import json
import re

import pandas as pd
import pytest
from django.urls import reverse

from gym.jobs.testing import run_pending
from gym.runs.work import services
from lmgym.suites.formats import read_suite
from suites.options import SuiteOptions
from suites.services import freeze, import_suite
from tests.factories import make_model, make_revision
from tests.lmgym.suites.documents import suite_json
from tests.runs.boards import finished_run
from tests.runs.test_factor_columns import exported

CLASSES = {1: "motion", 2: "sound", 3: "motion", 4: None}
OUTCOMES = [1, 0, 1, 2]


@pytest.fixture
def revision(people):
    """Four items with the class of their verb, and a frequency for each sentence."""
    data = suite_json(items=4)
    for item, name in zip(data["items"], CLASSES.values(), strict=True):
        item |= {"verb class": name, "half": item["item_number"] > 2}
        for place, condition in enumerate(item["conditions"]):
            condition["data"] = {"frequency": 10 * item["item_number"] + place}
    document = read_suite(json.dumps(data).encode())
    return freeze(
        import_suite(document, SuiteOptions(visibility="public"), actor=people.alice), actor=people.alice
    )


@pytest.fixture
def run(revision, people):
    return finished_run(revision, make_model(people.alice), OUTCOMES)


def items_page(client, revision, where=""):
    return client.get(
        reverse("suite-items", args=[revision.suite.slug, revision.number]), {"where": where} if where else {}
    )


def test_the_items_page_shows_item_data(client, revision):
    page = items_page(client, revision)
    assert page.context["data_names"] == ["half", "verb class", "frequency"]
    rows = [[row.data_cells for row in rows] for _, rows in page.context["page"]]
    assert rows[0] == [[("false", 2), ("motion", 2), ("10", 1)], [("11", 1)]]
    assert rows[3] == [[("true", 2), ("", 2), ("40", 1)], [("41", 1)]]
    assert "<bdi>verb class</bdi>" in page.content.decode()


@pytest.mark.parametrize(
    ("where", "items"),
    [
        ("verb class: motion", [1, 3]),
        ("half: true", [3, 4]),
        ("frequency: 21", [2]),
        ("verb class: none", [1, 2, 3, 4]),
        ("nothing", [1, 2, 3, 4]),
    ],
)
def test_items_are_filtered_by_item_data(client, revision, where, items):
    page = items_page(client, revision, where)
    assert [number for number, _ in page.context["page"]] == items
    assert page.context["where"] == (where if len(items) < 4 else "")


def test_files_of_the_suite_have_item_data(client, revision):
    def file(form):
        return client.get(
            reverse("suite-download", args=[revision.suite.slug, revision.number, form])
        ).content

    condition = json.loads(file("json"))["items"][0]["conditions"][0]
    assert condition["data"] == {"frequency": 10}
    table = pd.read_csv(io.BytesIO(file("tsv")), sep="\t", dtype=str, keep_default_na=False)
    assert list(table.columns[-3:]) == ["data_frequency", "data_half", "data_verb class"]
    assert table.iloc[0, -3:].tolist() == ["10", "false", "motion"]


def test_the_run_page_groups_by_item_data_as_its_exports_do(client, run):
    outcomes = exported(client, "outcomes", f"run={run.key}")
    assert [name for name in outcomes if name.startswith("data_")] == ["data_half", "data_verb_class"]
    page = client.get(run.get_absolute_url(), {"by": "verb class"})
    assert page.context["group_names"] == ["half", "verb class"]
    [(_, groups)] = page.context["groups"]
    assert [(row.group, row.passed, row.n) for row in groups] == [
        ("motion", 2, 2),
        ("sound", 0, 1),
        (None, 0, 1),
    ]
    ours = outcomes.groupby("data_verb_class")["passed"].agg(["sum", "size", "mean"])
    for row in groups[:2]:
        assert ours.loc[row.group].tolist() == [row.passed, row.n, row.rate]
    table = re.search(
        r'<table class="data data-auto" id="group-table">.*?</table>', page.content.decode(), re.DOTALL
    )
    assert table
    assert "2 / 2" in table[0]
    assert "no\n      value" in table[0]
    half = client.get(run.get_absolute_url(), {"by": "half"})
    assert [(row.group, row.passed, row.n) for row in half.context["groups"][0][1]] == [
        ("false", 1, 2),
        ("true", 1, 2),
    ]


def test_a_suite_without_item_data_has_no_groups(client, people):
    run = finished_run(make_revision(people.alice, name="plain"), make_model(people.alice), [1, 1, 0])
    page = client.get(run.get_absolute_url())
    assert "group_names" not in page.context
    assert "group-table" not in page.content.decode()
    assert not [name for name in exported(client, "outcomes", f"run={run.key}") if name.startswith("data_")]


def test_regions_have_the_data_of_their_sentence(client, revision, people):
    run = services.queue_run(revision, make_model(people.alice), actor=people.alice)
    run_pending()
    for query in (f"run={run.key}", f"suite={revision.suite.slug}"):
        regions = exported(client, "regions", query)
        frequency = regions.groupby(["item", "condition"])["data_frequency"].first()
        assert frequency[2].tolist() == [20, 21]
        assert regions[regions["item"] == 1]["data_verb_class"].unique().tolist() == ["motion"]
