"""Intervals of tags and of a model's page, computed again from the exports as docs/statistics.md says."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from django.urls import reverse
from statsmodels.stats.proportion import proportion_confint

from suites import services as suites
from tests.factories import make_model, make_revision
from tests.once import once_a_module
from tests.runs.boards import finished_run
from tests.runs.test_exports import table
from tests.runs.test_intervals_from_exports import EXACT, SLUGS, groups_among, mean_over_suites, shared_factor

# --- means over suites: models' pages and the leaderboard -------------------------------------------------------------
RATES = {
    "npi": {"m1": [1, 1, 1, 0], "m2": [1, 0, 0, 0], "m3": [1, 1, 0, 0]},
    "npi_mod": {"m1": [1, 1, 0, 0], "m2": [0, 0, 0, 0]},
    "gap": {"m1": [0, 1, 0, 0], "m2": [1, 1, 1, 1], "m3": [1, 1, 0, 1]},
    "gap_mod": {"m1": [0, 0, 0, 1], "m3": [1, 0, 0, 1]},
}
TAGS = {"licensing": ["npi", "npi_mod"], "dependencies": ["gap", "gap_mod"]}


def make_world(people):
    """Models on suites with tags and modifiers."""
    models = {slug: make_model(people.alice, slug=slug) for slug in SLUGS}
    for name, by_model in RATES.items():
        revision = make_revision(people.alice, items=4, name=name)
        suites.set_tags(revision.suite, [tag for tag, names in TAGS.items() if name in names])
        for slug, codes in by_model.items():
            finished_run(revision, models[slug], codes)


built, people, world = once_a_module(make_world)


@pytest.fixture
def tagged(client, world) -> pd.DataFrame:
    """The table `scores`, by suite and model."""
    scores = table(client, "scores")
    return scores[scores["rule"] == "each"].set_index(["suite", "model"])


def tag_mean(scores: pd.DataFrame, tag: str, slug: str) -> list[float]:
    own = scores.xs(slug, level="model")
    own = own[own.index.isin(TAGS[tag])]
    names = list(own.index)
    counts = [np.array(RATES[name][slug]) == 1 for name in names]
    groups = groups_among(names, [4] * len(names)) if len(names) > 1 else None
    factor = shared_factor(counts, groups) if groups else 1
    return mean_over_suites(own["rate"], own["n"], factor=factor)


def test_tag_columns_of_the_leaderboard(client, tagged):
    board = client.get(reverse("leaderboard")).context["board"]
    assert sorted(board.tags) == sorted(TAGS)
    for row in board.rows:
        for tag, mean in zip(board.tags, row.tags, strict=True):
            expected = tag_mean(tagged, tag, row.model.slug)
            assert [mean.rate, mean.low, mean.high] == pytest.approx(expected, **EXACT)


@pytest.mark.parametrize("slug", SLUGS)
def test_a_models_page_against_the_field(client, tagged, slug):
    context = client.get(reverse("model-detail", args=[slug])).context
    others = [other for other in SLUGS if other != slug]
    figure = next(one for one in context["figures"] if one.kind == "model-tags")
    shown = pd.DataFrame(figure.rows, columns=figure.header).set_index("tag")
    assert set(shown.index) == set(TAGS)
    for tag, row in shown.iterrows():
        expected = tag_mean(tagged, tag, slug)
        assert row[["rate", "low", "high"]].tolist() == pytest.approx(expected, **EXACT)
        field = [tag_mean(tagged, tag, other)[0] for other in others]
        assert row["mean_of_other_models"] == pytest.approx(np.mean(field), **EXACT)
        assert row["other_models"] == 2
    for row in (*context["strengths"], *context["weaknesses"]):
        own = tagged.loc[row.revision.suite.slug, "rate"]
        theirs = own.drop(slug)
        assert (row.rate, row.field, row.n) == (own[slug], pytest.approx(theirs.mean(), **EXACT), len(theirs))
        assert row.rank == own.rank(method="min", ascending=False)[slug]
        limits = proportion_confint(round(own[slug] * 4), 4, method="wilson")
        assert [row.cell.low, row.cell.high] == pytest.approx(limits)


@pytest.mark.parametrize("slug", SLUGS)
def test_a_models_page_with_and_without_modifier(client, tagged, slug):
    pairs = client.get(reverse("model-detail", args=[slug])).context["pairs"]
    own = tagged.xs(slug, level="model")["rate"]
    expected = {
        name: (own[name], own[f"{name}_mod"]) for name in ("npi", "gap") if f"{name}_mod" in own.index
    }
    found = {pair.plain.key: (pair.change.without, pair.change.with_modifier) for pair in pairs}
    assert found == expected
    for pair in pairs:
        assert pair.change.difference == pytest.approx(own[pair.modified.key] - own[pair.plain.key], **EXACT)
