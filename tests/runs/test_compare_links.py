"""Comparisons are reached by links: revisions from the suite and its changes, models from the item."""

from __future__ import annotations

import re
from html import unescape

import pytest
from django.urls import reverse

from gym.jobs.testing import run_pending
from gym.runs.work import services as runs
from lmgym.suites.formats import read_suite
from suites import services as suites
from tests.factories import make_model, make_revision
from tests.lmgym.suites.documents import suite_bytes
from tests.once import once_a_module
from tests.runs.boards import finished_run


def make_world(people):
    """One model that has run on two revisions."""
    older = make_revision(people.alice, items=4, name="s")
    model = make_model(people.alice, slug="m")
    finished_run(older, model, [1, 0, 0, 1])
    suites.replace_draft(older.suite, read_suite(suite_bytes(items=5, name="s")), actor=people.alice)
    newer = suites.freeze(older.suite, actor=people.alice)
    finished_run(newer, model, [1, 1, 1, 1, 0])
    return {"older": older, "newer": newer, "model": model}


built, people, world = once_a_module(make_world)


def links(client, address: str) -> list[str]:
    found = re.findall(r'href="([^"]+)"', client.get(address).content.decode())
    return [unescape(link) for link in found if link.startswith(reverse("compare"))]


@pytest.mark.parametrize("number", [1, 2])
def test_a_suites_results_lead_to_the_other_revision_of_a_single_model(client, world, number):
    [link] = links(client, f"/suites/s/r{number}/")
    assert link == "/compare/?model=m&suite=s&r=1&r=2"
    sides = client.get(link).context["sides"]
    assert [side.label for side in sides] == ["M, r1", "M, r2"]


@pytest.mark.parametrize("order", [(1, 2), (2, 1)])
def test_what_changed_leads_to_what_it_did_to_results(client, world, order):
    assert links(client, reverse("suite-diff", args=["s", *order])) == ["/compare/?model=m&suite=s&r=1&r=2"]
    assert (
        reverse("suite-diff", args=["s", 1, 2])
        in client.get("/compare/?model=m&suite=s&r=1,2").content.decode()
    )


def test_several_models_on_both_are_compared_by_one_link(client, world, people):
    second = make_model(people.alice, slug="n")
    finished_run(world["older"], second, [1] * 4)
    finished_run(world["newer"], second, [1] * 5)
    for address in ("/suites/s/r2/", reverse("suite-diff", args=["s", 1, 2])):
        [link] = [link for link in links(client, address) if "r=1&r=2" in link]
        assert link == "/compare/?model=m&model=n&suite=s&r=1&r=2"
    sides = client.get(link).context["sides"]
    assert [side.label for side in sides] == ["M, r1", "M, r2", "N, r1", "N, r2"]


def test_without_a_model_on_both_there_is_no_link(client, world, people):
    suite = world["newer"].suite
    suites.replace_draft(suite, read_suite(suite_bytes(items=6, name="s")), actor=people.alice)
    newest = suites.freeze(suite, actor=people.alice)
    assert links(client, reverse("suite-diff", args=["s", 2, 3])) == []
    assert links(client, "/suites/s/r3/") == []
    finished_run(newest, make_model(people.alice, slug="other"), [1] * 6)
    assert links(client, "/suites/s/r3/") == []


def test_results_one_may_not_see_are_not_linked(client, world, people):
    type(world["model"]).objects.update(visibility="private")
    assert links(client, reverse("suite-diff", args=["s", 1, 2])) == []
    client.force_login(people.alice)
    assert len(links(client, reverse("suite-diff", args=["s", 1, 2]))) == 1


def test_an_item_leads_to_the_same_item_under_other_models(client, people):
    revision = make_revision(people.alice, name="t")
    models = [make_model(people.alice, slug=slug) for slug in ("one", "two")]
    make_model(people.alice, slug="idle")
    for model in models:
        runs.queue_run(revision, model, actor=people.alice)
    run_pending()
    run = models[0].runs.get()
    [link] = links(client, reverse("run-item", args=[run.key, 2]))
    assert link == "/compare/?model=one&model=two&suite=t&r=1&item=2"
    page = client.get(link)
    assert [lens["side"].label for lens in page.context["lenses"]] == ["One", "Two"]
    assert page.context["item"] == 2
