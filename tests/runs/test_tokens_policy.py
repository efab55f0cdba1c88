"""A run is one pass; its policy decides between all tokens and those that predictions refer to."""

from __future__ import annotations

import csv
import io
import json

import pytest
from django.core.exceptions import ValidationError
from django.core.management import CommandError, call_command
from django.urls import reverse

from gym.jobs.errors import WorkerStopping
from gym.jobs.testing import run_pending
from gym.runs.models import RunChunk, ScoreCache, SuiteRun
from gym.runs.policies import policy_differences
from gym.runs.read.comparison import scored_as
from gym.runs.read.report import result_of
from gym.runs.work import cache, services
from lmgym.models.backends.uniform import UniformBackend
from lmgym.models.engine import ScoringFailure, ScoringPolicy, TokenScores
from lmgym.runs import report, score_store
from lmgym.runs.run_differences import run_differences
from lmgym.suites.formats import write_json
from suites.selectors import document_of
from tests.factories import make_model, make_revision
from tests.lmgym.runs.open_backend import install
from tests.once import once_a_module
from tests.runs.test_exports import content_of

STAR = "(*;%mismatch%) > (*;%match%)"
NEEDED = ScoringPolicy(tokens="needed")


@pytest.fixture
def calls(monkeypatch, settings):
    settings.GYM_CHUNK_SENTENCES = 4
    return install(monkeypatch)


def revision_of_five(people):
    return make_revision(people.alice, items=5)


built, people, revision = once_a_module(revision_of_five)


@pytest.fixture
def model(people):
    return make_model(people.alice)


@pytest.fixture
def start(people, calls, revision, model):
    """Function that returns a finished run under a policy."""

    def started(policy: ScoringPolicy | None = None, of=revision) -> SuiteRun:
        run = services.queue_run(of, model, policy, actor=people.alice)
        run_pending()
        run.refresh_from_db()
        return run

    return started


def results(run: SuiteRun) -> dict:
    run.refresh_from_db()
    return report.as_dict(document_of(run.revision), result_of(run), {}) | {"summary": run.region_summary}


def test_a_run_computes_all_tokens_in_one_pass_unless_told_otherwise(start, calls):
    run = start()
    assert run.policy["tokens"] == "all"
    assert [needed for _, needed in calls] == [None] * 3
    assert results(run)["complete"]


def test_a_run_of_needed_tokens_has_the_regions_of_its_predictions_and_says_what_it_lacks(start, calls):
    run = start(NEEDED)
    assert len(calls) == 3
    assert all(needed is not None for _, needed in calls)
    for row in run.sentence_scores.all():
        assert [bits is None for bits in row.regions] == [True, False, True]
        assert row.surprisal is None
        assert {row.tokens[number][5] for number in row.not_computed} == {0, 2}
    assert run.is_done
    assert not RunChunk.objects.exclude(scores=None).exists()


def test_outcomes_and_rates_are_those_of_a_run_of_all_tokens(start):
    part, whole = start(NEEDED), start()
    [a], [b] = part.prediction_results.all(), whole.prediction_results.all()
    assert (a.outcomes, a.passed, a.low, a.ties) == (b.outcomes, b.passed, b.low, b.ties)
    assert a.margins == pytest.approx(b.margins, abs=1e-5)


def test_other_regions_are_not_computed_even_where_the_cache_knows_them(start, calls):
    expected = results(start(NEEDED))
    ScoreCache.objects.all().delete()
    start()
    calls.clear()
    found = results(start(NEEDED))
    assert not calls, "the cache is read"
    assert found["items"][0]["conditions"][0]["regions"][0] == {
        **expected["items"][0]["conditions"][0]["regions"][0],
        "surprisal": None,
        "not_computed": True,
    }
    assert [cell["n"] for row in found["summary"] for cell in row["regions"]] == [0, 5, 0] * 2


def test_the_cache_never_holds_a_part_of_a_sentence(start, model):
    start(NEEDED)
    assert ScoreCache.objects.count() == 0
    part = TokenScores(["a"], [1], [(0, 1)], [None], [False], [True])
    with pytest.raises(ValueError, match="incomplete"):
        cache.write("x", {"a": part})
    run = start()
    stored = ScoreCache.objects.values_list("scores", flat=True)
    assert len(stored) == run.n_sentences
    assert all(score_store.from_json(row).complete for row in stored)


def test_what_a_backend_computes_anyway_goes_into_the_cache(people, revision, model):
    run = services.queue_run(revision, model, NEEDED, actor=people.alice)
    run_pending()
    assert ScoreCache.objects.count() == run.n_sentences
    assert not results(run)["complete"]


def test_tokens_are_no_part_of_the_scorer_and_make_no_run_another_one(start):
    part, whole = start(NEEDED), start()
    assert part.scorer == whole.scorer
    assert policy_differences(part.policy, part.revision) == ""
    assert part.standing == SuiteRun.Standing.DEFAULT
    assert run_differences([scored_as(part), scored_as(whole)]) == []


@pytest.mark.parametrize(("lost_at", "tokens"), [(1, "needed"), (2, "all"), (3, "needed")])
def test_a_worker_that_stops_anywhere_changes_no_bit(people, calls, revision, model, lost_at, tokens):
    policy = ScoringPolicy(tokens=tokens)
    calm = services.queue_run(revision, model, policy, actor=people.alice)
    run_pending()
    assert len(calls) == 3
    expected = results(calm)
    ScoreCache.objects.all().delete()
    calls.clear()

    def stop(number):
        if number == lost_at:
            raise WorkerStopping

    calls.before = stop
    run = services.queue_run(revision, model, policy, actor=people.alice)
    run_pending()
    assert results(run) == expected
    assert len(calls) == 4


@pytest.mark.parametrize("tokens", ["all", "needed"])
def test_the_command_line_shows_what_the_page_shows(start, model, revision, tokens):
    from gym.runs.work.scoring import CachedScores
    from lmgym.runs.scoring import score_document
    from models_registry.warm import load_pinned

    run = start(ScoringPolicy(tokens=tokens))
    backend, policy = load_pinned(model), ScoringPolicy.from_dict(run.policy)
    result = score_document(document_of(revision), backend, policy, store=CachedScores(backend, policy))
    here = report.as_dict(document_of(revision), result, {}) | {"summary": result.region_summary}
    there = results(run)
    assert [row["outcomes"] for row in here["predictions"]] == [
        row["outcomes"] for row in there["predictions"]
    ]
    assert here["complete"] == there["complete"] == (tokens == "all")


def test_a_failure_that_may_pass_is_kept_nowhere(start, calls, monkeypatch):
    score = UniformBackend.score

    def once(self, texts, policy, needed=None):
        found = score(self, texts, policy, needed)
        return [ScoringFailure("memory ran out", transient=True), *found[1:]] if len(calls) == 1 else found

    monkeypatch.setattr(UniformBackend, "score", once)
    assert start(NEEDED).n_unscored == 1
    assert ScoreCache.objects.count() == 0
    assert start(NEEDED).n_unscored == 0


def test_what_a_tokenizer_puts_elsewhere_is_scored_whole(start, monkeypatch):
    """The offsets of a token may lie outside the region it counts for."""
    score = UniformBackend.score

    def beside(self, texts, policy, needed=None):
        found = score(self, texts, policy, needed)
        if needed is None:
            return found
        return [
            TokenScores(s.tokens, s.ids, s.offsets, [None] * len(s), s.special, [True] * len(s))
            for s in found
        ]

    monkeypatch.setattr(UniformBackend, "score", beside)
    assert start(NEEDED).prediction_results.get().not_evaluable == 0


def test_a_formula_about_whole_sentences_needs_every_token(people, start):
    run = start(NEEDED, make_revision(people.alice, name="star", items=5, formulas=(STAR,)))
    assert results(run)["complete"]


def test_a_suite_without_predictions_needs_no_token_and_is_refused(people, calls, model, tmp_path):
    revision = make_revision(people.alice, items=2, formulas=())
    with pytest.raises(ValidationError, match="has no predictions"):
        services.queue_run(revision, model, NEEDED, actor=people.alice)
    suite = tmp_path / "suite.json"
    suite.write_text(write_json(document_of(revision)))
    with pytest.raises(CommandError, match="has no predictions"):
        call_command("evaluate", suite, model="uniform", tokens="needed")


# --- what people see -------------------------------------------------------------------------------------------------
def get(client, name, *words):
    response = client.get(reverse(name, args=words))
    assert response.status_code == 200
    return response


def test_form_and_api_take_the_policy(client, people, calls, revision, model):
    client.force_login(people.alice)
    start = reverse("run-start", args=[revision.suite.slug, 1])
    assert 'name="tokens"' in client.get(start).content.decode()
    given = {"models": ["uniform"], "bos": "auto", "join": "space", "metric": "sum", "tokens": "needed"}
    client.post(start, given)
    body = {"suite": revision.suite.slug, "model": "uniform", "policy": {"tokens": "needed"}, "again": True}
    answer = client.post("/api/v1/runs/", json.dumps(body), content_type="application/json")
    assert answer.json()["policy"]["tokens"] == "needed"
    assert [run.policy["tokens"] for run in SuiteRun.objects.all()] == ["needed"] * 2


def test_pages_say_what_was_not_computed(client, start):
    part, whole = start(NEEDED), start()
    page = get(client, "run-detail", part.key).content.decode()
    assert "Needed tokens only." in page
    assert page.count("not computed</span>") == 4
    item = get(client, "run-item", part.key, "1").content.decode()
    assert "not computed" in item
    for name, words in (("run-detail", [whole.key]), ("run-item", [whole.key, "1"])):
        assert "not computed" not in get(client, name, *words).content.decode()


def test_downloads_and_api_say_what_was_not_computed(client, people, start):
    run = start(NEEDED)
    data = json.loads(get(client, "run-download", run.key, "json").content)
    assert data["complete"] is False
    assert "tokens=needed" in data["note"]
    assert data["items"][0]["conditions"][0]["regions"][0]["not_computed"] is True
    for form in ("regions.csv", "tokens.csv"):
        response = get(client, "run-download", run.key, form)
        assert f"needed-tokens-{form}" in response["Content-Disposition"]
        rows = list(csv.DictReader(io.StringIO(content_of(response).decode())))
        assert {row["not_computed"] for row in rows} == {"True", "False"}
        assert all((row["surprisal"] == "") == (row["not_computed"] == "True") for row in rows)
    client.force_login(people.alice)
    [sentence, *_] = client.get(f"/api/v1/runs/{run.key}/results/regions/").json()["results"]
    assert [(r["surprisal"] is None, r["not_computed"]) for r in sentence["regions"]] == [
        (True, True),
        (False, False),
        (True, True),
    ]
    assert client.get(reverse("export-evaluated", args=[run.key])).status_code == 409
