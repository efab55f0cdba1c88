"""Runs, models and suites to compare are selected in lists with search and tags."""

from __future__ import annotations

import pytest
from django.urls import reverse

from gym.runs.work.services import queue_run
from suites import services as suites
from tests.factories import make_model, make_revision
from tests.once import once_a_module
from tests.runs.boards import finished_run

RUNS, COMPARE = "/runs/", "/compare/"


def make_world(people):
    """Two models with results on alice's `whales` (tag sea) and bob's `birds`."""
    whales = make_revision(people.alice, name="whales", items=2)
    birds = make_revision(people.bob, name="birds", items=2)
    suites.set_tags(whales.suite, ["sea"])
    models = [make_model(people.alice, slug=slug) for slug in ("uno", "due")]
    return {
        (revision.suite.slug, model.slug): finished_run(revision, model, [1, 0])
        for revision in (whales, birds)
        for model in models
    }


built, people, world = once_a_module(make_world)


def listed(client, **asked) -> set[tuple[str, str]]:
    page = client.get(RUNS, asked)
    assert page.status_code == 200
    return {(run.revision.suite.slug, run.model.slug) for run in page.context["page"]}


def test_runs_are_found_by_words_tag_and_state(client, people, world):
    assert listed(client) == set(world)
    assert listed(client, q="whale uno") == {("whales", "uno")}
    assert listed(client, tag="sea") == {("whales", "uno"), ("whales", "due")}
    queue_run(
        make_revision(people.alice, name="fresh"), make_model(people.alice, slug="tre"), actor=people.alice
    )
    assert listed(client, state="queued") == {("fresh", "tre")}
    assert listed(client, state="done", q="birds") == {("birds", "uno"), ("birds", "due")}
    assert "No run matches" in client.get(RUNS, {"q": "nothing"}).content.decode()


@pytest.mark.parametrize("asked", [{"state": "odd"}, {"q": " ".join("abcdefghijklmnop")}, {"q": "x" * 5000}])
def test_what_cannot_be_searched_is_refused_with_a_sentence(client, world, asked):
    page = client.get(RUNS, asked)
    assert page.status_code == 400
    assert 'role="alert"' in page.content.decode()


def test_the_api_finds_runs_by_the_same_words(client, world):
    answer = client.get("/api/v1/runs/?q=whales&tag=sea").json()
    assert {(row["suite"], row["model"]) for row in answer["results"]} == {
        ("whales", "uno"),
        ("whales", "due"),
    }


def ticked(client, *runs):
    return client.get(RUNS, {"run": [run.key for run in runs]})


def test_ticked_runs_lead_to_their_comparison(client, people, world):
    page = " ".join(client.get(RUNS).content.decode().split())
    assert page.count('type="checkbox" name="run"') == 4
    first, second = world["whales", "uno"], world["whales", "due"]
    assert ticked(client, first, second).url == f"{COMPARE}?model=uno&model=due&suite=whales&r=1"
    third = world["birds", "uno"]
    assert (
        ticked(client, first, third, second).url == f"{COMPARE}?model=uno&model=due&suite=whales&suite=birds"
    )
    assert client.get(ticked(client, first, second).url).status_code == 200


def test_ticking_too_little_says_what_to_do(client, people, world):
    unfinished = queue_run(
        make_revision(people.alice, name="fresh"), make_model(people.alice, slug="tre"), actor=people.alice
    )
    for runs in ([world["whales", "uno"]], [world["whales", "uno"], unfinished]):
        page = client.get(ticked(client, *runs).url).content.decode()
        assert "Tick two or more finished runs" in page
    assert client.get(RUNS, {"run": ["\0", "x" * 500]}).status_code == 302


def test_runs_of_suites_that_one_may_not_see_are_not_compared(client, people, world):
    suites.set_visibility(world["whales", "uno"].revision.suite, "private", actor=people.alice)
    client.force_login(people.charlie)
    assert ticked(client, world["whales", "uno"], world["whales", "due"]).url == RUNS


def test_the_compare_page_lists_suites_with_title_name_and_owner(client, people, world):
    make_revision(people.alice, name="without-results")
    page = client.get(
        COMPARE, {"choose": 1, "model": ["uno", "due"], "suite": ["birds", "whales"]}
    ).content.decode()
    page = " ".join(page.split())
    form = page[page.index('id="compare-suites"') :].partition("</fieldset>")[0]
    assert form.count('name="suite"') == 2
    assert form.count(" checked") == 2
    assert "birds, by bob" in form
    assert "sea (1)" in page
    one = client.get(COMPARE, {"choose": 1, "model": ["uno", "due"], "suite": "birds"}).content.decode()
    one = " ".join(one.split())
    form = one[one.index('id="compare-suites"') :].partition("</fieldset>")[0]
    assert (form.count('name="suite"'), form.count(" checked")) == (2, 1)


def test_the_owner_of_an_unlisted_suite_is_not_told(client, people, world):
    suite = world["birds", "uno"].revision.suite
    suites.set_visibility(suite, "unlisted", actor=people.bob)
    page = client.get(COMPARE, {"choose": 1, "model": ["uno", "due"], "suite": suite.slug}).content.decode()
    page = " ".join(page.split())
    form = page[page.index('id="compare-suites"') :].partition("</fieldset>")[0]
    assert suite.slug in form
    assert "by bob" not in form
    other = client.get(COMPARE, {"choose": 1, "model": ["uno", "due"]}).content.decode()
    assert suite.slug not in other


def test_models_are_ticked_in_their_list(client, world):
    page = " ".join(client.get(reverse("model-list")).content.decode().split())
    assert page.count('type="checkbox" name="model"') == 2
    assert f'<form method="get" action="{COMPARE}">' in page


def test_where_a_slug_is_shown_title_and_owner_are_beside_it(client, people, world):
    run = world["birds", "uno"]
    run.revision.suite.title = "Birds of the north"
    run.revision.suite.save()
    page = " ".join(client.get(run.get_absolute_url()).content.decode().split())
    assert "Birds of the north r1</a> <code>birds</code>, by bob" in page
    assert "Uno</a> <code>uno</code>" in page
    client.force_login(people.alice)
    choices = " ".join(client.get("/suites/new/?by=copy").content.decode().split())
    assert "Birds of the north (birds), by bob" in choices
