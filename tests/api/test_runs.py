"""Runs and their results through the API."""

from __future__ import annotations

import json

import pytest
from django.utils import timezone

from gym.jobs.models import Job
from gym.runs.work import services
from lmgym.models.engine import ScoringPolicy
from lmgym.runs.tables import PredictionRate
from lmgym.text.columns import header
from suites.models import Suite
from tests.api.worlds import make_world
from tests.once import once_a_module

built, people, world = once_a_module(make_world)


def ids(page) -> set[str]:
    return {run["id"] for run in page["results"]}


@pytest.mark.parametrize(
    ("who", "listed"),
    [
        ("", {"public"}),
        ("charlie", {"public"}),
        ("bob", {"public", "private"}),
        ("alice", {"public", "unlisted", "private", "secret"}),
        ("staff", {"public", "private", "secret"}),
    ],
)
def test_a_list_holds_runs_whose_suite_and_model_its_reader_lists(get, world, who, listed):
    assert ids(get("runs/", who)) == {world.runs[name].key for name in listed}


@pytest.mark.parametrize("tail", ["", "results/"])
@pytest.mark.parametrize(
    ("who", "hidden"), [("", {"private", "secret"}), ("charlie", {"private", "secret"}), ("bob", {"secret"})]
)
def test_a_run_of_an_invisible_suite_or_model_is_a_404(client, people, world, who, hidden, tail):
    if who:
        client.force_login(getattr(people, who))
    for name, run in world.runs.items():
        answer = client.get(f"/api/v1/runs/{run.key}/{tail}")
        assert answer.status_code == (404 if name in hidden else 200), name


def test_no_list_mentions_what_its_reader_may_not_see(client, world):
    for address in ("", "suites/", "models/", "runs/", "suites/?q=private", "runs/?q=secret"):
        text = client.get(f"/api/v1/{address}").content.decode()
        for secret in ("private-suite", "unlisted-suite", "secret-model", "@example.org"):
            assert secret not in text, (address, secret)


def test_filters_by_suite_and_model(get, world):
    runs = world.runs
    assert ids(get("runs/", "alice", suite="public-suite")) == {runs["public"].key, runs["secret"].key}
    assert ids(get("runs/", "alice", model="secret-model")) == {runs["secret"].key}
    assert ids(get("runs/", "alice", suite="private-suite", model="secret-model")) == set()
    assert ids(get("runs/", suite=runs["unlisted"].revision.suite.slug)) == set()


def test_a_run_says_how_it_was_made_and_how_its_predictions_fared(get, world):
    run = get(f"runs/{world.runs['public'].key}/")
    assert (run["suite"], run["revision"], run["model"], run["state"], run["source"]) == (
        "public-suite",
        1,
        "open-model",
        "done",
        "computed",
    )
    assert run["policy"] == ScoringPolicy().to_dict()
    assert run["provenance"]["suite_sha256"] == world.revisions["public"].sha256
    assert (run["progress"]["done"], run["progress"]["total"], run["progress"]["error"]) == (6, 6, "")
    [prediction] = run["predictions"]
    assert (prediction["formula"], prediction["passed"], prediction["ties"], prediction["n"]) == (
        "(2;%mismatch%) > (2;%match%)",
        0,
        3,
        3,
    )
    assert (prediction["rate"], prediction["chance"], prediction["low"]) == (0.0, 0.5, 0.0)


def test_every_table_of_predictions_has_the_same_columns(get, world):
    run = world.runs["public"]
    [row] = get(f"runs/{run.key}/results/predictions/")["results"]
    assert row.keys() == set(header(PredictionRate))
    assert get(f"runs/{run.key}/")["predictions"] == [row]
    [prediction] = get(f"runs/{run.key}/results/")["predictions"]
    assert {name: prediction[name] for name in row} == row


def test_results_are_those_of_the_download(client, get, world):
    run = world.runs["public"]
    results = get(f"runs/{run.key}/results/")
    assert results == json.loads(client.get(f"/runs/{run.key}/download/json/").content)
    assert results["items"][0]["conditions"][0]["regions"][0]["surprisal"] == 20.0


def test_an_unfinished_run_has_no_results_yet(client, get, world, people):
    run = services.queue_run(world.revisions["public"], world.open_model, actor=people.alice)
    assert get(f"runs/{run.key}/")["state"] == "queued"
    answer = client.get(f"/api/v1/runs/{run.key}/results/")
    assert (answer.status_code, answer.json()["code"]) == (409, "unfinished")
    assert int(answer["Retry-After"]) > 0


def test_a_run_that_failed_has_no_results_and_waiting_does_not_help(client, world, people):
    run = services.queue_run(world.revisions["public"], world.open_model, actor=people.alice)
    Job.objects.filter(pk=run.job.pk).update(state="failed", error="Out of memory.", finished=timezone.now())
    answer = client.get(f"/api/v1/runs/{run.key}/results/")
    assert (answer.status_code, answer.json()["code"]) == (409, "no-results")
    assert "Out of memory." in answer.json()["detail"]
    assert "Retry-After" not in answer


def test_a_suite_that_turns_private_takes_its_runs_along(client, get, world):
    Suite.objects.filter(slug="public-suite").update(visibility="private")
    assert ids(get("runs/")) == set()
    assert client.get(f"/api/v1/runs/{world.runs['public'].key}/results/").status_code == 404


def test_a_long_list_takes_as_many_queries_as_a_short_one(
    client, people, world, django_assert_max_num_queries
):
    client.force_login(people.alice)
    client.get("/api/v1/runs/")  # creates the rate-limit entry
    with django_assert_max_num_queries(7):  # two for the session and its user, one for the rate limit
        assert client.get("/api/v1/runs/").json()["results"]
