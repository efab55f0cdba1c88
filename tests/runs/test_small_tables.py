"""The front page, lists of suites and runs, the profile and uploads show pass rates under the scoring rule in
the address.
"""

from __future__ import annotations

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from gym.runs.read.leaderboard.build import field_scores, home_table, leaderboard
from lmgym.runs.leaderboard.options import Options
from lmgym.runs.rules import ALL, EACH, FIRST
from lmgym.suites.formats import read_suite
from suites import services as suites
from tests.factories import make_model, make_revision, make_suite
from tests.lmgym.suites.documents import AGREEMENT, suite_bytes
from tests.runs.boards import finished_run

RATES = {EACH: 5 / 8, ALL: 1 / 4, FIRST: 3 / 4}


@pytest.fixture
def run(people):
    """A run with two different predictions, so that each rule gives a different rate."""
    revision = make_revision(people.alice, name="s", items=4, formulas=(AGREEMENT, AGREEMENT))
    return finished_run(revision, make_model(people.alice, slug="m"), [1, 1, 1, 0], [1, 0, 0, 1])


def front(user, rule=EACH):
    return home_table(user, rule, most_suites=25, most_models=12)


@pytest.mark.parametrize("rule", [EACH, ALL])
def test_a_rule_gives_its_rate_on_every_page(client, run, people, rule):
    client.force_login(people.alice)
    percent = {EACH: "62.5%", ALL: "25.0%", FIRST: "75.0%"}[rule]
    for name, arguments in (
        ("suite-list", []),
        ("run-list", []),
        ("home", []),
        ("suite-detail", ["s"]),
        ("model-detail", ["m"]),
        ("leaderboard", []),
    ):
        page = client.get(f"{reverse(name, args=arguments)}?rule={rule.key}").content.decode()
        page = " ".join(page.split())
        assert percent in page, name
        assert all(other not in page for other in {"62.5%", "25.0%", "75.0%"} - {percent}) or name in {
            "suite-detail",  # has a column for each prediction
        }, name
        assert f"coring rule: {rule.label}" in page, name
        assert f"rule={rule.key}" in page, name
    assert front(people.nobody, rule).models[0].cells[0].rate == RATES[rule]
    home = " ".join(client.get(f"/?rule={rule.key}").content.decode().split())
    assert f"Scoring rule: {rule.label}" in home
    stored = {row["rule"]: row["rate"] for row in client.get(f"/api/v1/runs/{run.key}/").json()["scores"]}
    assert stored[rule.key] == RATES[rule]


def test_best_and_mean_of_a_suite_are_those_of_the_leaderboard(run, people):
    other = make_model(people.alice, slug="other")
    finished_run(run.revision, other, [1, 1, 1, 1], [1, 1, 1, 0])
    found = field_scores(people.nobody, [run.revision.suite], ALL)[run.revision.suite_id]
    assert (found.model, found.best.rate, found.mean, found.n) == (other, 0.75, 0.5, 2)


def test_the_front_page_shows_the_newest_frozen_revision_only(run, people):
    suite = run.revision.suite
    assert len(front(people.nobody).models) == 1
    suites.replace_draft(suite, read_suite(suite_bytes(items=5, name="s")), actor=people.alice)
    assert len(front(people.nobody).models) == 1
    suites.freeze(suite, actor=people.alice)
    assert front(people.nobody).models == ()


def test_an_unlisted_suite_is_in_nobodys_table_but_its_owners(people):
    revision = make_revision(people.alice, visibility="unlisted", items=2)
    finished_run(revision, make_model(people.alice), [1, 1])
    assert front(people.alice).models
    assert not front(people.charlie).models


def test_the_front_page_takes_as_many_queries_for_five_suites_as_for_one(
    people, django_assert_max_num_queries
):
    model = make_model(people.alice)
    for number in range(5):
        finished_run(make_revision(people.alice, name=f"s{number}", items=2), model, [1, 0])
    with django_assert_max_num_queries(6):
        assert len(front(people.nobody).rows()) == 5


def test_a_suite_without_predictions_is_in_no_table_of_pass_rates(client, run, people):
    bare = make_suite(people.alice, name="bare", formulas=())
    assert bare.latest_frozen is not None
    assert [column.suite.slug for column in front(people.nobody).columns] == ["s"]
    board = leaderboard(people.nobody, Options())
    assert ([column.suite.slug for column in board.columns], board.n_missing) == (["s"], 0)


@pytest.mark.parametrize("rule", [EACH, ALL])
def test_an_uploads_report_says_the_rates_that_are_stored(client, run, people, rule):
    client.force_login(people.alice)
    rows = "".join(
        f"up,s,{item},Prediction {prediction},{bool(held)}\n"
        for prediction, codes in ((1, [1, 1, 1, 0]), (2, [1, 0, 0, 1]))
        for item, held in enumerate(codes, start=1)
    )
    file = SimpleUploadedFile("o.csv", f"model,suite,item,prediction,correct\n{rows}".encode())
    checked = client.post(
        f"{reverse('results-upload')}?rule={rule.key}",
        {"file": file, "kind": "auto", "unit": "bits", "visibility": "private", "check": "1"},
    )
    assert checked.context["rows"][0]["score"].rate == RATES[rule]
    file.seek(0)
    saved = client.post("/api/v1/uploads/", {"file": file}).json()
    report = client.get(f"{reverse('upload-report', args=[saved['id']])}?rule={rule.key}")
    assert report.context["rows"][0]["score"].rate == RATES[rule]
    assert f"Scoring rule: {rule.label}" in report.content.decode()
