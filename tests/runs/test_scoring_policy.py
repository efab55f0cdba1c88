"""The run form's choices reach the run, its pages and its exports."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace

import pyarrow.parquet as pq
import pytest
from django.core.exceptions import ValidationError
from django.core.management import CommandError, call_command
from django.urls import reverse

from gym.jobs.testing import run_pending
from gym.runs.models import SuiteRun
from gym.runs.policies import policy_differences
from gym.runs.read.comparison import scored_as
from gym.runs.work import services
from gym.runs.work.score_requests import queue_scores
from lmgym.models.backends import base
from lmgym.models.backends.uniform import UniformBackend
from lmgym.models.engine import ScoringPolicy, TokenError, TokenScores
from lmgym.runs.run_differences import same_bits
from lmgym.suites.formats import write_json
from suites.selectors import document_of
from tests.factories import make_model, make_revision
from tests.runs.test_exports import content_of


@pytest.fixture
def blanks(monkeypatch):
    """A uniform model that reports the bits of a space after each token: 0, 0.5, 1 and so on."""
    monkeypatch.delitem(base._NO_WHITESPACE, "uniform")
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
    run.refresh_from_db()
    return run


FORM = {"models": ["uniform"], "bos": "auto", "join": "space", "metric": "sum"}


def start_of(revision) -> str:
    return reverse("run-start", args=[revision.suite.slug, revision.number])


def test_the_form_offers_the_correction_and_explains_it(client, people, blanks):
    revision = make_revision(people.alice)
    make_model(people.alice)
    client.force_login(people.alice)
    page = client.get(start_of(revision)).content.decode()
    assert 'name="whitespace"' in page
    assert "in all bits and predictions of the run" in page
    client.post(start_of(revision), FORM | {"whitespace": "trailing"})
    assert SuiteRun.objects.get().policy["whitespace"] == "trailing"


def test_the_correction_is_refused_with_another_metric_than_the_sum(client, people, blanks, tmp_path):
    revision = make_revision(people.alice)
    make_model(people.alice)
    client.force_login(people.alice)
    says = "defined for the metric sum, not for mean"
    policy = {"whitespace": "trailing", "metric": "mean"}
    page = client.post(start_of(revision), FORM | policy)
    assert says in page.content.decode()
    one = {"suite": revision.suite.slug, "model": "uniform", "policy": policy}
    many = {"suites": [revision.suite.slug], "models": ["uniform"], "policy": policy}
    for address, body in (("runs/", one), ("runs/batch/", many)):
        answer = client.post(f"/api/v1/{address}", json.dumps(body), content_type="application/json")
        assert answer.status_code == 400
        assert says in answer.json()["detail"]
    assert not SuiteRun.objects.exists()
    suite = tmp_path / "suite.json"
    suite.write_text(write_json(document_of(revision)))
    with pytest.raises(CommandError, match=says):
        call_command("evaluate", suite, model="uniform", whitespace="trailing", metric="mean")


def test_models_of_whole_words_have_nothing_to_correct(people):
    with pytest.raises(ValidationError, match="the whitespace correction has nothing to move"):
        services.queue_run(
            make_revision(people.alice),
            make_model(people.alice),
            ScoringPolicy(whitespace="trailing"),
            actor=people.alice,
        )


WORDS = {"The": 10.0, "woman": 10.5, "plays": 10.5, "all": 10.5, "day": 8.5, ".": 12.5}
"""Corrected bits of the first sentence. A word loses the boundary bits of the previous word and gains its
own; there is no boundary between “day” and its full stop."""


def test_bits_predictions_and_exports_are_corrected(client, people, corrected):
    [row, *_] = corrected.sentence_scores.all()
    assert {token[0]: token[4] for token in row.tokens} == pytest.approx(WORDS)
    assert row.regions == pytest.approx([20.5, 10.5, 31.5])
    assert row.surprisal == pytest.approx(62.5)
    page = " ".join(client.get(reverse("run-item", args=[corrected.key, "1"])).content.decode().split())
    assert "10.5" in page
    assert "the end of a word counts as part of the word" in page
    assert (
        "the end of a word counts as part of the word"
        in client.get(corrected.get_absolute_url()).content.decode()
    )
    for name, column, expected in (("regions", "surprisal", 10.5), ("tokens", "surprisal", 10.5)):
        table = content_of(client.get(reverse("run-download", args=[corrected.key, f"{name}.csv"]))).decode()
        rows = list(csv.DictReader(io.StringIO(table)))
        assert float(rows[1][column]) == expected
        assert {row["whitespace"] for row in rows} == {"trailing"}
    client.force_login(people.alice)
    [sentence, *_] = client.get(f"/api/v1/runs/{corrected.key}/results/regions/").json()["results"]
    assert [region["surprisal"] for region in sentence["regions"]] == pytest.approx([20.5, 10.5, 31.5])
    data = json.loads(client.get(reverse("run-download", args=[corrected.key, "json"])).content)
    assert data["items"][0]["conditions"][0]["regions"][1]["surprisal"] == 10.5


def test_the_correction_can_decide_a_prediction(people, blanks, monkeypatch):
    """Both words cost 10 bits; after "play" the end of the word is likelier than after "plays"."""
    ends = {"play": 0.5, "plays": 1.5}
    monkeypatch.setattr(
        UniformBackend,
        "score",
        lambda self, texts, policy, needed=None: [
            replace(s, boundary_bits=[ends.get(token, 0.25) for token in s.tokens])
            for s in map(self._score, texts)
        ],
    )
    revision, model = make_revision(people.alice, items=1), make_model(people.alice)
    outcomes = {}
    for whitespace in ("none", "trailing"):
        run = services.queue_run(revision, model, ScoringPolicy(whitespace=whitespace), actor=people.alice)
        run_pending()
        result = run.prediction_results.get()
        outcomes[whitespace] = result.outcomes, result.margins
    assert outcomes == {"none": ([2], [0.0]), "trailing": ([0], [-1.0])}


def test_the_correction_is_a_departure_and_makes_margins_another_quantity(client, people, corrected):
    raw = services.queue_run(corrected.revision, corrected.model, actor=people.alice)
    run_pending()
    raw.refresh_from_db()
    corrected.refresh_from_db()
    assert policy_differences(corrected.policy, corrected.revision) == "whitespace=trailing"
    assert (raw.standing, corrected.standing) == (SuiteRun.Standing.DEFAULT, SuiteRun.Standing.OTHER)
    assert not same_bits(scored_as(raw), scored_as(corrected))
    raw.delete()
    page = client.get(reverse("leaderboard")).content.decode()
    assert "not the default policy: whitespace=trailing" in page


def test_every_table_says_which_correction_its_bits_have(client, people, corrected):
    services.queue_run(corrected.revision, make_model(people.alice, slug="raw"), actor=people.alice)
    run_pending()
    expected = {"uniform": "trailing", "raw": "none"}
    for what in ("scores", "predictions", "outcomes", "regions", "tokens"):
        table = content_of(client.get(reverse("export-table", args=[what, "csv"]))).decode()
        assert {row["model"]: row["whitespace"] for row in csv.DictReader(io.StringIO(table))} == expected
        file = content_of(client.get(reverse("export-table", args=[what, "parquet"])))
        assert set(pq.read_table(io.BytesIO(file)).column("whitespace").to_pylist()) == {"trailing", "none"}
    for form in ("csv", "long.csv", "md", "tex"):
        board = client.get(reverse("leaderboard-download", args=[form])).content.decode()
        assert "whitespace" in board, form
        assert "trailing" in board, form
    [figure, *_] = client.get(corrected.get_absolute_url()).context["margin_figures"].values()
    assert figure.header[-1] == "whitespace"
    assert {row[-1] for row in figure.rows} == {"trailing"}


def test_sentences_that_are_scored_on_demand_are_corrected(people, blanks):
    request = queue_scores(
        ["The woman"], make_model(people.alice), ScoringPolicy(whitespace="trailing"), actor=people.alice
    )
    run_pending("preview")
    request.refresh_from_db()
    assert request.scores[0]["bits"] == [10.0, 10.5]


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
    monkeypatch.setattr("gym.runs.work.actors.error_of", lambda facts: TokenError(1e-3))
    run = services.queue_run(
        make_revision(people.alice, items=2), make_model(people.alice), actor=people.alice
    )
    run_pending()
    result = run.prediction_results.get()
    assert (result.passed, result.too_close, result.close) == (2, 1, [True, False])
    page = " ".join(client.get(run.get_absolute_url() + "?only=close").content.decode().split())
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


def test_scores_kept_without_the_correction_are_not_taken_for_corrected_ones(people, blanks):
    revision, model = make_revision(people.alice), make_model(people.alice)
    plain, corrected = (
        services.queue_run(revision, model, ScoringPolicy(whitespace=name), actor=people.alice)
        for name in ("none", "trailing")
    )
    run_pending()
    plain.refresh_from_db()
    corrected.refresh_from_db()
    assert (plain.n_cached, corrected.n_cached) == (0, 0)
    bits = [list(run.sentence_scores.values_list("regions", flat=True)) for run in (plain, corrected)]
    assert bits[0] != bits[1]
