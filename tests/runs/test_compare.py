"""Two to five models on the same items."""

from __future__ import annotations

import pytest
from django.urls import reverse
from statsmodels.stats.multitest import multipletests

from gym.jobs.testing import run_pending
from gym.runs.work import services as runs
from lmgym.suites.formats import read_suite
from suites import services as suites
from tests.factories import make_model, make_revision
from tests.lmgym.suites.documents import suite_bytes
from tests.once import once_a_module
from tests.runs.boards import finished_run


def make_world(people):
    revision = make_revision(people.alice, items=5, name="s")
    first, second = make_model(people.alice, slug="first"), make_model(people.alice, slug="second")
    finished_run(revision, first, [1, 0, 0, 0, 2])
    finished_run(revision, second, [1, 1, 1, 1, 0])
    return {"revision": revision, "first": first, "second": second}


built, people, world = once_a_module(make_world)


def get(client, query):
    return client.get(f"{reverse('compare')}?{query}")


def test_a_pair_has_its_difference_interval_and_mcnemar(client, world):
    response = get(client, "model=first&model=second&suite=s")
    [pair] = response.context["pairs"]
    assert (pair.rate.n, pair.rate.difference, pair.rate.only_first, pair.rate.only_second) == (
        5,
        pytest.approx(0.6),
        0,
        3,
    )
    assert pair.rate.p == 0.25
    assert pair.rate.low < 0.6 < pair.rate.high
    assert "Scoring rule: each prediction" in response.content.decode()


def test_items_where_they_differ_can_be_shown_alone(client, world):
    response = get(client, "model=first&model=second&suite=s&only=differ")
    assert [row.item for row in response.context["items"]] == [2, 3, 4]
    assert response.context["n_items"] == 5


def test_several_pairs_are_corrected(client, world, people):
    finished_run(world["revision"], make_model(people.alice, slug="third"), [0, 0, 0, 0, 0])
    response = get(client, "model=first&model=second&model=third&suite=s")
    assert len(response.context["pairs"]) == 3
    pairs = response.context["pairs"]
    assert all(pair.rate.p_corrected >= pair.rate.p for pair in pairs)
    assert "p (Holm)" in response.content.decode()


def test_the_correction_for_many_comparisons_is_chosen_in_the_address_and_named(client, world, people):
    finished_run(world["revision"], make_model(people.alice, slug="third"), [0, 0, 0, 0, 0])
    query = "model=first&model=second&model=third&suite=s"
    by_holm, by_bh = get(client, query), get(client, f"{query}&correction=bh")
    assert "p (Benjamini–Hochberg)" in by_bh.content.decode()
    values = [pair.rate.p for pair in by_bh.context["pairs"]]
    for response, method in ((by_holm, "holm"), (by_bh, "fdr_bh")):
        expected = list(multipletests(values, method=method)[1])
        assert [pair.rate.p_corrected for pair in response.context["pairs"]] == pytest.approx(expected)
    assert (
        "Benjamini–Hochberg-corrected"
        in get(client, "model=first&model=third&correction=bh").content.decode()
    )


def test_without_a_suite_all_suites_are_compared(client, world):
    response = get(client, "model=first&model=second")
    [row] = response.context["suite_rows"]
    assert [side.rate for side in row.sides] == [pytest.approx(0.2), pytest.approx(0.8)]
    [total] = response.context["found"].totals
    assert total.difference.mean == pytest.approx(0.6)


def test_many_suites_come_in_pages_and_are_corrected_together(client, world, people, monkeypatch):
    monkeypatch.setattr("gym.runs.pages.compare_views.PAIRS_PER_PAGE", 1)
    other = make_revision(people.alice, items=5, name="t")
    finished_run(other, world["first"], [0, 0, 0, 0, 0])
    finished_run(other, world["second"], [1, 1, 1, 1, 1])
    first, second = get(client, "model=first&model=second"), get(client, "model=first&model=second&page=2")
    rows = [*first.context["suite_rows"], *second.context["suite_rows"]]
    assert [row.revision.suite.slug for row in rows] == ["s", "t"]
    assert [pair.rate.p_corrected for row in rows for pair in row.pairs] == pytest.approx([0.25, 2 * 0.0625])
    assert first.context["found"].totals == second.context["found"].totals
    assert first.context["found"].totals[0].suites_both == 2


def test_two_revisions_under_the_same_model(client, world, people):
    suites.replace_draft(
        world["revision"].suite, read_suite(suite_bytes(items=4, name="s")), actor=people.alice
    )
    suites.freeze(world["revision"].suite, actor=people.alice)
    newer = world["revision"].suite.latest_frozen
    finished_run(newer, world["first"], [1, 1, 1, 1])
    response = get(client, "model=first&suite=s&r=1&r=2")
    assert [side.label for side in response.context["sides"]] == ["First, r1", "First, r2"]
    [pair] = response.context["pairs"]
    assert (pair.rate.n, pair.rate.difference) == (4, 0.75)
    assert "no such item" in response.content.decode()


def test_an_item_is_shown_under_both_models_to_the_tokens(client, people):
    revision = make_revision(people.alice, name="short")
    for slug in ("one", "two"):
        runs.queue_run(revision, make_model(people.alice, slug=slug), actor=people.alice)
    run_pending()
    page = get(client, "model=one&model=two&suite=short&item=2").content.decode()
    assert page.count("Bits of every region and token under") == 2
    assert get(client, "model=one&model=two&suite=short&item=99").status_code == 404
    assert get(client, "model=one&model=two&suite=short&item=x").status_code == 404


def test_runs_that_are_missing_are_named(client, world, people):
    make_model(people.alice, slug="third")
    assert "Third on r1" in get(client, "model=first&model=third&suite=s").content.decode()


@pytest.mark.parametrize("models", ["", "model=nobody", "model=third", "model=hidden"])
def test_a_suite_without_any_of_the_models_has_nothing_to_compare(client, world, people, models):
    make_model(people.alice, slug="third")
    hidden = make_model(people.alice, slug="hidden", visibility="private", name="Hidden one")
    finished_run(world["revision"], hidden, [1] * 5)
    response = get(client, f"{models}&suite=s")
    assert response.status_code == 200
    assert "Nothing to compare yet" in response.content.decode()


def test_more_than_five_models_are_said_to_be_too_many(client, people):
    query = "&".join(f"model=m{k}" for k in range(7))
    for k in range(7):
        make_model(people.alice, slug=f"m{k}")
    page = " ".join(get(client, query).content.decode().split())
    assert "At most five" in page
    assert "Left out: m5, m6" in page


def test_a_stranger_cannot_compare_on_a_private_suite(client, people):
    make_revision(people.alice, name="secret", visibility="private")
    client.force_login(people.charlie)
    assert get(client, "suite=secret&model=x").status_code == 404


def test_a_stranger_does_not_see_a_private_model(client, world, people):
    hidden = make_model(people.alice, slug="hidden", visibility="private", name="Hidden one")
    finished_run(world["revision"], hidden, [1] * 5)
    assert "Hidden one" not in get(client, "model=first&model=hidden&suite=s").content.decode()


def test_drafts_have_nothing_to_compare(client, people):
    from tests.factories import make_suite

    make_suite(people.alice, name="d", frozen=False)
    assert get(client, "suite=d&model=x").status_code == 404
