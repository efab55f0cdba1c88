"""Models, seeds and suites of the same name are distinguished on the leaderboard and in every chart and file."""

from __future__ import annotations

import csv
import io

import pytest
from django.http import QueryDict
from django.urls import reverse

from gym.collections.services import create_collection
from gym.runs.read.leaderboard.address import read_options
from gym.runs.read.leaderboard.build import leaderboard
from gym.runs.read.model_profile import checkpoints, robustness
from lmgym.suites.formats import read_suite
from suites import services as suites
from tests.factories import make_model, make_revision
from tests.lmgym.suites.documents import suite_bytes
from tests.once import once_a_module
from tests.runs.boards import finished_run

BOTH = {"GPT (gpt-a)", "GPT (gpt-b)"}


def table(client, kind, query):
    answer = client.get(f"{reverse('figure', args=[kind, 'csv'])}?{query}")
    assert answer.status_code == 200, (kind, query)
    return list(csv.DictReader(io.StringIO(answer.content.decode())))


def board(user, query="", revisions=None):
    return leaderboard(user, read_options(QueryDict(query)), revisions)


def make_twins(people):
    """Two models called GPT of different owners: one keeps its rate with a modifier, the other does not."""
    pair = [make_revision(people.alice, name=name, items=4) for name in ("embed", "embed_mod")]
    models = [
        make_model(owner, slug=slug, name="GPT", parameters=10, tags=["group:g", f"step:{step}"])
        for owner, slug, step in ((people.alice, "gpt-a", 1), (people.bob, "gpt-b", 2))
    ]
    for model, after in zip(models, ([1, 1, 1, 1], [0, 0, 0, 0]), strict=True):
        finished_run(pair[0], model, [1, 1, 1, 1])
        finished_run(pair[1], model, after)
    return {"models": models, "pair": pair}


built, people, twins = once_a_module(make_twins)


def test_robustness_keeps_models_of_the_same_name_apart(client, twins, people):
    found = {row.row.model.slug: row.change.with_modifier for row in robustness(board(people.nobody))}
    assert found == {"gpt-a": 1.0, "gpt-b": 0.0}
    rows = table(client, "model-pairs", "of=gpt-a")
    assert {row["model"]: float(row["difference"]) for row in rows} == {
        "GPT (gpt-a)": 0.0,
        "GPT (gpt-b)": -1.0,
    }


def test_the_short_name_stands_beside_a_name_that_repeats(client, twins, people):
    assert {row["model"] for row in table(client, "leaderboard-scores", "")} == BOTH
    for form in ("csv", "md", "tex"):
        text = client.get(reverse("leaderboard-download", args=[form])).content.decode()
        assert all(name in text for name in BOTH), form
    assert all(name in client.get(reverse("leaderboard")).content.decode() for name in BOTH)
    header = table(client, "compare-items", "model=gpt-a,gpt-b&suite=embed")[0]
    assert {"margin_GPT (gpt-a)", "margin_GPT (gpt-b)"} <= set(header)


def test_the_learning_curve_names_checkpoints_of_one_name_apart(client, twins, people):
    first, second = twins["models"]
    second.owner = first.owner
    second.save()
    assert {row["model"] for row in table(client, "model-steps", "of=gpt-a")} == BOTH


def test_a_name_that_is_alone_stays_as_it_is(client, twins):
    twins["models"][1].name = "Other"
    twins["models"][1].save()
    assert {row["model"] for row in table(client, "leaderboard-scores", "")} == {"GPT", "Other"}


# --- seeds ------------------------------------------------------------------------------------------------------------
def test_seeds_of_different_owners_are_different_models(twins, people):
    rows = board(people.nobody, "group=1").rows
    assert [row.models for row in rows] == [(twins["models"][0],), (twins["models"][1],)]
    assert checkpoints(board(people.nobody), twins["models"][0]) == []


def test_two_people_may_use_the_same_group_name(client, twins, people):
    for owner, slug in ((people.alice, "gpt-c"), (people.bob, "gpt-d")):
        finished_run(twins["pair"][0], make_model(owner, slug=slug, tags=["group:g"]), [1, 0, 1, 0])
    rows = board(people.nobody, "group=1").rows
    assert {(row.label, *(model.slug for model in row.models)) for row in rows} == {
        ("g (gpt-a)", "gpt-a", "gpt-c"),
        ("g (gpt-b)", "gpt-b", "gpt-d"),
    }


def test_a_row_of_seeds_names_its_members(client, twins, people):
    seed = make_model(people.alice, slug="gpt-c", name="Third", tags=["group:g"])
    finished_run(twins["pair"][0], seed, [1, 0, 1, 0])
    page = client.get(reverse("leaderboard") + "?group=1").content.decode()
    assert "2 seeds" in page
    assert reverse("model-detail", args=["gpt-c"]) in page

    def file(form):
        text = client.get(reverse("leaderboard-download", args=[form]) + "?group=1").content.decode()
        return list(csv.DictReader(io.StringIO(text)))

    assert "gpt-a gpt-c" in {row["members"] for row in file("csv")}
    assert "gpt-a gpt-c" in {row["model"] for row in file("long.csv")}


def test_charts_of_one_model_are_of_models_even_where_the_address_joins_seeds(client, twins):
    assert table(client, "model-pairs", "of=gpt-a&group=1") == table(client, "model-pairs", "of=gpt-a")


# --- revisions --------------------------------------------------------------------------------------------------------
@pytest.fixture
def two_revisions(people):
    """A collection with two revisions of one suite. Up is better on the second, down on the first."""
    first = make_revision(people.alice, name="s", items=4)
    suites.replace_draft(first.suite, read_suite(suite_bytes(name="s", items=4)), actor=people.alice)
    second = suites.freeze(first.suite, actor=people.alice)
    up, down = make_model(people.alice, slug="up"), make_model(people.alice, slug="down")
    finished_run(first, up, [0, 0, 0, 1])
    finished_run(first, down, [1, 1, 1, 1])
    finished_run(second, up, [1, 1, 1, 1])
    finished_run(second, down, [0, 0, 1, 1])
    return create_collection(
        actor=people.alice, slug="both", title="Both", description="", reference="", revisions=[first, second]
    )


def test_two_revisions_of_a_suite_are_two_columns(client, two_revisions, people):
    client.force_login(people.alice)
    address = reverse("collection-download", args=["both", "csv"])
    [up, down] = csv.DictReader(io.StringIO(client.get(address).content.decode()))
    assert [(row["s r1"], row["s r2"]) for row in (up, down)] == [("1.0", "0.5"), ("0.25", "1.0")]
    drawing = client.get(
        f"{reverse('figure', args=['leaderboard-heat', 'svg'])}?collection=both"
    ).content.decode()
    assert "s r1" in drawing
    assert "s r2" in drawing
    page = client.get(two_revisions.get_absolute_url()).content.decode()
    assert 'data-copy="s r1"' in page
    assert "sort=-suite:s+r1" in page


def test_either_revision_can_sort_the_table(client, two_revisions, people):
    client.force_login(people.alice)

    def first(sort):
        return client.get(two_revisions.get_absolute_url(), {"sort": sort}).context["board"].rows[0].name

    assert (first("-suite:s r1"), first("-suite:s r2")) == ("Down", "Up")
    assert first("-suite:s") == "Up", "the suite alone means its newest revision"
