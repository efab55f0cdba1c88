"""Live preview: from the cache immediately, otherwise through the quick queue; never stored as a run."""

from __future__ import annotations

import json

import pytest
from django.urls import reverse

from gym.accounts import daily_sentences
from gym.jobs.models import Job
from gym.jobs.testing import run_pending
from gym.runs.models import ScoreCache, SuiteRun
from gym.runs.work import preview as module
from lmgym.models.backends.uniform import UniformBackend
from lmgym.models.engine import ScoringFailure
from models_registry.models import RegisteredModel
from tests.factories import make_model, make_suite
from tests.lmgym.suites.documents import AGREEMENT

REGIONS, CONDITIONS = ["Subject", "Verb", "Rest"], ["match", "mismatch"]


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch):
    monkeypatch.setattr(module, "WAIT_SECONDS", 0)


@pytest.fixture
def suite(client, people):
    client.force_login(people.alice)
    make_model(people.alice)
    return make_suite(people.alice, frozen=False)


def rows(item=1, match="plays", mismatch="play around"):
    return [
        {"item": item, "condition": "match", "contents": ["The woman", match, "all day."]},
        {"item": item, "condition": "mismatch", "contents": ["The woman", mismatch, "all day."]},
    ]


def ask(client, suite, **body):
    """Request a preview of unsaved edits, as the grid does."""
    given = {
        "model": "uniform",
        "sentences": rows(),
        "regions": REGIONS,
        "conditions": CONDITIONS,
        "predictions": [AGREEMENT],
    }
    return client.post(
        reverse("api-preview", args=[suite.slug]), json.dumps(given | body), content_type="application/json"
    )


def outcomes(answer):
    """Return (number of the prediction, item, outcome, margin, too close) of each outcome."""
    return [
        tuple(row[name] for name in ("prediction_number", "item", "outcome", "margin", "too_close"))
        for row in answer.json()["outcomes"]
    ]


def test_a_sentence_is_scored_in_the_background_and_then_known(client, suite):
    first = ask(client, suite)
    assert first.status_code == 202
    assert first["Retry-After"] == "1"
    assert [job.state for job in run_pending("preview")] == ["done"]
    answer = ask(client, suite)
    assert answer.status_code == 200
    told = answer.json()
    assert [row["region_surprisals"] for row in told["rows"]] == [[20.0, 10.0, 30.0], [20.0, 20.0, 30.0]]
    assert [row["surprisal"] for row in told["rows"]] == [60.0, 70.0]
    assert outcomes(answer) == [(1, 1, "held", 10.0, False)]
    assert not SuiteRun.objects.exists()
    assert ask(client, suite).status_code == 200
    assert Job.objects.count() == 1


def test_tokens_are_returned_with_their_regions_if_they_are_requested(client, suite):
    ask(client, suite)
    run_pending("preview")
    assert ask(client, suite).json()["rows"][0]["tokens"] is None
    tokens = ask(client, suite, tokens=True).json()["rows"][0]["tokens"]
    assert [(token["text"], token["region_number"], token["surprisal"]) for token in tokens] == [
        ("The", 1, 10.0),
        ("woman", 1, 10.0),
        ("plays", 2, 10.0),
        ("all", 3, 10.0),
        ("day", 3, 10.0),
        (".", 3, 10.0),
    ]


def test_only_what_is_new_is_scored(client, suite):
    ask(client, suite)
    run_pending("preview")
    ask(client, suite, sentences=rows(mismatch="played"))
    job = Job.objects.get(state="queued")
    assert job.payload["texts"] == ["The woman played all day."]


def test_asking_again_while_it_is_scored_makes_no_second_job(client, suite):
    assert ask(client, suite).json()["job"] == ask(client, suite).json()["job"]
    assert Job.objects.count() == 1


def test_a_newer_preview_takes_the_place_of_the_one_before(client, suite):
    ask(client, suite)
    ask(client, suite, sentences=rows(match="plays now"))
    assert sorted(Job.objects.values_list("state", flat=True)) == ["cancelled", "queued"]


def test_formulas_that_cannot_be_read_have_no_outcome_and_the_others_do(client, suite):
    ask(client, suite)
    run_pending("preview")
    formulas = ["(2;%mismatch%) >", "(9;%match%) > 0", "(2;%match%) = (3;%mismatch%)", "1 > 0", AGREEMENT]
    answer = ask(client, suite, predictions=formulas)
    assert [row[:3] for row in outcomes(answer)] == [(3, 1, "failed"), (5, 1, "held")]


def test_an_item_without_all_its_sentences_is_not_evaluable(client, suite):
    ask(client, suite)
    run_pending("preview")
    assert outcomes(ask(client, suite, sentences=rows()[:1]))[0][2] == "not evaluable"


def test_a_tie_is_a_tie(client, suite):
    ask(client, suite, sentences=rows(mismatch="play"))
    run_pending("preview")
    assert outcomes(ask(client, suite, sentences=rows(mismatch="play")))[0][2] == "tie"


def test_the_worker_s_view_of_the_model_is_remembered(client, suite):
    assert module.scorer_of(RegisteredModel.objects.get(), module.ScoringPolicy()) is None
    ask(client, suite)
    run_pending("preview")
    scorer = module.scorer_of(RegisteredModel.objects.get(), module.ScoringPolicy())
    assert set(ScoreCache.objects.values_list("scorer", flat=True)) == {scorer}


def test_a_model_that_cannot_be_used_says_why_and_is_not_asked_for_ever(client, suite):
    RegisteredModel.objects.update(fingerprint="something else")
    assert ask(client, suite).status_code == 202
    run_pending("preview")
    answer = ask(client, suite)
    assert (answer.status_code, answer.json()["code"]) == (422, "not-scored")
    assert answer.json()["detail"] == Job.objects.get().error
    assert Job.objects.count() == 1


def test_what_is_no_preview_is_refused(client, suite):
    for body in (
        {"sentences": "x"},
        {"sentences": [1]},
        {"sentences": [{"item": 1, "condition": "match", "contents": ["a"]}]},
        {"sentences": [{"item": "1", "condition": "match", "contents": ["a", "b", "c"]}]},
        {"sentences": [{"item": 1, "condition": "nope", "contents": ["a", "b", "c"]}]},
        {"sentences": rows() * 1001},
        {"regions": [1]},
        {"predictions": {"a": 1}},
        {"items": ["1"]},
        {"items": [2]},
        {"model": ""},
    ):
        answer = ask(client, suite, **body)
        assert answer.status_code == 400, body
        assert answer.json()["errors"][0]["where"].startswith("$."), body


def test_only_editors_preview_and_only_with_models_they_may_run(client, people, suite):
    make_model(people.bob, slug="secret", visibility="private")
    refused = ask(client, suite, model="secret")
    assert (refused.status_code, refused.json()["errors"][0]["where"]) == (400, "$.model")
    suite.collaborations.create(user=people.bob, role="view")
    client.force_login(people.bob)
    assert ask(client, suite).status_code == 403
    client.logout()
    assert ask(client, suite).status_code == 401


def test_old_previews_leave_no_rows_behind(client, suite):
    ask(client, suite)
    run_pending("preview")
    Job.objects.update(started=module.timezone.now() - 2 * module.KEEP)
    ask(client, suite, sentences=rows(match="plays more"))
    run_pending("preview")
    assert Job.objects.count() == 1


def test_a_cold_model_is_announced_at_once_and_a_warm_one_is_not(client, suite, monkeypatch):
    from django.utils import timezone

    from gym.jobs.models import WorkerHeartbeat

    monkeypatch.setattr(module, "WAIT_SECONDS", 0.1)
    slept = []
    monkeypatch.setattr(module.time, "sleep", lambda seconds: slept.append(seconds))
    RegisteredModel.objects.update(load_seconds=4.2)
    told = ask(client, suite).json()
    assert (told["loading"], told["load_seconds"], slept) == (True, 4.2, [])
    WorkerHeartbeat.objects.create(
        pk="w",
        host="here",
        pid=1,
        queues=["preview"],
        last_seen=timezone.now(),
        memory={"held": [{"name": "uniform"}]},
    )
    assert ask(client, suite).json()["loading"] is False
    assert slept
    run_pending("preview")
    assert ask(client, suite).status_code == 200


def test_the_api_previews_the_items_of_the_draft(client, suite, people):
    def send(**body):
        return client.post(
            f"/api/v1/suites/{suite.slug}/preview/", json.dumps(body), content_type="application/json"
        )

    first = send(model="uniform", items=[2])
    assert (first.status_code, first["Retry-After"], first.json()["rows"]) == (202, "1", [])
    assert first["Location"].endswith(f"/api/v1/suites/{suite.slug}/preview/")
    run_pending("preview")
    answer = send(model="uniform", items=[2])
    assert answer.status_code == 200
    assert [(row["item"], row["condition"], row["region_surprisals"]) for row in answer.json()["rows"]] == [
        (2, "match", [20.0, 10.0, 30.0]),
        (2, "mismatch", [20.0, 10.0, 30.0]),
    ]
    assert answer.json()["outcomes"] == [
        {"prediction_number": 1, "item": 2, "outcome": "tie", "margin": 0.0, "too_close": False}
    ]
    whole = send(model="uniform")
    assert whole.status_code == 202
    run_pending("preview")
    assert len(send(model="uniform").json()["rows"]) == 6
    missing = send(model="uniform", items=[9])
    assert (missing.status_code, missing.json()["errors"][0]["where"]) == (400, "$.items")
    unknown = send(model="nothing")
    assert (unknown.status_code, unknown.json()["errors"][0]["where"]) == (400, "$.model")
    assert not SuiteRun.objects.exists()
    client.logout()
    assert send(model="uniform").status_code == 401


def test_new_sentences_count_for_the_day_and_known_ones_do_not(client, suite, people, settings):
    settings.GYM_MAX_SENTENCES_PER_DAY = 3
    ask(client, suite)
    assert daily_sentences.used_by(people.alice) == 2
    run_pending("preview")
    ask(client, suite)
    ask(client, suite, sentences=rows(match="plays now"))
    assert daily_sentences.used_by(people.alice) == 3
    run_pending("preview")
    refused = ask(client, suite, sentences=rows(match="plays then"))
    assert refused.status_code == 429
    assert "You queued 3 sentences in the last 24 hours" in refused.json()["detail"]
    assert Job.objects.filter(state="queued").count() == 0
    assert ask(client, suite).status_code == 200  # stored results are still returned


def test_a_preview_that_takes_the_place_of_another_pays_for_what_is_new(client, suite, people):
    ask(client, suite)
    ask(client, suite, sentences=rows(match="plays now"))
    ask(client, suite, sentences=rows(match="plays now", mismatch="played"))
    assert daily_sentences.used_by(people.alice) == 4  # each text counts once


NO_MEMORY = "This text (9 tokens) does not fit into the memory of cpu."


@pytest.fixture
def short_of_memory(monkeypatch):
    """Words whose sentences fail because the model is short of memory. Tests empty this list."""
    score, words = UniformBackend._score, ["plays"]

    def scored(self, text):
        short = any(word in text.split() for word in words)
        return ScoringFailure(NO_MEMORY, transient=True) if short else score(self, text)

    monkeypatch.setattr(UniformBackend, "_score", scored)
    return words


def test_a_failure_that_may_pass_ends_the_preview_and_is_charged_once(client, suite, people, short_of_memory):
    assert ask(client, suite).status_code == 202
    run_pending("preview")
    for _ in range(3):
        answer = ask(client, suite)
        assert answer.status_code == 200
        assert [row["failure"] for row in answer.json()["rows"]] == [NO_MEMORY, ""]
        assert [row["region_surprisals"] for row in answer.json()["rows"]] == [[None] * 3, [20.0, 20.0, 30.0]]
        assert outcomes(answer)[0][2] == "not evaluable"
    assert Job.objects.count() == 1
    assert daily_sentences.used_by(people.alice) == 2
    assert ScoreCache.objects.count() == 1


def test_an_edit_scores_what_is_new_and_still_says_what_failed(client, suite, people, short_of_memory):
    ask(client, suite)
    run_pending("preview")
    assert ask(client, suite, sentences=rows(mismatch="played")).status_code == 202
    assert Job.objects.get(state="queued").payload["texts"] == ["The woman played all day."]
    run_pending("preview")
    told = ask(client, suite, sentences=rows(mismatch="played")).json()
    assert [row["failure"] for row in told["rows"]] == [NO_MEMORY, ""]
    assert daily_sentences.used_by(people.alice) == 3


def test_what_failed_is_tried_again_after_some_time(client, suite, short_of_memory):
    ask(client, suite)
    run_pending("preview")
    short_of_memory.clear()
    assert ask(client, suite).json()["rows"][0]["failure"] == NO_MEMORY
    Job.objects.update(finished=module.timezone.now() - module.RECENT)
    assert ask(client, suite).status_code == 202
    run_pending("preview")
    assert [row["failure"] for row in ask(client, suite).json()["rows"]] == ["", ""]


def test_another_model_and_another_person_try_for_themselves(client, suite, people, short_of_memory):
    ask(client, suite)
    run_pending("preview")
    make_model(people.alice, slug="other", config={"vocabulary_size": 2, "unit": "word"})
    assert ask(client, suite, model="other").status_code == 202
    suite.collaborations.create(user=people.bob, role="edit")
    client.force_login(people.bob)
    assert ask(client, suite).status_code == 202


def test_the_api_says_when_the_day_s_sentences_are_used_up(client, suite, settings):
    settings.GYM_MAX_SENTENCES_PER_DAY = 1
    refused = client.post(
        f"/api/v1/suites/{suite.slug}/preview/",
        json.dumps({"model": "uniform", "items": [1]}),
        content_type="application/json",
    )
    assert (refused.status_code, refused["Content-Type"]) == (429, "application/problem+json")
    assert "is 1 a day" in refused.json()["detail"]
