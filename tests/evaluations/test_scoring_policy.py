"""The run form's choices reach the run, its pages and its exports; the raw value stays."""

from __future__ import annotations

import csv
import io
import json

import pytest
from django.urls import reverse

from gym.evaluations import services
from gym.evaluations.models import SuiteRun
from gym.jobs.testing import run_pending
from models_registry.backends.uniform import UniformBackend
from models_registry.engine import ScoringPolicy, TokenScores
from tests.factories import make_model, make_revision
from tests.results.test_exports import content_of


@pytest.fixture
def blanks(monkeypatch):
    """A model that says after each token that a blank costs half a bit."""
    score = UniformBackend.score

    def with_blanks(self, texts, policy, needed=None):
        found = score(self, texts, policy)
        if policy.whitespace == "none":
            return found
        return [
            TokenScores(
                s.tokens, s.ids, s.offsets, s.bits, s.special, boundary_bits=[0.5 * k for k in range(len(s))]
            )
            for s in found
        ]

    monkeypatch.setattr(UniformBackend, "score", with_blanks)


@pytest.fixture
def corrected(people, blanks):
    policy = ScoringPolicy(whitespace="trailing")
    run = services.queue_run(
        make_revision(people.alice), make_model(people.alice), policy, actor=people.alice
    )
    run_pending()
    return run


def test_the_form_offers_the_correction_and_explains_it(client, people):
    revision = make_revision(people.alice)
    make_model(people.alice)
    client.force_login(people.alice)
    page = client.get(revision.get_absolute_url()).content.decode()
    assert 'name="whitespace"' in page
    assert "predictions use the raw value" in page
    given = {
        "suite": revision.suite.slug,
        "revision": revision.number,
        "models": ["uniform"],
        "bos": "auto",
        "join": "space",
        "metric": "sum",
        "whitespace": "trailing",
    }
    client.post(reverse("run-start"), given)
    assert SuiteRun.objects.get().policy["whitespace"] == "trailing"


def test_the_corrected_value_stands_beside_the_raw_one(client, corrected):
    [row, *_] = corrected.sentence_scores.all()
    assert row.regions == [20.0, 10.0, 30.0]  # "The woman", "plays", "all day." with its full stop
    assert row.corrected[1] == 10.0 - 0.5 + 1.0
    page = client.get(reverse("run-item", args=[corrected.key, "1"])).content.decode()
    assert "→ 10.5" in page
    assert "corrected values beside the raw ones" in client.get(corrected.get_absolute_url()).content.decode()


def test_exports_have_both(client, corrected):
    table = content_of(client.get(reverse("run-download", args=[corrected.key, "regions.csv"]))).decode()
    rows = list(csv.DictReader(io.StringIO(table)))
    assert (rows[1]["surprisal_bits"], rows[1]["corrected_bits"]) == ("10.0", "10.5")
    data = json.loads(client.get(reverse("run-download", args=[corrected.key, "json"])).content)
    region = data["items"][0]["conditions"][0]["regions"][1]
    assert (region["bits"], region["corrected_bits"]) == (10.0, 10.5)


def test_without_the_correction_its_column_is_empty(client, people, blanks):
    run = services.queue_run(make_revision(people.alice), make_model(people.alice), actor=people.alice)
    run_pending()
    table = content_of(client.get(reverse("run-download", args=[run.key, "regions.csv"]))).decode()
    assert {row["corrected_bits"] for row in csv.DictReader(io.StringIO(table))} == {""}


def test_a_pseudo_log_likelihood_is_never_called_a_surprisal(client, corrected):
    kind = "pseudo-log-likelihood: each token given all others"
    SuiteRun.objects.update(provenance=corrected.provenance | {"score_kind": kind})
    page = client.get(corrected.get_absolute_url()).content.decode()
    assert "Not surprisals:" in page
    download = client.get(reverse("run-download", args=[corrected.key, "regions.csv"]))
    assert "pseudo-log-likelihood-regions.csv" in download["Content-Disposition"]
    rows = csv.DictReader(io.StringIO(content_of(download).decode()))
    assert {row["score_kind"] for row in rows} == {kind}


def test_items_that_are_too_close_to_call_are_marked_and_can_be_filtered(client, people, monkeypatch):
    bits = {"plays": 10.0, "play": 10.0 + 1e-10 * 30, "run": 3.0, "runs": 9.0}
    monkeypatch.setattr(
        UniformBackend,
        "score",
        lambda self, texts, policy, needed=None: [
            TokenScores(
                s.tokens,
                s.ids,
                s.offsets,
                [bits.get(token, 1.0) for token in s.tokens],
                s.special,
            )
            for s in map(self._score, texts)
        ],
    )
    monkeypatch.setattr("gym.evaluations.actors.error_bits_of", lambda facts: 1e-3)
    run = services.queue_run(
        make_revision(people.alice, items=2), make_model(people.alice), actor=people.alice
    )
    run_pending()
    result = run.prediction_results.get()
    assert (result.passed, result.too_close, result.close) == (2, 1, [True, False])
    page = client.get(run.get_absolute_url() + "?only=close").content.decode()
    assert "1 too close to call" in page
    assert "Item 1</a>" in page
    assert "Item 2</a>" not in page
    assert "too close to call" in client.get(reverse("run-item", args=[run.key, "1"])).content.decode()
    outcomes = content_of(client.get(reverse("run-download", args=[run.key, "outcomes.csv"]))).decode()
    assert [row["too_close"] for row in csv.DictReader(io.StringIO(outcomes))] == ["True", "False"]
    client.force_login(people.alice)
    told = client.get(f"/api/v1/runs/{run.key}/").json()["predictions"][0]
    assert (told["passed"], told["too_close"]) == (2, 1)
    board = client.get(reverse("leaderboard-download", args=["long.csv"])).content.decode()
    assert next(csv.DictReader(io.StringIO(board)))["too_close"] == "1"
