"""A bound adds the equivalence test to page and API; skewed margins of few items are marked."""

from __future__ import annotations

import pytest
from django.urls import reverse

from gym.runs.models import PredictionResult
from lmgym.stats import equivalence_p
from lmgym.stats.multiple_comparisons import holm
from tests.factories import make_model, make_revision
from tests.lmgym.suites.documents import AGREEMENT
from tests.once import once_a_module
from tests.runs.boards import finished_run

CODES = {"a": [1] * 20, "b": [1] * 19 + [0], "c": [0] * 10 + [1] * 10}


def make_runs(people):
    revision = make_revision(people.alice, items=20, name="s")
    return {slug: finished_run(revision, make_model(people.alice, slug=slug), c) for slug, c in CODES.items()}


built, people, runs = once_a_module(make_runs)


def get(client, query):
    return client.get(f"{reverse('compare')}?suite=s&{query}")


def words(response) -> str:
    return " ".join(response.content.decode().split())


def test_a_named_bound_gives_its_p_corrected_for_all_pairs(client, runs):
    response = get(client, "model=a&model=b&model=c&bound=20")
    said = [pair.equivalence for pair in response.context["pairs"]]
    p = [equivalence_p(1, 0, 20, 0.2), equivalence_p(10, 0, 20, 0.2), equivalence_p(10, 1, 20, 0.2)]
    assert [one.p for one in said] == pytest.approx(p)
    assert [one.p_corrected for one in said] == pytest.approx(holm(p))
    page = words(response)
    assert "p within ±20 points (Holm)" in page
    assert "Tango’s score test" in page
    assert 'value="20"' in page
    answer = client.get("/api/v1/compare/s/?model=a,b,c&bound=20").json()
    assert [row["equivalence"] for row in answer["pairs"]] == [
        {"bound_points": 20.0, "p": one.p, "p_corrected": one.p_corrected} for one in said
    ]


def test_without_a_bound_there_is_none_and_the_page_says_how_to_ask(client, runs):
    response = get(client, "model=a&model=b")
    assert [pair.equivalence for pair in response.context["pairs"]] == [None]
    assert "A large p does not show that two runs are equal" in words(response)
    assert client.get("/api/v1/compare/s/?model=a,b").json()["pairs"][0]["equivalence"] is None


@pytest.mark.parametrize("bound", ["0", "100", "-5", "x", "nan", "1e999"])
def test_what_is_no_bound_is_named(client, runs, bound):
    response = get(client, f"model=a&model=b&bound={bound}")
    assert response.context["pairs"][0].equivalence is None
    assert f"“{bound}” is not an equivalence bound" in words(response)
    answer = client.get(f"/api/v1/compare/s/?model=a,b&bound={bound}")
    assert (answer.status_code, answer.json()["errors"][0]["where"]) == (400, "?bound")


def test_shares_of_several_predictions_have_no_such_test(client, people):
    revision = make_revision(people.alice, items=6, name="t", formulas=(AGREEMENT, AGREEMENT))
    for slug in "de":
        finished_run(revision, make_model(people.alice, slug=slug), [1] * 6, [0] * 6)
    address = f"{reverse('compare')}?suite=t&model=d&model=e&bound=20"
    response = client.get(address)
    assert response.context["pairs"][0].equivalence is None
    assert "not available for shares" in words(response)
    assert client.get(f"{address}&rule=all").context["pairs"][0].equivalence.p > 0


def test_skewed_margins_of_few_items_are_named_on_the_run_and_in_the_comparison(client, runs):
    skewed = [0.1 * k for k in range(18)] + [40.0, 60.0]
    PredictionResult.objects.filter(run=runs["b"]).update(margins=skewed)
    assert "margins are few and skewed" in words(client.get(runs["b"].get_absolute_url()))
    assert "margins are few and skewed" not in words(client.get(runs["c"].get_absolute_url()))
    response = get(client, "model=a&model=b")
    assert "skewed, few items" in words(response)
    answer = client.get("/api/v1/compare/s/?model=a,b,c").json()
    assert [row["margin_is_skewed"] for row in answer["pairs"]] == [True, False, True]
