"""Two revisions are compared on the predictions that both make, paired by formula; the others are listed."""

from __future__ import annotations

import csv
import io
import json

import pytest
from django.urls import reverse
from statsmodels.stats.multitest import multipletests

from lmgym.runs.paired_predictions import RevisionPredictions, pair_predictions
from lmgym.runs.rules import ALL, EACH, FIRST
from lmgym.suites.formats import read_suite
from suites import services as suites
from tests.factories import make_model, make_revision
from tests.lmgym.suites.documents import suite_bytes
from tests.runs.boards import finished_run

UP, DOWN = "(1;%match%) < (1;%mismatch%)", "(2;%match%) < (2;%mismatch%)"
BOTH = f"[{UP}] & [{DOWN}]"


def revision(number, *formulas, regions=("noun", "verb"), conditions=("match", "mismatch"), names=None):
    return RevisionPredictions(
        number, regions, conditions, list(zip(names or [""] * len(formulas), formulas, strict=True))
    )


def positions(older, newer, rule=EACH):
    return list(pair_predictions(older, newer, rule).judged)


def reasons(older, newer, rule=EACH):
    return {
        (one.revision, one.prediction_number): one.why
        for one in pair_predictions(older, newer, rule).left_out
    }


@pytest.mark.parametrize(
    "other",
    [
        "(1;%match%)<(1;%mismatch%)",
        "[(1;%match%) < (1;%mismatch%)]",
        "((1;%match%)) < (1;%mismatch%)",
        "  (1;%match%)  <\n(1;%mismatch%)",
    ],
)
def test_spelling_and_blanks_make_no_other_formula(other):
    assert positions(revision(1, UP, DOWN), revision(2, DOWN, other)) == [(0, 1), (1, 0)]


def test_a_conjunction_is_not_its_halves():
    older, newer = revision(1, BOTH), revision(2, UP, DOWN)
    assert positions(older, newer) == []
    assert reasons(older, newer) == {
        (1, 1): "no prediction of r2 has this formula",
        (2, 1): "no prediction of r1 has this formula",
        (2, 2): "no prediction of r1 has this formula",
    }


def test_a_name_alone_pairs_nothing():
    older, newer = revision(1, UP, names=["main"]), revision(2, DOWN, names=["main"])
    assert positions(older, newer) == []
    assert reasons(older, newer)[1, 1] == "the prediction with this name in r2 has a different formula"


def test_a_region_that_moved_is_the_same_and_one_that_took_its_number_is_not():
    older = revision(1, DOWN)
    moved = revision(2, "(3;%match%) < (3;%mismatch%)", regions=("start", "noun", "verb"))
    assert positions(older, moved) == [(0, 0)]
    taken = revision(2, DOWN, regions=("start", "noun", "verb"))
    assert positions(older, taken) == []
    assert reasons(older, taken)[1, 1] == ("the same text in r2 refers to different regions or conditions")


def test_renamed_conditions_are_the_same_ones():
    newer = revision(2, "(1;%good%) < (1;%bad%)", conditions=("good", "bad"))
    assert positions(revision(1, UP), newer) == [(0, 0)]
    assert positions(revision(1, UP), revision(2, "(1;%bad%) < (1;%good%)", conditions=("good", "bad"))) == []


def test_a_formula_that_one_revision_has_twice_pairs_once():
    older, newer = revision(1, UP, UP), revision(2, UP)
    assert positions(older, newer) == [(0, 0)]
    assert reasons(older, newer) == {(1, 2): "r2 has fewer predictions with this formula"}


def test_under_the_first_rule_only_first_predictions_are_compared():
    assert positions(revision(1, UP, DOWN), revision(2, UP), FIRST) == [(0, 0)]
    assert reasons(revision(1, UP, DOWN), revision(2, UP), FIRST) == {}
    swapped = revision(1, UP, DOWN), revision(2, DOWN, UP)
    assert positions(*swapped, FIRST) == []
    assert reasons(*swapped, FIRST) == {
        (1, 1): "the first prediction of r2 has a different formula",
        (2, 1): "the first prediction of r1 has a different formula",
    }
    assert positions(*swapped, ALL) == [(0, 1), (1, 0)]


# --- on the site


@pytest.fixture
def worlds(people):
    """Function that creates two revisions with these formulas, and runs of models on both."""

    def make(older, newer, **codes):
        """Create the revisions and runs. `codes`: model -> (outcomes on r1, outcomes on r2)."""
        first = make_revision(people.alice, items=6, name="s", formulas=older)
        document = read_suite(suite_bytes(items=6, name="s", formulas=newer))
        suites.replace_draft(first.suite, document, actor=people.alice)
        second = suites.freeze(first.suite, actor=people.alice)
        for slug, (before, after) in codes.items():
            model = make_model(people.alice, slug=slug)
            finished_run(first, model, *before)
            finished_run(second, model, *after)
        return first.suite

    return make


HELD, FAILED = [1] * 6, [0] * 6
MIXED = [1, 0, 1, 0, 1, 0]


def get(client, query):
    return client.get(f"{reverse('compare')}?suite=s&r=1&r=2&{query}")


def words(response) -> str:
    return " ".join(response.content.decode().split())


@pytest.mark.parametrize("rule", ["each", "first"])
def test_the_halves_of_a_conjunction_have_no_difference_from_it(client, worlds, rule):
    worlds((BOTH,), (UP, DOWN), one=([MIXED], [HELD, MIXED]))
    response = get(client, f"model=one&rule={rule}")
    assert response.context["pairs"] == []
    page = words(response)
    assert "r1 and r2 make different predictions." in page
    assert "The revisions have no prediction in common" in page
    assert "no prediction of r2 has this formula" in page or rule == "first"
    assert response.context["n_differ"] == 0
    answer = client.get(f"/api/v1/compare/s/?model=one&r=1,2&rule={rule}").json()
    assert answer["pairs"] == []
    expected = [(1, 1), (2, 1)] if rule == "first" else [(1, 1), (2, 1), (2, 2)]
    said = [(row["revision"], row["prediction_number"]) for row in answer["not_compared"]]
    assert said == expected
    assert answer["not_compared"][0]["formula"] == BOTH
    assert "not compared: r1, prediction 1" in answer["note"]
    items = client.get(f"/api/v1/compare/s/items/?model=one&r=1,2&rule={rule}").json()
    assert items["not_compared"] == answer["not_compared"]
    assert {side["counts"] for row in items["results"] for side in row["sides"]} == {None}


def test_one_item_can_be_shown_where_no_prediction_is_in_both(client, worlds):
    worlds((BOTH,), (UP, DOWN), one=([MIXED], [HELD, MIXED]))
    assert get(client, "model=one&item=2").status_code == 200


@pytest.mark.parametrize("rule", ["each", "all", "first"])
def test_differences_are_over_the_predictions_in_both(client, worlds, rule):
    worlds((UP,), (UP, DOWN), one=([FAILED], [MIXED, FAILED]))
    response = get(client, f"model=one&rule={rule}")
    [pair] = response.context["pairs"]
    assert (pair.rate.difference, pair.rate.only_second, pair.rate.test) == (0.5, 3, "mcnemar")
    assert [row.differs for row in response.context["found"].items] == [code == 1 for code in MIXED]
    sides = [side.rate for side in response.context["sides"]]
    assert sides == [0.0, {"each": 0.25, "all": 0.0, "first": 0.5}[rule]]
    assert ("make different predictions" in words(response)) == (rule != "first")


def test_predictions_in_another_order_are_paired_by_formula(client, worlds):
    worlds((UP, DOWN), (DOWN, UP), one=([HELD, FAILED], [FAILED, HELD]))
    response = get(client, "model=one")
    assert response.context["n_differ"] == 0
    [pair] = response.context["pairs"]
    assert (pair.rate.difference, pair.rate.test) == (0.0, "sign")
    assert [cell.codes for cell in response.context["found"].items[0].sides] == [[1, 0], [1, 0]]
    assert "make different predictions" not in words(response)


def test_files_name_what_is_left_out(client, worlds):
    worlds((UP,), (UP, DOWN), one=([FAILED], [MIXED, FAILED]))
    address = "/figures/compare-items.{}?model=one&suite=s&r=1&r=2"
    figure = json.loads(client.get(address.format("json")).content)
    said = (
        "Predictions of two revisions are paired by formula; not compared: "
        "r2, prediction 2 (no prediction of r1 has this formula)."
    )
    assert figure["note"] == said
    content = b"".join(client.get(address.format("csv")))
    rows = list(csv.DictReader(io.StringIO(content.decode("utf-8-sig"))))
    assert {row["not_compared"] for row in rows} == {said}
    assert [row["margin_One, r2"] for row in rows] == ["1.0", "-1.0"] * 3


def test_models_on_one_revision_are_compared_on_all_its_predictions(client, worlds):
    worlds((UP,), (UP, DOWN), one=([FAILED], [FAILED, FAILED]), two=([FAILED], [FAILED, HELD]))
    pairs = {
        (pair.first.label, pair.second.label): pair
        for pair in get(client, "model=one&model=two").context["pairs"]
    }
    assert pairs["One, r2", "Two, r2"].rate.difference == 0.5
    assert pairs["Two, r1", "Two, r2"].rate.difference == 0.0


def test_runs_of_other_models_on_other_revisions_are_no_pair_and_are_not_corrected_for(client, worlds):
    worlds((UP,), (UP,), one=([FAILED], [HELD]), two=([FAILED], [MIXED]))
    response = get(client, "model=one&model=two")
    pairs = response.context["pairs"]
    assert [(pair.first.label, pair.second.label) for pair in pairs] == [
        ("One, r1", "One, r2"),
        ("One, r1", "Two, r1"),
        ("One, r2", "Two, r2"),
        ("Two, r1", "Two, r2"),
    ]
    corrected = multipletests([pair.rate.p for pair in pairs], method="holm")[1]
    assert [pair.rate.p_corrected for pair in pairs] == pytest.approx(list(corrected))
    assert "Runs of different models on different revisions are not compared." in words(response)
    answer = client.get("/api/v1/compare/s/?model=one,two&r=1,2").json()
    assert [(row["first"], row["second"]) for row in answer["pairs"]] == [(0, 1), (0, 2), (1, 3), (2, 3)]
