"""Every number of the pages of runs, suites, models and collections, computed with pandas from the exports."""

from __future__ import annotations

from dataclasses import astuple

import numpy as np
import pandas as pd
import pytest
from django.urls import reverse
from scipy.stats import beta, binom, bootstrap
from statsmodels.stats.proportion import proportion_confint

from gym.collections.services import create_collection, publish_collection
from gym.runs.models import PredictionResult
from gym.runs.read.scores import store_scores
from lmgym.runs.rules import prediction_statistics
from lmgym.runs.statistics import STATISTICS
from lmgym.runs.tables import values
from tests.factories import make_model, make_revision
from tests.lmgym.suites.documents import AGREEMENT
from tests.once import once_a_module
from tests.runs.boards import finished_run
from tests.runs.test_exports import table

FORMULAS = (AGREEMENT, "[(2;%match%) < (2;%mismatch%)] & [(3;%match%) < (3;%mismatch%)]")
FIRST, SECOND = [1, 1, 0, 2, 1, 1, 1, 0], [1, 0, 0, 1, 1, 1, 3, 1]


def make_run(people):
    """A run with two predictions of different chance levels over eight items; one outcome is too close to
    call.
    """
    revision = make_revision(people.alice, name="ours", items=8, formulas=FORMULAS)
    run = finished_run(revision, make_model(people.alice, slug="m1"), FIRST, SECOND)
    run.prediction_results.filter(position=0).update(
        close=[False, True, *[False] * 6], too_close=1, chance=0.5,
        passed_with_sums=5, passed_with_means=3, changed_by_length=4,
    )  # fmt: skip
    run.prediction_results.filter(position=1).update(close=[False] * 8, chance=0.25)
    return run


built, people, run = once_a_module(make_run)


def interval(shares: pd.Series, predictions: int = 1) -> tuple[float, float, float]:
    """Return (effective items, low, high): Wilson's interval with Kish's effective number of items."""
    rate, n = shares.mean(), float(len(shares))
    if predictions > 1 and shares.var(ddof=0) > 0:
        n = min(max(n, rate * (1 - rate) * n / shares.var(ddof=0)), n * predictions)
    return n, *proportion_confint(rate * n, n, method="wilson")


def tail(rate: float, n: float, chance: float) -> float:
    """Return the upper tail of the binomial distribution, or for a fractional number of items of its
    continuation by the beta distribution."""
    if n == int(n):
        return float(binom.sf(round(rate * n) - 1, int(n), chance))
    return float(beta.cdf(chance, rate * n, n - rate * n + 1))


def test_a_pandas_user_reproduces_each_prediction_of_the_run_page(client, run):
    outcomes = table(client, "outcomes", f"run={run.key}")
    predictions = table(client, "predictions", f"run={run.key}").set_index("prediction_number")
    results = client.get(run.get_absolute_url()).context["results"]
    assert [shown.result.chance for shown in results] == predictions["chance"].tolist() == [0.5, 0.25]
    for shown in results:
        row, number = shown.result, shown.result.position + 1
        own, told = outcomes[outcomes["prediction_number"] == number], predictions.loc[number]
        held, n = int(own["passed"].sum()), len(own)
        counts = [
            held,
            n,
            *((own["outcome"] == name).sum() for name in ("tie", "not evaluable")),
            own["too_close"].sum(),
        ]
        assert counts == [row.passed, row.n, row.ties, row.not_evaluable, row.too_close]
        assert counts == told[["passed", "n", "ties", "not_evaluable", "too_close"]].tolist()
        limits = proportion_confint(held, n, method="wilson")
        assert (row.low, row.high) == pytest.approx(limits)
        assert told[["low", "high"]].tolist() == pytest.approx(limits)
        assert shown.result.p == pytest.approx(tail(held / n, n, told["chance"]))
        assert told["p"] == pytest.approx(shown.result.p)


def test_a_pandas_user_reproduces_the_margins_of_the_run_page(client, run):
    outcomes = table(client, "outcomes", f"run={run.key}")
    predictions = table(client, "predictions", f"run={run.key}").set_index("prediction_number")
    page = client.get(run.get_absolute_url())
    for shown in page.context["results"]:
        number, margin = shown.result.position + 1, shown.result
        bits = outcomes.loc[outcomes["prediction_number"] == number, "margin"].dropna()
        names = ["mean_margin", "margin_low", "margin_high", "effect_size_g"]
        shown_values = [getattr(margin, name) for name in names]
        assert predictions.loc[number, names].tolist() == pytest.approx(shown_values)
        assert margin.mean_margin == pytest.approx(bits.mean())
        correction = 1 - 3 / (4 * (len(bits) - 1) - 1)
        assert margin.effect_size_g == pytest.approx(bits.mean() / bits.std() * correction)
        plain = bootstrap(
            (bits.to_numpy(),), np.mean, method="percentile", random_state=1
        ).confidence_interval
        assert plain.low - 0.6 < margin.margin_low <= plain.low
        assert plain.high <= margin.margin_high < plain.high + 0.6
        text = " ".join(page.content.decode().split())
        said = [f"{value:+.2f}".replace("-", "−") for value in shown_values]
        assert f"Mean {said[0]}, 95% interval {said[1]} to {said[2]}; effect size g {said[3]}." in text


def test_a_pandas_user_reproduces_the_scoring_rules_of_the_run_page(client, run):
    outcomes = table(client, "outcomes", f"run={run.key}")
    held = outcomes.pivot(index="item", columns="prediction_number", values="passed").astype(float)
    chance = table(client, "scores", f"run={run.key}").set_index("rule")["chance"]
    shares = {"each": held.mean(axis=1), "all": held.min(axis=1), "first": held[1]}
    rows = client.get(run.get_absolute_url()).context["by_rule"]
    assert [row.rule.key for row in rows] == list(shares)
    for row in rows:
        own = shares[row.rule.key]
        n, low, high = interval(own, 2 if row.rule.key == "each" else 1)
        assert (row.rate, row.score.low, row.score.high) == pytest.approx((own.mean(), low, high))
        assert row.score.chance == pytest.approx(chance[row.rule.key])
        assert row.score.p == pytest.approx(tail(own.mean(), n, chance[row.rule.key]))


def test_items_that_pass_with_sums_and_with_means_are_on_the_page_and_in_tables(client, run):
    page = client.get(run.get_absolute_url()).content.decode()
    assert (
        page.count(
            "5 items pass with sums of bits, 3 items pass with means per token; outcomes that differ: 4 of 8"
        )
        == 1
    )
    told = table(client, "predictions", f"run={run.key}").set_index("prediction_number")
    names = ["passed_with_sums", "passed_with_means", "changed_by_length"]
    assert told.loc[1, names].tolist() == [5, 3, 4]
    assert told.loc[2, names].isna().all()


def test_outcomes_that_do_not_say_whether_they_are_too_close_are_left_empty(client, run):
    PredictionResult.objects.filter(run=run, position=1).update(close=[])
    near = table(client, "outcomes", f"run={run.key}").groupby("prediction_number")["too_close"]
    assert near.count().tolist() == [8, 0]


def test_a_margin_that_is_stored_is_the_one_that_would_be_computed(run):
    first, score = run.prediction_results.get(position=0), run.scores.get(rule="first")
    stored, computed = values(first, STATISTICS), astuple(prediction_statistics(first.outcome()))
    assert stored == pytest.approx(computed)
    assert stored == pytest.approx(values(score, STATISTICS))
    assert first.margin_low < first.mean_margin < first.margin_high


def check_scores(client, scores, query):
    """Compare the rows of a page's table of results with the exports of the same address."""
    outcomes, told = table(client, "outcomes", query), table(client, "scores", query)
    told = told[told["rule"] == "each"].set_index(["suite", "model"])
    for row in scores:
        score, place = row.score, (row.run.revision.suite.slug, row.run.model.slug)
        own = outcomes[(outcomes["suite"] == place[0]) & (outcomes["model"] == place[1])]
        items = own.groupby("item")
        _, low, high = interval(items["passed"].mean(), own["prediction_number"].nunique())
        assert (score.rate, score.low, score.high) == pytest.approx((own["passed"].mean(), low, high))
        assert (score.passed, score.judged) == (own["passed"].sum(), len(own))
        assert (score.ties, score.too_close) == ((own["outcome"] == "tie").sum(), own["too_close"].sum())
        assert score.chance == pytest.approx(told.loc[place, "chance"])
        margins = items["margin"].apply(lambda bits: bits.mean(skipna=False))
        assert score.mean_margin == pytest.approx(margins.mean())
        limits = told.loc[place, ["margin_low", "margin_high"]].tolist()
        assert [score.margin_low, score.margin_high] == pytest.approx(limits)


def test_a_pandas_user_reproduces_the_suite_page(client, people, run):
    store_scores(run)
    finished_run(run.revision, make_model(people.alice, slug="m2"), SECOND, FIRST)
    page = client.get(reverse("suite-detail", args=["ours"]))
    assert len(page.context["scores"]) == 2
    check_scores(client, page.context["scores"], "suite=ours&r=1")
    assert "1 too close to call" in " ".join(page.content.decode().split())
    rates = table(client, "predictions", "suite=ours&r=1").set_index(["model", "prediction_number"])["rate"]
    for score in page.context["scores"]:
        for result in score.results:
            assert result.rate == rates[score.run.model.slug, result.position + 1]


def test_a_pandas_user_reproduces_the_model_page(client, people, run):
    store_scores(run)
    other = make_model(people.alice, slug="m2")
    second = make_revision(people.alice, name="theirs", items=4)
    for model, codes in ((run.model, [1, 0, 1, 1]), (other, [0, 0, 1, 2])):
        finished_run(second, model, codes)
    finished_run(run.revision, other, [1] * 8, [1] * 8)
    page = client.get(reverse("model-detail", args=["m1"]))
    assert len(page.context["scores"]) == 2
    check_scores(client, page.context["scores"], "model=m1")
    rates = table(client, "outcomes").groupby(["suite", "model"])["passed"].mean().unstack()
    assert page.context["own"].score.rate == pytest.approx(rates["m1"].mean())
    lead = rates["m1"] - rates["m2"]
    shown = [*page.context["strengths"], *page.context["weaknesses"]]
    assert {row.revision.suite.slug: row.difference for row in shown} == pytest.approx(lead.to_dict())
    assert [row.revision.suite.slug for row in page.context["strengths"]] == lead[lead > 0].index.tolist()


def test_a_pandas_user_reproduces_the_page_of_a_collection(client, people, run):
    second = make_revision(people.alice, name="theirs", items=4)
    for slug, codes in (("m2", [1, 0, 1, 1]), ("m3", [0, 0, 1, 2])):
        finished_run(second, make_model(people.alice, slug=slug), codes)
    finished_run(second, run.model, [1, 1, 1, 0])
    made = create_collection(
        actor=people.alice,
        slug="paper",
        title="A paper",
        description="",
        reference="",
        revisions=[run.revision, second],
    )
    publish_collection(made, actor=people.alice)
    board = client.get(reverse("collection-detail", args=["paper"])).context["board"]
    outcomes = pd.concat([table(client, "outcomes", f"suite={slug}&r=1") for slug in ("ours", "theirs")])
    rates = outcomes.groupby(["model", "suite"])["passed"].mean().unstack()
    assert sorted(row.model.slug for row in board.rows) == ["m1", "m2", "m3"]
    for row in board.rows:
        own = rates.loc[row.model.slug]
        assert row.score.rate == pytest.approx(own.mean())
        assert (row.score.suites_run, row.missing) == (own.notna().sum(), own.isna().sum())
        shown = {c.suite.slug: cell.rate for c, cell in zip(board.columns, row.cells, strict=True) if cell}
        assert shown == pytest.approx(own.dropna().to_dict())
