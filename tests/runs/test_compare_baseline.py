"""Every model against a chosen baseline, each rate with its interval and number of items."""

from __future__ import annotations

import pytest
from django.urls import reverse
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint

from tests.factories import make_model, make_revision
from tests.once import once_a_module
from tests.runs.boards import finished_run

CODES = {
    "s": {"a": [1, 0, 0, 0, 1], "b": [1, 1, 1, 1, 0], "c": [1, 1, 1, 1, 1], "d": [0, 0, 0, 0, 0]},
    "t": {"a": [1, 1, 0, 0, 0], "b": [1, 1, 1, 1, 1], "d": [0, 1, 0, 1, 0]},
}
ALL = "model=a&model=b&model=c&model=d"


def make_world(people):
    models = {slug: make_model(people.alice, slug=slug) for slug in "abcd"}
    for name, by_model in CODES.items():
        revision = make_revision(people.alice, items=5, name=name)
        for slug, codes in by_model.items():
            finished_run(revision, models[slug], codes)
    return models


built, people, world = once_a_module(make_world)


def get(client, query):
    return client.get(f"{reverse('compare')}?{query}")


def rate(name: str, slug: str) -> float:
    return sum(CODES[name][slug]) / 5


@pytest.mark.parametrize("base", ["a", "c", "d"])
def test_every_model_has_its_difference_from_the_baseline_on_every_suite(client, world, base):
    response = get(client, f"{ALL}&base={base}")
    found = response.context["found"]
    order = [base, *(slug for slug in "abcd" if slug != base)]
    assert [model.slug for model in found.models] == order
    for row in response.context["suite_rows"]:
        name = row.revision.suite.slug
        for slug, pair in zip(order[1:], row.pairs, strict=True):
            if slug in CODES[name] and base in CODES[name]:
                assert pair.rate.difference == pytest.approx(rate(name, slug) - rate(name, base))
            else:
                assert pair is None
    for slug, total in zip(order[1:], found.totals, strict=True):
        both = [name for name in CODES if {slug, base} <= set(CODES[name])]
        mean = sum(rate(name, slug) - rate(name, base) for name in both) / len(both)
        assert (total.suites_both, total.difference.mean) == (len(both), pytest.approx(mean))
    values = [pair.rate.p for pair in found.pairs]
    assert [pair.rate.p_corrected for pair in found.pairs] == pytest.approx(
        list(multipletests(values, method="holm")[1])
    )


def test_without_one_the_first_of_the_address_is_the_baseline(client, world):
    assert [model.slug for model in get(client, "model=c&model=a").context["found"].models] == ["c", "a"]


def test_rates_have_their_interval_and_number_of_items(client, world):
    low, high = proportion_confint(4, 5, method="wilson")
    said = f"{low * 100:.1f}% to {high * 100:.1f}%"
    for query in (ALL, f"{ALL}&suite=s"):
        response = get(client, query)
        page = " ".join(response.content.decode().split())
        assert said in page
        sides = response.context["sides"] if "suite" in query else response.context["suite_rows"][0].sides
        for side, slug in zip(sides, "abcd", strict=True):
            limits = proportion_confint(sum(CODES["s"][slug]), 5, method="wilson")
            assert (side.scored.score.low, side.scored.score.high) == pytest.approx(limits)
            assert (side.rate, side.scored.score.n) == (pytest.approx(rate("s", slug)), 5)
    page = " ".join(get(client, ALL).content.decode().split())
    assert f"{said}, n 5" in page
    rates = sum(len(by_model) for by_model in CODES.values())
    assert page.count(", n 5") == rates  # and no difference: pairs share the items of their sides


def test_on_a_suite_a_baseline_leaves_its_own_pairs_and_none_means_all_of_them(client, world):
    everyone = get(client, f"{ALL}&suite=s").context["pairs"]
    assert len(everyone) == 6
    response = get(client, f"{ALL}&suite=s&base=c")
    names = [(pair.first.run.model.slug, pair.second.run.model.slug) for pair in response.context["pairs"]]
    assert names == [("c", "a"), ("c", "b"), ("c", "d")]
    answer = client.get("/api/v1/compare/s/?model=a,b,c,d&base=c").json()
    same = client.get("/api/v1/compare/s/?first=c&second=a&second=b&second=d").json()
    assert same == answer
    slugs = [side["model"] for side in answer["sides"]]
    assert [(slugs[pair["first"]], slugs[pair["second"]]) for pair in answer["pairs"]] == names


def test_a_baseline_that_is_not_among_the_models_joins_them(client, world):
    response = get(client, "model=a&model=b&base=d&suite=s")
    assert [side.run.model.slug for side in response.context["sides"]] == ["d", "a", "b"]


def test_the_form_offers_it_and_remembers_it(client, world):
    page = " ".join(get(client, f"{ALL}&base=c").content.decode().split())
    assert '<select class="form-select" id="base" name="base">' in page
    assert '<option value="c" selected>' in page
    assert "base=c&amp;suite=s" in page


def test_a_baseline_that_is_not_there_is_named(client, world):
    assert (
        "Unknown models, or not visible to you: nobody."
        in get(client, "model=a&model=b&base=nobody").content.decode()
    )


def test_the_chart_draws_every_model_against_the_baseline(client, world):
    figure = client.get("/figures/compare-suites.json?model=a,b,c,d&base=c").json()
    assert figure["columns"][2:4] == ["first", "second"]
    assert [row[2:4] for row in figure["rows"]] == [["c", "a"], ["c", "b"], ["c", "d"]]
