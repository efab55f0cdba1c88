"""Runs of masked models: unsupported settings are refused before queueing, and notes about their values are correct."""

from __future__ import annotations

import csv
import io
import json

import pytest
from django.core.exceptions import ValidationError
from django.urls import reverse

from gym.jobs.models import Job
from gym.jobs.testing import run_pending
from gym.runs.models import SuiteRun
from gym.runs.work import services
from gym.runs.work.score_requests import queue_scores
from lmgym.models.engine import ScoringPolicy
from tests.factories import make_model, make_revision

KIND = "pseudo-log-likelihood original"
IMPOSSIBLE = [
    ({"bos": "never"}, "bos=never"),
    ({"eos": True}, "end token"),
    ({"whitespace": "trailing"}, "whitespace correction"),
]


@pytest.fixture
def masked(people):
    return make_model(people.alice, slug="gaps", backend="masked")


@pytest.fixture
def run(people):
    """A finished run whose provenance is that of a masked model."""
    run = services.queue_run(make_revision(people.alice), make_model(people.alice), actor=people.alice)
    run_pending()
    run.refresh_from_db()
    run.provenance |= {"score_kind": KIND, "bos": "[CLS]", "eos": "[SEP]"}
    run.save()
    return run


@pytest.mark.parametrize(("policy", "says"), IMPOSSIBLE)
def test_a_policy_that_cannot_be_followed_is_refused_before_it_is_queued(people, masked, policy, says):
    revision = make_revision(people.alice)
    with pytest.raises(ValidationError, match=says):
        services.queue_run(revision, masked, ScoringPolicy(**policy), actor=people.alice)
    with pytest.raises(ValidationError, match=says):
        queue_scores(["The keys"], masked, ScoringPolicy(**policy), actor=people.alice)
    assert not Job.objects.exists()
    services.queue_run(revision, masked, actor=people.alice)


@pytest.mark.parametrize(("policy", "says"), IMPOSSIBLE)
def test_the_api_and_the_form_say_so(client, people, masked, policy, says):
    revision = make_revision(people.alice)
    client.force_login(people.alice)
    body = {"suite": revision.suite.slug, "model": "gaps", "policy": policy}
    answer = client.post("/api/v1/runs/", json.dumps(body), content_type="application/json")
    assert answer.status_code == 400
    assert says in answer.json()["detail"]
    start = reverse("run-start", args=[revision.suite.slug, revision.number])
    form = {
        "models": ["gaps"],
        "bos": "auto",
        "join": "space",
        "metric": "sum",
    }
    page = client.post(start, form | policy).content.decode()
    assert says in page
    assert not SuiteRun.objects.exists()


def test_the_page_says_that_the_frame_is_given_and_nothing_about_start_and_end_policies(client, run):
    page = " ".join(client.get(run.get_absolute_url()).content.decode().split())
    how = page[page.index('id="how"') :]
    assert (
        "<code>[CLS]</code> before and <code>[SEP]</code> after every sentence: input only, never scored"
        in how
    )
    assert "Not comparable with left-to-right surprisals" in how
    for word in ("Start token", "End token", "corrected values"):
        assert word not in how


@pytest.mark.parametrize("table", ["regions", "tokens"])
def test_every_table_of_bits_says_what_they_are(client, run, table):
    addresses = [
        reverse("run-download", args=[run.key, f"{table}.csv"]),
        f"/api/v1/runs/{run.key}/results/{table}/?format=csv",
        reverse("export-table", args=[table, "csv"]),
    ]
    for address in addresses:
        answer = client.get(address)
        text = answer.getvalue().decode()
        rows = list(csv.DictReader(io.StringIO(text)))
        assert rows, address
        assert {row["score_kind"] for row in rows} == {KIND}, address
