"""`manage.py evaluate` gives the numbers that a run's page shows."""

from __future__ import annotations

import csv
import io
import json

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from gym.jobs.testing import run_pending
from gym.runs.models import ScoreCache
from gym.runs.work import services
from lmgym.models.engine import ScoringPolicy
from tests.factories import make_model, make_revision
from tests.lmgym.suites.documents import suite_bytes


@pytest.fixture
def suite_file(tmp_path):
    path = tmp_path / "agreement.json"
    path.write_bytes(suite_bytes())
    return path


def evaluate(path, *options: str) -> str:
    out = io.StringIO()
    call_command("evaluate", str(path), "--model", "uniform", *options, stdout=out)
    return out.getvalue()


def test_the_command_and_the_page_agree(client, people, suite_file):
    model = make_model(people.alice)
    run = services.queue_run(make_revision(people.alice), model, actor=people.alice)
    run_pending()
    page = json.loads(client.get(reverse("run-download", args=[run.key, "json"])).content)
    here = json.loads(evaluate(suite_file, "--format", "json"))
    for part in ("predictions", "items", "policy"):
        assert here[part] == page[part]


def test_the_table_shows_rate_interval_and_chance(people, suite_file):
    make_model(people.alice)
    text = evaluate(suite_file)
    assert "0.0% (0 of 3; 95% interval 0.0% to 56.1%, chance 50.0%, ties: 3)" in text
    assert "Prediction 1: (2;%mismatch%)" in text
    assert "surprisal at Verb" in text
    assert "mean bits" in text


def test_csv_has_a_row_for_every_region(people, suite_file):
    make_model(people.alice)
    rows = list(csv.DictReader(io.StringIO(evaluate(suite_file, "--format", "csv"))))
    assert len(rows) == 18
    assert (rows[0]["model"], rows[0]["score_kind"]) == ("uniform", "surprisal")


def test_the_policy_can_be_given_as_json(people, suite_file):
    make_model(people.alice)
    data = json.loads(
        evaluate(suite_file, "--format", "json", "--policy", '{"metric": "max", "bos": "never"}')
    )
    assert data["policy"] == ScoringPolicy(bos="never", metric="max").to_dict()
    assert data["items"][0]["conditions"][0]["regions"][0]["surprisal"] == 10.0


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--policy", "{"], "not a JSON object"),
        (["--policy", '{"join": "glue"}'], "glue"),
        (["--policy", '{"colour": "red"}'], "colour"),
    ],
)
def test_a_bad_policy_says_what_is_wrong(people, suite_file, options, says):
    make_model(people.alice)
    with pytest.raises(CommandError, match=says):
        evaluate(suite_file, *options)


def test_an_unknown_model_names_the_known_ones(people, suite_file):
    make_model(people.alice, slug="other")
    with pytest.raises(CommandError, match="Registered: other"):
        evaluate(suite_file)


def test_a_broken_file_names_every_problem_with_its_place(people, tmp_path):
    make_model(people.alice)
    path = tmp_path / "broken.json"
    path.write_bytes(suite_bytes(formulas=("(9;%match%) > 0", "(2;%nix%) > 0")))
    with pytest.raises(CommandError) as error:
        evaluate(path)
    assert "  prediction 1: " in str(error.value)
    assert "  prediction 2: " in str(error.value)


def test_without_cache_nothing_is_stored(people, suite_file):
    make_model(people.alice)
    evaluate(suite_file, "--no-cache")
    assert ScoreCache.objects.count() == 0
