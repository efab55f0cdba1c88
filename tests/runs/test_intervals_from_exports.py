"""Numbers computed from the CSV as in docs/statistics.md equal those of the pages, intervals to the last digit."""

from __future__ import annotations

import re
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from django.urls import reverse
from scipy.stats import binomtest
from statsmodels.stats.multitest import multipletests

from gym.runs.models import PredictionResult
from gym.runs.read.scores import store_scores
from gym.runs.read.shared_items import groups_of
from lmgym.runs.shared_material import groups_by_suite
from suites.models import SuiteRevision
from tests.factories import make_model, make_revision
from tests.lmgym.suites.documents import AGREEMENT
from tests.once import once_a_module
from tests.runs.boards import finished_run
from tests.runs.test_exports import table

MARGINS = ("mean_margin", "margin_low", "margin_high", "effect_size_g")
DOCS = (Path(__file__).resolve().parents[2] / "docs" / "statistics.md").read_text(encoding="utf-8")
TOLD: dict[str, Any] = {}
exec(re.search(r"```python\n(import numpy.*?)```", DOCS, re.DOTALL)[1], TOLD)
bootstrap_mean, difference = TOLD["bootstrap_mean"], TOLD["difference"]
mean_over_suites, shared_factor = TOLD["mean_over_suites"], TOLD["shared_factor"]

EXACT = {"abs": 1e-9, "rel": 0}
SLUGS = ("m1", "m2", "m3")
SIZES = {"big": 260, "small": 9, "alike": 6}
"""Number of items by suite. For `big`, more resamples are drawn than fit into one batch; all models agree on
`alike`."""


def make_world(people):
    """Three models on three suites with two predictions, some outcomes and margins missing."""
    rng = np.random.default_rng(7)
    models = {slug: make_model(people.alice, slug=slug) for slug in SLUGS}
    for name, items in SIZES.items():
        revision = make_revision(people.alice, items=items, name=name, formulas=(AGREEMENT, AGREEMENT))
        for slug in SLUGS:
            codes = [rng.choice([0, 1, 1, 2, 3], items) if name != "alike" else [1] * items for _ in range(2)]
            run = finished_run(revision, models[slug], *([int(code) for code in some] for some in codes))
            for result in PredictionResult.objects.filter(run=run):
                bits = rng.normal(1.0, 3.0, items)
                result.margins = [
                    None if code == 3 else float(value)
                    for code, value in zip(result.outcomes, bits, strict=True)
                ]
                result.save()
            store_scores(run)
    return models


built, people, world = once_a_module(make_world)


@pytest.fixture
def outcomes(client, world) -> pd.DataFrame:
    return table(client, "outcomes")


def by_item(outcomes: pd.DataFrame, suite: str, model: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return (held, margins), each with items in the order of the table x predictions."""
    own = outcomes[(outcomes["suite"] == suite) & (outcomes["model"] == model)]
    order = own["item"].drop_duplicates()
    held, margins = (
        own.pivot(index="item", columns="prediction_number", values=name).loc[order]
        for name in ("passed", "margin")
    )
    return held.astype(float), margins


def counts(outcomes: pd.DataFrame, suite: str, model: str, rule: str) -> tuple[pd.Series, pd.Series]:
    """Return the pass rate of each item under a rule, from 0 to 1, and its margin in bits."""
    held, margins = by_item(outcomes, suite, model)
    if rule == "first":
        return held[1], margins[1]
    if rule == "all":
        return held.min(axis=1), margins.min(axis=1, skipna=False)
    return held.mean(axis=1), margins.mean(axis=1, skipna=False)


def hedges(values: pd.Series) -> float:
    return values.mean() / values.std() * (1 - 3 / (4 * (len(values) - 1) - 1))


def groups_among(names: list[str], sizes: list[int]) -> list[np.ndarray]:
    """Return the groups of items of each suite. All suites have the factory's sentences, so their items share
    material."""
    revisions = [SuiteRevision.objects.get(suite__slug=name) for name in names]
    found = groups_of(revisions)
    assert found
    rows = [(row.pk, range(1, n + 1)) for row, n in zip(revisions, sizes, strict=True)]
    return groups_by_suite(rows, found)


def check_rates(
    value, shown, first: list[pd.Series], second: list[pd.Series], rule: str, groups=None
) -> None:
    mean = np.mean([values.mean() for values in second]) - np.mean([values.mean() for values in first])
    limits = difference(first, second, predictions=2 if rule == "each" else 1, groups=groups)
    assert [value, shown.low, shown.high] == pytest.approx([mean, *limits], **EXACT)


def check_difference(shown, values: pd.Series) -> None:
    assert (shown.n, shown.mean) == (len(values), pytest.approx(values.mean(), **EXACT))
    if np.ptp(values) == 0:
        assert (shown.low, shown.high, shown.effect_size_g) == (None, None, None)
    else:
        assert [shown.low, shown.high] == pytest.approx(list(bootstrap_mean(values)), **EXACT)
        assert shown.effect_size_g == pytest.approx(hedges(values), **EXACT)


@pytest.mark.parametrize("suite", SIZES)
def test_margins_of_a_run_page(client, outcomes, suite):
    run = outcomes.loc[(outcomes["suite"] == suite) & (outcomes["model"] == "m1"), "run"].iloc[0]
    context = client.get(reverse("run-detail", args=[run])).context
    _, margins = by_item(outcomes, suite, "m1")
    for shown in context["results"]:
        values = margins[shown.result.position + 1].dropna()
        found = [getattr(shown.result, name) for name in MARGINS]
        assert found == pytest.approx([values.mean(), *bootstrap_mean(values), hedges(values)], **EXACT)
    for row in context["by_rule"]:
        values = counts(outcomes, suite, "m1", row.rule.key)[1].dropna()
        found = [getattr(row.score, name) for name in MARGINS]
        assert found == pytest.approx([values.mean(), *bootstrap_mean(values), hedges(values)], **EXACT)


@pytest.mark.parametrize("rule", ["each", "all", "first"])
@pytest.mark.parametrize("suite", SIZES)
def test_differences_of_the_compare_page(client, outcomes, suite, rule):
    page = client.get(f"{reverse('compare')}?model=m1,m2,m3&suite={suite}&rule={rule}").context
    assert len(page["pairs"]) == 3
    tests = []
    for pair, (first, second) in zip(page["pairs"], combinations(SLUGS, 2), strict=True):
        ours, theirs = (counts(outcomes, suite, slug, rule) for slug in (first, second))
        check_rates(pair.rate.difference, pair.rate, [ours[0]], [theirs[0]], rule)
        check_difference(pair.margin, (theirs[1] - ours[1]).dropna())
        only_first, only_second = int((ours[0] > theirs[0]).sum()), int((theirs[0] > ours[0]).sum())
        assert (pair.rate.only_first, pair.rate.only_second) == (only_first, only_second)
        differing = only_first + only_second
        tests.append(binomtest(only_first, differing).pvalue if differing else 1.0)
        assert pair.rate.p == pytest.approx(tests[-1])
    assert [pair.rate.p_corrected for pair in page["pairs"]] == pytest.approx(
        multipletests(tests, method="holm")[1]
    )
    for side, slug in zip(page["sides"], SLUGS, strict=True):
        assert side.rate == pytest.approx(counts(outcomes, suite, slug, rule)[0].mean(), **EXACT)


@pytest.mark.parametrize("rule", ["each", "all", "first"])
def test_differences_of_sg_scores(client, outcomes, rule):
    found = client.get(f"{reverse('compare')}?model=m1,m2,m3&rule={rule}").context["found"]
    names = sorted(SIZES)
    assert [row.revision.suite.slug for row in found.rows] == names
    for total, slug in zip(found.totals, SLUGS[1:], strict=True):
        first, second = ([counts(outcomes, name, one, rule)[0] for name in names] for one in ("m1", slug))
        groups = groups_among(names, [len(values) for values in first])
        check_rates(total.difference.mean, total.difference, first, second, rule, groups)
        changes = [b - a for a, b in zip(first, second, strict=True)]
        assert total.shared_items_factor == pytest.approx(shared_factor(changes, groups), **EXACT)
    every = [pair for row in found.rows for pair in row.pairs]
    corrected = multipletests([pair.rate.p for pair in every], method="holm")[1]
    assert [pair.rate.p_corrected for pair in every] == pytest.approx(corrected)
