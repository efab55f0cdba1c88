"""Exports for other programs, from which pandas also reproduces every number of a page."""

from __future__ import annotations

import io
import json
import re
import zipfile

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from django.urls import reverse
from scipy.stats import binomtest, t
from statsmodels.stats.proportion import proportion_confint

from gym.jobs.testing import run_pending
from gym.runs.tables.registry import FRAMES
from gym.runs.work import services
from lmgym.runs.uploaded import fit_part
from lmgym.suites.intake import read_any
from tests.factories import make_model, make_revision, make_suite
from tests.lmgym.suites.documents import AGREEMENT
from tests.runs.boards import finished_run


@pytest.fixture
def run(people):
    revision = make_revision(people.alice, name="ours", formulas=(AGREEMENT, "(3;%match%) = (3;%mismatch%)"))
    run = services.queue_run(revision, make_model(people.alice), actor=people.alice)
    run_pending()
    run.refresh_from_db()
    return run


def content_of(response) -> bytes:
    return b"".join(response.streaming_content) if response.streaming else response.content


def table(client, what, query="", form="csv"):
    response = client.get(f"{reverse('export-table', args=[what, form])}?{query}")
    assert response.status_code == 200
    data = io.BytesIO(content_of(response))
    return (
        pd.read_csv(data, keep_default_na=False, na_values=[""])
        if form == "csv"
        else pq.read_table(data).to_pandas()
    )


def test_a_pandas_user_reproduces_the_numbers_of_the_run_page(client, run):
    outcomes = table(client, "outcomes", f"run={run.key}")
    regions = table(client, "regions", f"run={run.key}")
    predictions = table(client, "predictions", f"run={run.key}").set_index("prediction_number")
    response = client.get(run.get_absolute_url())
    by_prediction = outcomes.groupby("prediction_number")
    assert len(response.context["results"]) == len(predictions) == 2
    for shown in response.context["results"]:
        rows = by_prediction.get_group(shown.result.position + 1)
        assert (rows["passed"].sum(), len(rows)) == (shown.result.passed, shown.result.n)
        assert (rows["outcome"] == "tie").sum() == shown.result.ties
        low, high = proportion_confint(rows["passed"].sum(), len(rows), method="wilson")
        assert (shown.result.low, shown.result.high) == pytest.approx((low, high))
        chance = predictions.loc[shown.result.position + 1, "chance"]
        assert chance == pytest.approx(shown.result.chance)
        by_chance = binomtest(int(rows["passed"].sum()), len(rows), chance, alternative="greater")
        assert shown.result.p == pytest.approx(by_chance.pvalue)
        assert rows["margin"].mean() == pytest.approx(shown.result.mean_margin)
    items = outcomes.pivot(index="item", columns="prediction_number", values="passed")
    expected = {"each": items.to_numpy().mean(), "all": items.all(axis=1).mean(), "first": items[1].mean()}
    assert {row.rule.key: row.rate for row in response.context["by_rule"]} == pytest.approx(expected)
    cells = regions[regions["content"].notna()].groupby(["condition", "region_number"])["surprisal"]
    for row in run.region_summary:
        for number, cell in enumerate(row["regions"], start=1):
            bits = cells.get_group((row["condition"], number))
            half = t.ppf(0.975, len(bits) - 1) * bits.sem()
            limits = [bits.mean() - half, bits.mean() + half] if half > 1e-9 else [None, None]
            expected = [bits.mean(), *limits]
            assert [cell["mean"], cell["low"], cell["high"]] == pytest.approx(expected)


def test_a_pandas_user_reproduces_the_leaderboard(client, people):
    a, b = make_revision(people.alice, name="a", items=4), make_revision(people.alice, name="b", items=4)
    for slug, codes in (("m1", [1, 1, 0, 2]), ("m2", [0, 0, 1, 3])):
        model = make_model(people.alice, slug=slug)
        finished_run(a, model, codes)
        finished_run(b, model, [1, 1, 1, 0])
    outcomes = table(client, "outcomes")
    rates = outcomes.groupby(["model", "suite"])["passed"].mean()
    board = client.get(reverse("leaderboard")).context["board"]
    for row in board.rows:
        own = rates[row.model.slug]
        assert row.score.rate == pytest.approx(own.mean())
        assert [cell.rate for cell in row.cells] == pytest.approx([own[c.suite.slug] for c in board.columns])
    scores = table(client, "scores").query("rule == 'each'").set_index(["model", "suite"])
    for (model, suite), rate in rates.items():
        assert scores.loc[(model, suite), "rate"] == pytest.approx(rate)
        assert scores.loc[(model, suite), "n"] == 4
    for row in board.rows:  # two suites of four items: Wilson's interval with the variance of their mean
        rates = scores.loc[row.model.slug]["rate"].to_numpy()
        levelled = (4 * rates + rates.mean()) / 5
        variance = (levelled * (1 - levelled) / 3.5).sum() / 4
        factor = row.score.shared_items_factor  # both have the factory's sentences
        variance *= factor**2
        limits = proportion_confint(
            (n := rates.mean() * (1 - rates.mean()) / variance) * rates.mean(), n, method="wilson"
        )
        assert [row.score.low, row.score.high] == pytest.approx(limits)


def test_a_pandas_user_reproduces_the_compare_page(client, people):
    revision = make_revision(people.alice, name="s", items=6)
    for slug, codes in (("m1", [1, 1, 0, 2, 0, 0]), ("m2", [1, 0, 1, 1, 1, 1])):
        finished_run(revision, make_model(people.alice, slug=slug), codes)
    held = table(client, "outcomes", "suite=s").pivot(index="item", columns="model", values="passed")
    page = client.get(f"{reverse('compare')}?model=m1&model=m2&suite=s").context
    [pair] = page["pairs"]
    only_first, only_second = int((held["m1"] & ~held["m2"]).sum()), int((held["m2"] & ~held["m1"]).sum())
    assert (pair.rate.only_first, pair.rate.only_second) == (only_first, only_second)
    assert pair.rate.p == pytest.approx(binomtest(only_first, only_first + only_second).pvalue)
    assert pair.rate.difference == pytest.approx(held["m2"].mean() - held["m1"].mean())
    assert page["n_differ"] == (held["m1"] != held["m2"]).sum()
    [row] = client.get(f"{reverse('compare')}?model=m1&model=m2").context["suite_rows"]
    assert [side.rate for side in row.sides] == pytest.approx([held["m1"].mean(), held["m2"].mean()])


def test_tokens_add_up_to_regions(client, run):
    tokens, regions = table(client, "tokens"), table(client, "regions")
    keys = ["run", "item", "condition", "region_number"]
    sums = tokens[~tokens["special"]].groupby(keys)["surprisal"].sum()
    assert np.allclose(regions.set_index(keys)["surprisal"].reindex(sums.index), sums)


def test_parquet_holds_what_csv_holds_with_types(client, run):
    for what in FRAMES:
        plain, typed = table(client, what), table(client, what, form="parquet")
        assert list(plain.columns) == list(typed.columns), what
        assert len(plain) == len(typed), what
        assert typed["revision"].dtype == "int64", what
        for name in typed.select_dtypes("float").columns:
            assert np.allclose(plain[name].astype(float), typed[name], equal_nan=True), (what, name)


def test_tables_name_run_revision_and_hash(client, run):
    row = table(client, "regions", "suite=ours&r=1").iloc[0]
    assert (row["run"], row["revision"], row["suite_sha256"]) == (run.key, 1, run.revision.sha256)


def test_of_several_runs_the_newest_counts_unless_all_are_asked_for(client, people):
    revision, model = make_revision(people.alice), make_model(people.alice)
    finished_run(revision, model, [1, 1, 1])
    newest = finished_run(revision, model, [0, 0, 0])
    assert set(table(client, "outcomes")["run"]) == {newest.key}
    assert table(client, "outcomes", "all=1")["run"].nunique() == 2


def test_a_stranger_gets_nothing_of_a_private_suite(client, people):
    revision = make_revision(people.alice, name="secret", visibility="private")
    run = finished_run(revision, make_model(people.alice), [1, 1, 1])
    client.force_login(people.charlie)
    assert table(client, "outcomes").empty
    for query in (f"run={run.key}", "suite=secret"):
        assert client.get(f"{reverse('export-table', args=['outcomes', 'csv'])}?{query}").status_code == 404


def test_a_choice_that_fits_nothing_is_not_there(client, run):
    for query in ("suite=nothing", "model=%00", "suite=a&r=x", "run=x", "r=99999999999999999"):
        answer = client.get(f"{reverse('export-table', args=['scores', 'csv'])}?{query}")
        assert answer.status_code == 404, query


# --- minimal pairs -------------------------------------------------------------------------------------------------
def suite_file(client, slug, form, number=1):
    return client.get(reverse("export-suite", args=[slug, number, form]))


def test_minimal_pairs_are_had_as_in_blimp(client, run, people):
    make_revision(people.alice, name="pairs")
    lines = [
        json.loads(line) for line in suite_file(client, "pairs", "blimp.jsonl").content.decode().splitlines()
    ]
    assert len(lines) == 3
    assert lines[0]["sentence_good"] == "The woman plays all day."
    assert lines[0]["sentence_bad"] == "The woman play all day."
    assert lines[0]["UID"] == "pairs"


def test_our_reader_takes_them_back(client, people):
    make_revision(people.alice, name="pairs")
    document = read_any(suite_file(client, "pairs", "blimp.jsonl").content, "pairs.jsonl")
    assert len(document.sentences) == 6
    assert document.predictions[0].formula == "(*;%good%) < (*;%bad%)"


def test_a_task_folder_has_data_task_and_a_text_about_it(client, people):
    make_revision(people.alice, name="pairs")
    response = suite_file(client, "pairs", "lm-eval.zip")
    archive = zipfile.ZipFile(io.BytesIO(content_of(response)))
    assert set(archive.namelist()) == {
        "gym_pairs/gym_pairs.jsonl",
        "gym_pairs/gym_pairs.yaml",
        "gym_pairs/outcomes.py",
        "gym_pairs/README.md",
    }
    assert "http://testserver/suites/pairs/r1/" in archive.read("gym_pairs/README.md").decode()


@pytest.mark.parametrize(
    ("formula", "reason"),
    [
        ("[(2;%match%) < (2;%mismatch%)] & [(3;%match%) < (3;%mismatch%)]", "is not a single comparison"),
        ("(2;%match%) + (3;%match%) < (2;%mismatch%)", "computes with several regions"),
        ("(2;%match%) = (2;%mismatch%)", "compares with ="),
        ("(2;%match%) < (3;%mismatch%)", "does not compare the same region"),
    ],
)
def test_what_is_no_minimal_pair_is_refused_with_the_reason(client, people, formula, reason):
    make_revision(people.alice, name="more", formulas=(formula,))
    response = suite_file(client, "more", "blimp.jsonl")
    assert response.status_code == 409
    assert reason in response.content.decode()


@pytest.mark.parametrize("form", ["lm-eval.zip", "inspect-ai.zip"])
def test_a_suite_without_an_expressible_prediction_has_no_tasks(client, people, form):
    make_revision(people.alice, name="more", formulas=("(2;%match%) / (2;%mismatch%) < 1",))
    response = suite_file(client, "more", form)
    assert response.status_code == 409
    assert "divides by zero or by something other than a number" in response.content.decode()


# --- syntaxgym-core, citing ------------------------------------------------------------------------------------------
def test_evaluated_json_is_read_back_as_results(client, run):
    from lmgym.runs.uploaded import read_results
    from suites.selectors import document_of

    response = client.get(reverse("export-evaluated", args=[run.key]))
    uploaded = read_results(response.content)
    result = fit_part(uploaded.parts[0], document_of(run.revision)).result
    ours = list(run.prediction_results.order_by("position"))
    assert [row.outcomes for row in result.predictions] == [row.outcomes for row in ours]


def test_its_formulas_have_round_brackets_alone(client, people):
    formula = "[(2;%match%) < (2;%mismatch%)] & [(3;%match%) = (3;%mismatch%)]"
    run = services.queue_run(
        make_revision(people.alice, formulas=(formula,)), make_model(people.alice), actor=people.alice
    )
    run_pending()
    data = json.loads(client.get(reverse("export-evaluated", args=[run.key])).content)
    assert not re.search(r"[\[\]]", data["predictions"][0]["formula"])


@pytest.mark.parametrize(
    "formula",
    ["abs((2;%match%)) > 1", "(2;%match%) / 2 < 3", "(2;%match%) <= 4"],
)
def test_formulas_that_core_lacks_are_refused(client, people, formula):
    run = services.queue_run(
        make_revision(people.alice, formulas=(formula,)), make_model(people.alice), actor=people.alice
    )
    run_pending()
    assert client.get(reverse("export-evaluated", args=[run.key])).status_code == 409


def test_whole_sentences_are_refused_where_core_would_add_up_something_else(client, people):
    from lmgym.models.engine import ScoringPolicy

    revision = make_revision(people.alice, formulas=("(*;%match%) < (*;%mismatch%)",))
    answers = []
    for metric in ("sum", "mean"):
        run = services.queue_run(
            revision, make_model(people.alice, slug=metric), ScoringPolicy(metric=metric), actor=people.alice
        )
        run_pending()
        answers.append(client.get(reverse("export-evaluated", args=[run.key])).status_code)
    assert answers == [200, 409]


def test_a_revision_is_cited_by_its_permanent_address_and_hash(client, run):
    text = suite_file(client, "ours", "bib").content.decode()
    assert text.startswith("@misc{ours-r1,")
    assert r"\url{http://testserver/suites/ours/r1/}" in text
    assert run.revision.sha256 in text
    assert "@misc{ours-r1" in client.get(run.revision.get_absolute_url()).content.decode()


@pytest.mark.parametrize(
    ("form", "name"),
    [
        ("blimp.jsonl", "pairs-r1-blimp.jsonl"),
        ("lm-eval.zip", "pairs-r1-lm-eval.zip"),
        ("inspect-ai.zip", "pairs-r1-inspect-ai.zip"),
        ("bib", "pairs-r1.bib"),
    ],
)
def test_a_file_for_another_program_is_named_after_suite_revision_and_form(client, people, form, name):
    make_suite(people.alice, name="pairs", items=2)
    assert suite_file(client, "pairs", form)["Content-Disposition"] == f'attachment; filename="{name}"'
