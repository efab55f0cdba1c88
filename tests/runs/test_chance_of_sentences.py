"""A run's chance level treats a whole sentence as the sum of the suite's regions, wherever it is shown."""

from __future__ import annotations

from django.core.management import call_command
from django.urls import reverse

from gym.jobs.testing import run_pending
from gym.runs.models import PredictionResult, RunScore
from gym.runs.work import services as runs
from lmgym.runs.rules import chance_of
from lmgym.suites.formulas import parse
from tests.factories import make_model, make_revision
from tests.once import once_a_module

SENTENCE, REGION = "(*;%match%) < (*;%mismatch%)", "(2;%match%) < (2;%mismatch%)"
BOTH = f"[{SENTENCE}] & [{REGION}]"
LEVEL = parse(BOTH).chance_level(n_regions=3)


def make_run(people):
    revision = make_revision(people.alice, items=4, name="s", formulas=(BOTH,))
    run = runs.queue_run(revision, make_model(people.alice), actor=people.alice)
    run_pending()
    run.refresh_from_db()
    return run


built, people, run = once_a_module(make_run)


def stored(run) -> set[float | None]:
    return {row.chance for row in (*run.prediction_results.all(), *run.scores.all())}


def test_results_and_scores_have_it(run):
    assert stored(run) == {LEVEL.value}


def test_store_scores_makes_levels_of_an_older_version_anew(run):
    PredictionResult.objects.update(chance=0.25, chance_standard_error=0.0)
    RunScore.objects.update(chance=0.25)
    call_command("store_scores")
    assert stored(run) == {LEVEL.value}
    assert run.prediction_results.get().chance_standard_error == LEVEL.standard_error


def test_all_predictions_of_an_item_are_their_conjunction():
    assert chance_of((SENTENCE, REGION), "all", 3) == LEVEL.value
    assert chance_of((SENTENCE, REGION), "each", 3) == 0.5


def test_pages_say_what_it_assumes(client, run):
    for address in (run.get_absolute_url(), run.revision.get_absolute_url()):
        page = " ".join(client.get(address).content.decode().split())
        assert "the sum of 3 regions" in page
        assert "independent region values" in page or "if region values are independent" in page
        assert "/help/formulas/#correlated-parts" in page


def test_the_api_says_it_for_the_suite_that_is_written(client, people):
    client.force_login(people.alice)
    body = {"formula": BOTH, "regions": ["Subject", "Verb", "Rest"], "conditions": ["match", "mismatch"]}
    answer = client.post(f"{reverse('api-root')}formulas/explain/", body, "application/json").json()
    chance = answer["chance"]
    assert (chance["value"], chance["assumed_regions"], chance["assumes_independence"]) == (
        LEVEL.value,
        3,
        True,
    )
