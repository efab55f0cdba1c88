"""Suites that share material: intervals of means and differences account for it, and say so."""

from __future__ import annotations

import pytest
from django.urls import reverse

from gym.page_cache.store import store
from gym.runs.read import shared_items
from lmgym.suites.formats import read_suite
from suites import services
from suites.options import SuiteOptions
from tests.factories import make_model, make_revision
from tests.lmgym.suites.documents import suite_bytes
from tests.runs.boards import finished_run

HELD = [1, 1, 0, 0, 1]
OTHER = [0, 1, 0, 1, 1]


def revision_with(owner, name, texts):
    """Create a suite in which these texts replace the factory's, and return its revision."""
    data = suite_bytes(name=name, items=5)
    for old, new in texts.items():
        data = data.replace(old, new)
    suite = services.import_suite(read_suite(data), SuiteOptions(visibility="public"), actor=owner)
    services.freeze(suite, actor=owner)
    return suite.latest_frozen


@pytest.fixture
def models(people):
    """Two models, each with the same outcomes on two suites that have the same sentences."""
    models = [make_model(people.alice, slug=slug) for slug in ("m1", "m2")]
    for name in ("number", "reflexive"):
        revision = make_revision(people.alice, items=5, name=name)
        for model, codes in zip(models, (HELD, OTHER), strict=True):
            finished_run(revision, model, codes)
    return models


def scores(client):
    answer = client.get("/api/v1/leaderboard/").json()
    return answer, {row["model"][0]: row["score"] for row in answer["results"]}


def test_a_score_over_two_equal_suites_is_as_uncertain_as_over_one(client, models):
    answer, found = scores(client)
    assert found["m1"]["shared_items_factor"] == pytest.approx(2**0.5)
    row = next(row for row in answer["results"] if row["model"] == ["m1"])
    one = row["suites"]["number"]
    assert found["m1"]["high"] == pytest.approx(one["high"], abs=0.02)
    assert found["m1"]["low"] == pytest.approx(one["low"], abs=0.02)
    note = client.get(reverse("leaderboard")).context["note"]
    assert "Suites whose items share material: number, reflexive." in note
    assert "1.41 times as large" in note


def test_a_difference_of_scores_takes_shared_items_together(client, models):
    found = client.get(f"{reverse('compare')}?model=m1,m2")
    [total] = found.context["found"].totals
    assert total.shared_items_factor == pytest.approx(2**0.5)
    assert "1.41 times as large" in found.content.decode()
    [told] = client.get("/api/v1/compare/?model=m1,m2").json()["totals"]
    assert told["shared_items_factor"] == pytest.approx(2**0.5)
    [pair, _] = found.context["found"].pairs
    width = pair.rate.high - pair.rate.low
    assert total.difference.high - total.difference.low == pytest.approx(width, rel=0.15)


def test_suites_with_other_words_are_independent(client, people):
    model = make_model(people.alice, slug="m1")
    number = make_revision(people.alice, items=5, name="number")
    finished_run(number, model, HELD)
    texts = {text for row in number.sentences.all() for text in row.contents if text}
    new = {text.encode(): text[::-1].encode() for text in sorted(texts, key=len, reverse=True)}
    other = revision_with(people.alice, "turned", new)
    finished_run(other, model, HELD)
    answer, found = scores(client)
    assert found["m1"]["shared_items_factor"] == 1.0
    assert "share material" not in answer["note"]


def test_a_table_of_too_many_runs_says_that_it_assumes_independent_items(client, models, monkeypatch):
    _, wide = scores(client)
    monkeypatch.setattr(shared_items, "MOST_RUNS", 3)
    store.clear()  # kept pages do not depend on constants
    answer, found = scores(client)
    assert found["m1"]["shared_items_factor"] is None
    assert found["m1"]["low"] > wide["m1"]["low"]
    assert "Intervals of means assume independent items" in answer["note"]
