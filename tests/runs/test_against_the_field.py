"""A model compared with the others: every number on its page has its interval and items."""

from __future__ import annotations

import csv
import io

import pytest
from django.urls import reverse

from gym.runs.read.leaderboard.build import leaderboard
from gym.runs.read.model_profile import robust_pairs, robustness
from lmgym.runs.leaderboard.options import Options
from lmgym.stats import rate_difference, score_interval, weighted_mean
from tests.factories import make_model, make_revision
from tests.once import once_a_module
from tests.runs.boards import finished_run


def make_world(people):
    """A model that passes 3 of 4 items without a modifier and 1 with it, and 4 and 2 in another pair of
    suites. A second model has run on the same suites."""
    mine, other = make_model(people.alice, slug="mine"), make_model(people.alice, slug="other")
    rates = {"a": [1, 1, 1, 0], "a_mod": [1, 0, 0, 0], "b": [1, 1, 1, 1], "b_mod": [1, 1, 0, 0]}
    for name, codes in rates.items():
        revision = make_revision(people.alice, name=name, items=4)
        finished_run(revision, mine, codes)
        finished_run(revision, other, [0, 0, 0, 1])
    return mine


built, people, model = once_a_module(make_world)


def test_a_pair_has_the_intervals_of_both_rates_and_of_their_difference(model, people):
    [first, _] = robust_pairs(leaderboard(people.nobody, Options()), [model])
    before, after = score_interval(0.75, 4), score_interval(0.25, 4)
    change = first.change
    assert (change.without_interval, change.with_interval) == (before, after)
    expected = rate_difference(0.75, before, 0.25, after)
    assert (change.difference_interval.low, change.difference_interval.high) == pytest.approx(
        (expected.low, expected.high)
    )
    assert change.difference_interval.low < change.difference < change.difference_interval.high


def test_robustness_over_pairs_is_a_mean_with_its_interval_and_items(client, model, people):
    row = next(row for row in robustness(leaderboard(people.nobody, Options())) if row.row.model == model)
    mean, interval = weighted_mean([0.75, 1.0], [4, 4], [1, 1])
    assert (row.change.without, row.change.without_interval) == (mean, interval)
    assert (row.n, row.n_items_without, row.n_items_with) == (2, 8, 8)
    address = reverse("figure", args=["model-pairs", "csv"]) + "?of=mine"
    told = next(
        r for r in csv.DictReader(io.StringIO(client.get(address).content.decode())) if r["model"] == "Mine"
    )
    assert float(told["without_low"]) == pytest.approx(interval.low)
    assert (told["with_n"], told["difference"]) == ("8", "-0.5")
    assert float(told["low"]) < -0.5 < float(told["high"])


def test_the_page_shows_interval_items_and_chance_of_strengths_weaknesses_and_pairs(client, model):
    page = client.get(reverse("model-detail", args=["mine"]))
    text = " ".join(page.content.decode().split())
    table = text.split('id="strengths"')[1].split("</table>")[0]
    top = page.context["strengths"][0]
    for words in (
        "Items",
        "Chance",
        "1 model",
        f"{100 * top.cell.low:.1f}% to {100 * top.cell.high:.1f}%",
    ):
        assert words in table, words
    pairs = text.split('id="robustness"')[1].split("</table>")[0]
    assert "30.1% to 95.4%, 4 items" in pairs
