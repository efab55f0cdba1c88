"""Two models of the same name with different owners: wherever they are shown side by side, the slug
distinguishes them.
"""

from __future__ import annotations

import html
import re

import pytest

from gym.collections.services import create_collection, publish_collection
from gym.runs.models import SuiteRun
from gym.runs.read.comparison_selectors import others_on
from models_registry.names import unambiguous
from tests.factories import make_model, make_revision
from tests.once import once_a_module
from tests.runs.boards import finished_run

BOTH = ["Twin (alices)", "Twin (bobs)"]


def make_world(people):
    """alice's and bob's models of the same name, with results on s and t, and a third model with results on s
    only.
    """
    alices, bobs = (
        make_model(owner, slug=slug, name="Twin")
        for owner, slug in ((people.alice, "alices"), (people.bob, "bobs"))
    )
    lone = make_model(people.alice, slug="lone", name="Lone")
    revisions = [make_revision(people.alice, items=3, name=name) for name in ("s", "t")]
    for revision in revisions:
        finished_run(revision, alices, [1, 0, 0])
        finished_run(revision, bobs, [1, 1, 1])
    finished_run(revisions[0], lone, [1, 1, 0])
    collection = create_collection(
        actor=people.alice, slug="paper", title="Paper", description="", reference="", revisions=revisions
    )
    publish_collection(collection, actor=people.alice)
    return SuiteRun.objects.get(model=alices, revision=revisions[0])


built, people, world = once_a_module(make_world)


def bare(text: str) -> list[str]:
    """Return excerpts of a page, attributes included, in which the name lacks its slug."""
    said = re.sub(r"</text><text [^>]*>", " ", html.unescape(text))  # lines of a narrow chart
    return [
        said[max(0, m.start() - 60) : m.end() + 20]
        for m in re.finditer(r"Twin(?! \((?:alices|bobs)\))", said)
    ]


PAGES = {
    "compare": "compare/?model=alices&model=bobs",
    "compare, against one": "compare/?model=alices&model=bobs&model=lone&base=bobs",
    "compare on a suite": "compare/?model=alices&model=bobs&suite=s",
    "compare on a suite, against one": "compare/?model=alices&model=bobs&suite=s&base=bobs",
    "compare an item": "compare/?model=alices&model=bobs&suite=s&item=2",
    "choose": "compare/",
    "front": "",
    "leaderboard": "leaderboard/",
    "suite list": "suites/",
    "suite": "suites/s/",
    "collection": "collections/paper/",
}


@pytest.mark.parametrize("page", PAGES)
def test_a_page_never_says_the_name_alone(client, world, page):
    text = client.get(f"/{PAGES[page]}").content.decode()
    assert any(one in text for one in BOTH)
    assert bare(text) == []


def test_the_baseline_and_the_other_are_told_apart_in_the_heading(client, world):
    text = " ".join(client.get("/compare/?model=alices&model=bobs").content.decode().split())
    assert re.search(r"<h1>Twin \(alices\) .*Twin \(bobs\)</h1>", text)


def test_a_name_that_only_one_of_those_shown_has_stays_as_it_is(client, world):
    text = client.get("/compare/?model=alices&model=lone&suite=s").content.decode()
    assert '<th scope="row">Twin' in text
    assert '<th scope="row">Twin (' not in text


@pytest.mark.parametrize(
    ("name", "query"),
    [
        ("compare-suites.json", "model=alices,bobs"),
        ("compare-items.csv", "model=alices,bobs&suite=s"),
        ("leaderboard-scores.csv", ""),
    ],
)
def test_the_table_behind_a_drawing_tells_them_apart(client, world, name, query):
    told = client.get(f"/figures/{name}?{query}").content.decode()
    assert all(one in told for one in BOTH)
    assert bare(told) == []


def test_the_others_of_a_run_are_told_apart_from_it(people, world):
    assert [model.label for model in others_on(people.alice, world)] == ["Lone", "Twin (bobs)"]


def test_one_model_that_comes_twice_is_not_told_apart_from_itself():
    names = [("Twin", "a"), ("Twin", "a"), ("Lone", "c")]
    assert unambiguous(names) == ["Twin", "Twin", "Lone"]
    assert unambiguous([*names, ("Twin", "b")]) == ["Twin (a)", "Twin (a)", "Lone", "Twin (b)"]
