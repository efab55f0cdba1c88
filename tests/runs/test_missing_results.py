"""What a rule leaves out is listed with the reason: on pages, in files and in the API."""

from __future__ import annotations

import csv
import io

import pytest
from django.urls import reverse

from gym.collections.services import create_collection, publish_collection
from tests.factories import make_model, make_revision
from tests.lmgym.suites.documents import AGREEMENT
from tests.runs.boards import finished_run

WHY = "its run has 1 of 2 predictions"
TWO = (AGREEMENT, "(1;%mismatch%) > (1;%match%)")


@pytest.fixture
def world(people):
    """A model with results of the first prediction only, as in the paper's files, and a model with whole
    runs. Both have run on a suite with one prediction; on another one, only the second model has run."""
    paper, whole = make_model(people.alice, slug="paper"), make_model(people.alice, slug="whole")
    plain = make_revision(people.alice, name="plain", items=4)
    both = make_revision(people.alice, name="both", items=4, formulas=TWO)
    other = make_revision(people.alice, name="other", items=4)
    finished_run(plain, paper, [1, 1, 1, 0], source="uploaded")
    run = finished_run(both, paper, [0, 0, 0, 1], source="uploaded")
    finished_run(plain, whole, [1, 1, 1, 1])
    finished_run(both, whole, [1, 1, 1, 1], [1, 1, 1, 0])
    finished_run(other, whole, [1, 1, 0, 0])
    return {"run": run, "revisions": [plain, both, other]}


def rows(response) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(response.content.decode())))


def test_the_table_names_the_suite_and_links_its_run(client, world):
    page = client.get(reverse("leaderboard"))
    text = page.content.decode()
    assert f"Paper on both ({WHY})" in text
    assert "Not run: Paper on other" in text
    assert page.context["missing"] == {"Paper": f"both ({WHY}); other (not run)"}
    cell = text.split(f"no pass rate under this rule: {WHY}")[0].rsplit("<td", 1)[1]
    assert "data-words" in cell
    assert world["run"].get_absolute_url() in text
    assert text.count("1 of 3") > 0


def test_under_a_rule_that_needs_no_more_nothing_is_missing_but_what_was_not_run(client, world):
    page = client.get(reverse("leaderboard") + "?rule=first")
    assert page.context["missing"] == {"Paper": "other (not run)"}
    assert "its results hold" not in page.content.decode()


def test_the_files_name_it(client, world):
    def file(form):
        return client.get(reverse("leaderboard-download", args=[form]))

    wide = {row["model"]: row for row in rows(file("csv"))}
    assert wide["Paper"]["missing"] == f"both ({WHY}); other (not run)"
    assert wide["Whole"]["missing"] == ""
    long = rows(file("long.csv"))
    assert {(row["model"], row["suite"]): row["missing"] for row in long if row["missing"]} == {
        ("paper", "both"): WHY
    }
    [lacking] = [row for row in long if row["missing"]]
    assert (lacking["run"], lacking["rate"], lacking["n"]) == (world["run"].key, "", "")
    for form in ("md", "tex", "json"):
        assert f"Paper on both ({WHY})" in file(form).content.decode()


GAPS = [
    {"model": "paper", "suite": "both", "why": WHY, "predictions_held": 1, "predictions": 2},
    {
        "model": "paper",
        "suite": "other",
        "why": "not run",
        "run": None,
        "predictions_held": None,
        "predictions": None,
    },
]


def test_the_api_names_it(client, world):
    expected = [GAPS[0] | {"run": world["run"].key}, GAPS[1]]
    board = client.get("/api/v1/leaderboard/").json()
    missing = {row["model"][0]: row["missing"] for row in board["results"]}
    assert missing == {"paper": expected, "whole": []}
    assert board["results"][0]["suites"].keys() == {"both", "other", "plain"}
    assert client.get("/api/v1/compare/?model=whole,paper").json()["missing"] == expected
    on_one = client.get("/api/v1/compare/both/?model=whole,paper").json()
    assert on_one["missing"] == expected[:1]


def test_the_models_page_and_the_comparison_name_it(client, world):
    said = client.get(reverse("model-detail", args=["paper"])).content.decode()
    assert f"Missing from the score: both ({WHY}); other (not run)." in said
    both = client.get(reverse("compare") + "?model=whole&model=paper").content.decode()
    assert f"Paper: both ({WHY}); other (not run)" in both
    one = client.get(reverse("compare") + "?model=whole&model=paper&suite=both").content.decode()
    assert f"Paper: {WHY}" in one


def test_a_collection_names_it_too(client, people, world):
    made = create_collection(
        actor=people.alice, slug="c", title="C", description="", reference="", revisions=world["revisions"]
    )
    publish_collection(made, actor=people.alice)
    assert f"Paper on both ({WHY})" in client.get("/collections/c/").content.decode()
    assert f"Paper on both ({WHY})" in client.get("/collections/c/download/json/").content.decode()


def test_a_model_of_which_nothing_counts_is_shown_with_the_reason(client, people):
    both = make_revision(people.alice, name="both", items=4, formulas=TWO)
    finished_run(both, make_model(people.alice, slug="paper"), [0, 0, 0, 1], source="uploaded")
    page = client.get(reverse("leaderboard"))
    assert [row.score for row in page.context["board"].rows] == [None]
    assert page.context["missing"] == {"Paper": f"both ({WHY})"}


def test_suites_that_all_have_run_are_not_left_out_unsaid(client, world):
    text = client.get(reverse("leaderboard") + "?common=1").content.decode()
    assert f"Left out, because not every model has run them: both (Paper: {WHY})." in text


def test_seeds_as_one_row_say_which_seed_lacks_what(client, people, world):
    for slug in ("paper", "whole"):
        model = next(one for one in type(world["run"].model).objects.all() if one.slug == slug)
        model.tags = ["group:G"]
        model.save()
    page = client.get(reverse("leaderboard") + "?group=1")
    assert page.context["missing"] == {"G": f"Paper: both ({WHY}); other (not run)"}


@pytest.mark.parametrize("view", ["", "?group=1"])
def test_a_run_without_a_rate_is_offered_to_be_run_in_every_view(client, people, world, view):
    client.force_login(people.alice)
    page = client.get(reverse("leaderboard") + view)
    assert page.context["n_runnable"] == 2  # the paper's model on "both" and "other"


def test_the_first_prediction_is_said_to_lack_where_it_does(client, people):
    both = make_revision(people.alice, name="both", items=4, formulas=TWO)
    run = finished_run(both, make_model(people.alice, slug="m"), [0, 0, 0, 1], source="uploaded")
    run.prediction_results.update(position=1, prediction=both.predictions.get(position=1))
    from gym.runs.read.scores import store_scores

    store_scores(run)
    page = client.get(reverse("leaderboard") + "?rule=first")
    assert page.context["missing"] == {"M": f"both ({WHY}, but not the first)"}
