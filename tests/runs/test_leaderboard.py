"""Models on suites: scores, choices in the address, order, exports, and what is missing."""

from __future__ import annotations

import csv
import io
import json

import pytest
from django.http import QueryDict
from django.urls import reverse

from gym.jobs.models import Job
from gym.runs.models import SuiteRun
from gym.runs.read.leaderboard.address import read_options
from gym.runs.read.leaderboard.build import leaderboard
from suites.services import set_tags
from tests.factories import make_model, make_revision
from tests.lmgym.suites.documents import AGREEMENT
from tests.once import once_a_module
from tests.runs.boards import finished_run

TWO = (AGREEMENT, AGREEMENT)


def board(user, query=""):
    return leaderboard(user, read_options(QueryDict(query)))


def make_world(people):
    """Create two models. By the first prediction, Good passes 4 of 4 items of a and 2 of 4 of b; Bad passes 0
    of 4 of a and has no run on b. Suite a has two predictions.
    """
    a = make_revision(people.alice, name="a", items=4, formulas=TWO)
    b = make_revision(people.alice, name="b", items=4)
    set_tags(a.suite, ["agreement"])
    good, bad = make_model(people.alice, slug="good"), make_model(people.alice, slug="bad")
    finished_run(a, good, [1, 1, 1, 1], [1, 1, 0, 0])
    finished_run(b, good, [1, 1, 0, 2])
    finished_run(a, bad, [0, 0, 0, 0], [0, 0, 1, 1])
    return {"a": a, "b": b, "good": good, "bad": bad}


built, people, world = once_a_module(make_world)


def scores(table) -> dict[str, float | None]:
    return {row.name: row.score.rate if row.score else None for row in table.rows}


def test_the_score_is_the_unweighted_mean_of_suite_accuracies(world, people):
    assert scores(board(people.nobody)) == {"Good": (0.75 + 0.5) / 2, "Bad": 0.25}
    assert scores(board(people.nobody, "rule=all")) == {"Good": 0.5, "Bad": 0.0}
    assert scores(board(people.nobody, "rule=first")) == {"Good": 0.75, "Bad": 0.0}


def test_a_mean_over_some_suites_says_over_how_many(world, people):
    good, bad = board(people.nobody).rows
    assert (good.score.suites_run, good.score.suites, good.score.is_complete) == (2, 2, True)
    assert (bad.score.suites_run, bad.score.suites, bad.score.is_complete) == (1, 2, False)
    assert good.score.low < good.score.rate < good.score.high


def test_only_suites_that_all_models_have_run(world, people):
    table = board(people.nobody, "common=1")
    assert [column.suite.slug for column in table.columns] == ["a"]


def test_weights_and_suites_are_in_the_address(world, people):
    assert scores(board(people.nobody, "weights=a:3"))["Good"] == (3 * 0.75 + 0.5) / 4
    assert scores(board(people.nobody, "weights=a:0"))["Good"] == 0.5
    assert scores(board(people.nobody, "suite=b")) == {"Good": 0.5}
    assert board(people.nobody, "suite=nothing-here").unknown == ("nothing-here",)


def test_a_form_of_many_fields_becomes_a_short_address(client, world):
    response = client.get(reverse("leaderboard") + "?w.a=2&w.b=1&suite=a&suite=b")
    assert response.status_code == 302
    assert response.url == reverse("leaderboard") + "?suite=a,b&weights=a:2"


@pytest.mark.parametrize(
    "query", ["weights=a:nan,b:-1,:,x", "rule=%00", "sort=suite:", "w.=inf", "suite=,,", "sort=-tag:x"]
)
def test_nonsense_in_the_address_does_no_harm(client, world, query):
    assert client.get(f"{reverse('leaderboard')}?{query}", follow=True).status_code == 200


@pytest.mark.parametrize(
    ("sort", "first"),
    [
        ("-sg", "Good"),
        ("sg", "Good"),  # Bad has not run on one suite
        ("name", "Bad"),
        ("-name", "Good"),
        ("suite:a", "Bad"),
        ("-missing", "Bad"),
    ],
)
def test_rows_are_sorted_by_what_the_address_says(world, people, sort, first):
    assert board(people.nobody, f"sort={sort}").rows[0].name == first


def test_tag_columns_are_means_over_their_suites(world, people):
    set_tags(make_revision(people.alice, name="c", items=4).suite, ["agreement"])
    table = board(people.nobody)
    assert table.tags == ("agreement",)
    assert [row.tags[0].rate for row in table.rows] == [0.75, 0.25]


def test_seeds_of_a_model_are_one_row_with_their_spread(world, people):
    for model in (world["good"], world["bad"]):
        model.tags = ["group:ours"]
        model.save()
    [row] = board(people.nobody, "group=1").rows
    assert (row.name, len(row.models), row.cells[0].rate, row.cells[0].spread.n) == ("ours", 2, 0.5, 2)
    assert row.cells[0].spread.deviation == pytest.approx(0.5 / 2**0.5)
    assert (row.score.suites_run, row.score.suites) == (1, 2)  # suites that every seed has run


def test_a_stranger_sees_neither_private_suites_nor_private_models(world, people):
    secret = make_revision(people.alice, name="secret", visibility="private", items=4)
    hidden = make_model(people.alice, slug="hidden", visibility="private")
    finished_run(secret, world["good"], [1, 1, 1, 1])
    finished_run(world["a"], hidden, [1] * 4, [1] * 4)
    assert "secret" not in {column.suite.slug for column in board(people.charlie).columns}
    assert "Hidden" not in scores(board(people.charlie))
    assert "secret" in {column.suite.slug for column in board(people.alice).columns}


def test_the_newest_run_counts(world, people):
    finished_run(world["b"], world["good"], [1, 1, 1, 1])
    assert board(people.nobody).rows[0].cells[1].rate == 1.0


def test_the_form_keeps_what_it_does_not_ask_for(client, world):
    page = client.get(reverse("leaderboard") + "?model=good,bad&rule=all&tag=agreement").content.decode()
    for name, value in (("model", "good,bad"), ("rule", "all"), ("tag", "agreement")):
        assert f'<input type="hidden" name="{name}" value="{value}">' in page


@pytest.mark.parametrize("sort", ["-parameters", "parameters", "missing", "-missing", "name", "suite:a"])
def test_every_order_can_be_chosen_in_the_form(client, world, sort):
    page = client.get(reverse("leaderboard"), {"sort": sort}).content.decode()
    assert f'<option value="{sort}" selected>' in page
    if ":" not in sort:
        assert f'<option value="{sort}">' in client.get(reverse("leaderboard")).content.decode()


def test_a_range_of_seeds_is_not_compared_with_chance(client, world, people):
    for model in (world["good"], world["bad"]):
        model.tags = ["group:ours"]
        model.save()
    [row] = board(people.nobody, "group=1").rows
    assert [cell.verdict.against_chance for cell in row.cells] == ["", ""]
    page = " ".join(client.get(reverse("leaderboard") + "?group=1").content.decode().split())
    assert "no interval, so not compared with chance" in page


def test_the_page_says_the_rule_the_intervals_and_what_is_missing(client, world):
    page = client.get(reverse("leaderboard") + "?rule=all").content.decode()
    assert "Scoring rule: all predictions" in page
    assert "not run" in page
    assert "1 of 2" in page


# --- downloads ----------------------------------------------------------------------------------------------------
def fetch(client, form, query=""):
    response = client.get(reverse("leaderboard-download", args=[form]) + f"?{query}")
    assert response.status_code == 200
    return response.content.decode()


def test_the_long_table_has_a_row_per_cell_with_interval_and_rule(client, world):
    rows = list(csv.DictReader(io.StringIO(fetch(client, "long.csv", "rule=all"))))
    assert len(rows) == 3
    assert {row["rule"] for row in rows} == {"all"}
    good = next(row for row in rows if (row["model"], row["suite"]) == ("good", "a"))
    assert (good["rate"], good["passed"], good["n"]) == ("0.5", "2", "4")


def test_the_table_for_a_paper_is_booktabs_and_says_the_rule(client, world):
    text = fetch(client, "tex", "rule=first")
    assert r"\toprule" in text
    assert "Scoring rule: first prediction" in text
    assert "Good & 1 & 75.0" in text


def test_names_cannot_break_out_of_latex_or_markdown(client, world):
    world["good"].name = r"a_b & 100% $x \input{y} | <b>"
    world["good"].save()
    tex, md = fetch(client, "tex"), fetch(client, "md")
    assert r"a\_b \& 100\% \$x \textbackslash{}input\{y\} \textbar{} \textless{}b\textgreater{}" in tex
    assert r"a\_b & 100% \$x \\input{y} \| \<b\>" in md


@pytest.mark.parametrize(("name", "written"), [("[4pt] LM", "{[}4pt] LM"), ("*LM", "{*}LM")])
def test_a_name_is_no_argument_of_the_line_end_before_it(client, world, name, written):
    world["good"].name = name
    world["good"].save()
    assert f"\n    {written} & " in fetch(client, "tex")


def test_json_holds_everything_on_the_page(client, world):
    data = json.loads(fetch(client, "json"))
    assert data["rule"]["key"] == "each"
    good = data["models"][0]
    assert (good["score"]["rate"], good["suites"]["b"]["ties"], data["models"][1]["suites"]["b"]) == (
        0.625,
        1,
        None,
    )


def test_files_of_a_weighted_table_say_the_weights(client, world):
    query = "weights=a:3"
    [row, _] = csv.DictReader(io.StringIO(fetch(client, "csv", query)))
    assert row["weights"] == "a:3"
    for form in ("tex", "md"):
        assert "(weights a:3; others 1)" in fetch(client, form, query)
    [row, _] = csv.DictReader(
        io.StringIO(
            client.get(reverse("figure", args=["leaderboard-scores", "csv"]) + f"?{query}").content.decode()
        )
    )
    assert row["weights"] == "a:3"
    assert "weights" not in fetch(client, "csv").splitlines()[0]


# --- run what is missing --------------------------------------------------------------------------------------------
def test_one_click_queues_what_is_missing(client, world, people):
    client.force_login(people.charlie)
    response = client.post(reverse("leaderboard-run-missing"), follow=True)
    assert "1 run is queued" in response.content.decode()
    run = SuiteRun.objects.get(completed_at=None)
    assert (run.model, run.revision, run.owner) == (world["bad"], world["b"], people.charlie)
    response = client.post(reverse("leaderboard-run-missing"), follow=True)
    assert "Nothing to queue. 1 run is already under way." in response.content.decode()


def test_what_cannot_be_computed_here_is_not_queued(client, world, people):
    world["bad"].backend = "uploaded"
    world["bad"].save()
    client.force_login(people.alice)
    client.post(reverse("leaderboard-run-missing"))
    assert not Job.objects.exists()


def test_results_that_a_filter_hides_are_not_missing(client, world, people):
    client.force_login(people.charlie)
    hidden = reverse("leaderboard") + "?model=good&source=uploaded"
    assert client.get(hidden).context["n_runnable"] == 0
    assert "Run missing models" not in client.get(hidden).content.decode()
    response = client.post(f"{reverse('leaderboard-run-missing')}?model=good&source=uploaded", follow=True)
    assert "Nothing to queue" in response.content.decode()
    assert not Job.objects.exists()


def test_every_seed_is_missed_for_itself(client, world, people):
    for model in (world["good"], world["bad"]):
        model.tags = ["group:ours"]
        model.save()
    client.force_login(people.charlie)
    page = client.get(reverse("leaderboard") + "?group=1")
    assert (page.context["board"].n_missing, page.context["n_runnable"]) == (0, 1)
    client.post(reverse("leaderboard-run-missing") + "?group=1")
    run = SuiteRun.objects.get(completed_at=None)
    assert (run.model, run.revision) == (world["bad"], world["b"])


def test_allowances_stop_it_and_say_so(client, world, people, settings):
    settings.GYM_MAX_SENTENCES_PER_DAY = 1
    client.force_login(people.charlie)
    response = client.post(reverse("leaderboard-run-missing"), follow=True)
    assert "could not be queued" in response.content.decode()


def test_a_page_shows_some_of_many_suites_and_the_scores_count_all(client, world, monkeypatch):
    monkeypatch.setattr("gym.runs.pages.heatmap.PAGE_CELLS", 2)
    monkeypatch.setattr("gym.runs.pages.heatmap.LEAST_COLUMNS", 1)
    first, second = (client.get("/leaderboard/", {"page": page}) for page in (1, 2))
    assert [[column.key for column in page.context["columns"]] for page in (first, second)] == [["a"], ["b"]]
    text = " ".join(first.text.split())
    assert "The table shows 1 of 2 suites" in text
    assert 'href="?page=2" rel="next"' in text
    rates = [scores(page.context["board"]) for page in (first, second)]
    assert rates[0] == rates[1] == {"Good": (0.75 + 0.5) / 2, "Bad": 0.25}
    assert "6 of 8 held" in str(first.context["table"].rows[0][1])
    assert "2 of 4 held" in str(second.context["table"].rows[0][1])
    assert "not run" in str(second.context["table"].rows[1][1])


def test_queries_do_not_grow_with_models_and_suites(client, people, django_assert_max_num_queries):
    models = [make_model(people.alice, slug=f"m{k}") for k in range(4)]
    for k in range(4):
        revision = make_revision(people.alice, name=f"s{k}")
        set_tags(revision.suite, [f"t{k % 2}"])
        for model in models:
            finished_run(revision, model, [1, 0, 1])
    client.force_login(people.alice)
    client.get(reverse("leaderboard"))  # suites that share material are found once
    with django_assert_max_num_queries(10):
        assert client.get(reverse("leaderboard")).status_code == 200
