"""What predictions look at is scored first; the rest follows as background work, and changes no outcome."""

from __future__ import annotations

import csv
import io
import json

import pytest
from django.urls import reverse

from gym.evaluations import cache, report, services
from gym.evaluations.models import RunChunk, ScoreCache, SuiteRun
from gym.jobs import runner, states
from gym.jobs.errors import WorkerStopping
from gym.jobs.models import Job
from gym.jobs.testing import run_pending
from models_registry.engine import ScoringFailure, ScoringPolicy, TokenScores
from suites.selectors import document_of
from tests.evaluations.open_backend import install
from tests.factories import make_model, make_revision
from tests.results.test_exports import content_of

STAR = "(*;%mismatch%) > (*;%match%)"


@pytest.fixture
def calls(monkeypatch, settings):
    settings.GYM_CHUNK_SENTENCES = 4
    return install(monkeypatch)


@pytest.fixture
def revision(people):
    return make_revision(people.alice, items=5)


@pytest.fixture
def model(people):
    return make_model(people.alice)


@pytest.fixture
def queued(people, calls, revision, model):
    return services.queue_run(revision, model, actor=people.alice)


def step() -> Job | None:
    """One attempt of the next job."""
    job = states.claim_next("default", "test")
    if job is not None:
        runner.run(job, heartbeat=False)
        job.refresh_from_db()
    return job


def results(run: SuiteRun) -> dict:
    run.refresh_from_db()
    return report.as_dict(document_of(run.revision), report.result_of(run), {}) | {
        "summary": run.region_summary
    }


def test_outcomes_are_in_after_the_first_pass_and_the_job_goes_to_the_end_of_the_queue(queued, calls):
    job = step()
    queued.refresh_from_db()
    assert (job.state, job.priority) == ("queued", Job.Priority.BACKGROUND)
    assert (queued.is_done, queued.filling, queued.state) == (True, True, "done")
    [prediction] = queued.prediction_results.all()
    assert set(prediction.outcomes) <= {0, 1}
    assert prediction.total == 5
    assert queued.region_summary == []
    assert all(needed is not None for _, needed in calls)
    regions = [row.regions for row in queued.sentence_scores.all()]
    assert all(row[0] is None and row[1] is not None and row[2] is None for row in regions)


def test_then_everything_is_there_and_no_outcome_has_changed(queued):
    step()
    before = results(queued)
    [job] = run_pending()
    after = results(queued)
    assert (job.state, queued.filling, after["complete"]) == ("done", False, True)
    assert after["predictions"] == before["predictions"]
    assert len(queued.region_summary) == 2
    for row in queued.sentence_scores.all():
        assert row.pending == []
        assert None not in row.regions
    assert not queued.chunks.exclude(scores=None).exists()


def test_the_cache_never_holds_a_part_of_a_sentence(queued):
    step()
    assert ScoreCache.objects.count() == 0
    run_pending()
    stored = ScoreCache.objects.values_list("scores", flat=True)
    assert len(stored) == queued.n_sentences
    assert all(cache.from_json(row).complete for row in stored)
    part = TokenScores(["a"], [1], [(0, 1)], [None], [False], [True])
    with pytest.raises(ValueError, match="pending"):
        cache.write("x", {"a": part})


def test_the_command_line_shows_what_the_page_shows(queued, model, revision):
    from gym.evaluations.foreground import run_document
    from models_registry.warm import load_pinned

    run_pending()
    document = document_of(revision)
    result = run_document(document, load_pinned(model), ScoringPolicy.from_dict(queued.policy))
    queued.refresh_from_db()
    assert report.as_dict(document, result, {}) == report.as_dict(document, report.result_of(queued), {})


@pytest.mark.parametrize("lost_at", range(1, 7))
def test_a_worker_that_stops_anywhere_changes_no_bit(people, calls, revision, model, lost_at):
    calm = services.queue_run(revision, model, actor=people.alice)
    run_pending()
    assert len(calls) == 6, "three chunks, twice"
    expected = results(calm)
    ScoreCache.objects.all().delete()
    calls.clear()

    def stop(number):
        if number == lost_at:
            raise WorkerStopping

    calls.before = stop
    run = services.queue_run(revision, model, actor=people.alice)
    run_pending()
    assert results(run) == expected
    assert len(calls) == 7


def test_other_people_s_first_results_come_before_the_rest(people, queued, calls, model):
    step()
    other = services.queue_run(make_revision(people.bob, name="b", items=5), model, actor=people.bob)
    assert step().pk == other.job_id
    other.refresh_from_db()
    assert other.is_done


def test_filling_in_gives_way_between_chunks(people, queued, calls, model):
    step()
    other = make_revision(people.bob, name="b", items=5)

    def arrives(number):
        if number == 4:  # the first chunk of the second pass
            services.queue_run(other, model, actor=people.bob)

    calls.before = arrives
    job = step()
    assert (job.state, job.tries) == ("queued", 0)
    assert queued.chunks.filter(done=True).count() == 1
    assert step().owner == people.bob
    run_pending()
    assert not SuiteRun.objects.filter(filling=True).exists()


def test_background_work_does_not_count_among_active_jobs(people, settings, queued, model):
    step()
    settings.GYM_MAX_ACTIVE_JOBS_PER_USER = 1
    services.queue_run(make_revision(people.alice, name="b"), model, actor=people.alice)


def test_stopped_after_the_outcomes_a_run_keeps_them_and_can_be_filled_in_later(people, queued):
    step()
    services.cancel_run(queued, actor=people.alice)
    queued.refresh_from_db()
    assert (queued.state, queued.filling, queued.job.state) == ("done", True, "cancelled")
    services.retry_run(SuiteRun.objects.get(pk=queued.pk), actor=people.alice)
    run_pending()
    queued.refresh_from_db()
    assert not queued.filling


def test_a_wish_to_stop_during_the_first_pass_leaves_no_background_work(people, queued, calls):
    calls.before = lambda number: number == 3 and services.cancel_run(queued, actor=people.alice)
    job = step()
    assert job.state == "cancelled"


def test_a_failure_that_may_pass_is_tried_again_by_the_second_pass(queued, calls, monkeypatch):
    from models_registry.backends.uniform import UniformBackend

    score = UniformBackend.score

    def once(self, texts, policy, needed=None):
        found = score(self, texts, policy, needed)
        return [ScoringFailure("memory ran out", transient=True), *found[1:]] if len(calls) == 1 else found

    monkeypatch.setattr(UniformBackend, "score", once)
    step()
    queued.refresh_from_db()
    assert queued.n_unscored == 1
    run_pending()
    queued.refresh_from_db()
    assert (queued.n_unscored, queued.filling) == (0, False)


@pytest.mark.parametrize("formulas", [(STAR,), ()])
def test_a_suite_that_looks_at_everything_or_nothing_is_scored_whole(people, calls, model, formulas):
    run = services.queue_run(
        make_revision(people.alice, items=5, formulas=formulas), model, actor=people.alice
    )
    step()
    run.refresh_from_db()
    assert (run.is_done, run.filling) == (True, False)
    assert all(needed is None for _, needed in calls)


def test_with_the_whitespace_correction_the_second_pass_looks_at_every_token(people, calls, revision, model):
    policy = ScoringPolicy(whitespace="trailing")
    services.queue_run(revision, model, policy, actor=people.alice)
    run_pending()
    assert [needed is None for _, needed in calls] == [False] * 3 + [True] * 3


def test_a_run_of_one_chunk_is_scored_whole(people, calls, model, settings):
    settings.GYM_CHUNK_SENTENCES = 0
    run = services.queue_run(make_revision(people.alice, items=5), model, actor=people.alice)
    step()
    run.refresh_from_db()
    assert (run.filling, len(calls), RunChunk.objects.count()) == (False, 1, 1)


def test_what_a_tokenizer_puts_elsewhere_is_scored_whole_at_once(queued, calls, monkeypatch):
    """The offsets of a token may lie outside the region it counts for."""
    from models_registry.backends.uniform import UniformBackend

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
    step()
    queued.refresh_from_db()
    assert queued.prediction_results.get().not_evaluable == 0


def get(client, name, *words):
    response = client.get(reverse(name, args=words))
    assert response.status_code == 200
    return response


def test_the_page_says_that_plots_follow(client, queued):
    step()
    page = get(client, "run-detail", queued.key).content.decode()
    assert "Plots follow." in page
    assert 'hx-get="/runs/' in page
    assert "Chart and table follow" in page
    polled = client.get(reverse("run-progress", args=[queued.key]), {"filling": ""})
    assert polled.status_code == 200
    assert "HX-Refresh" not in polled
    run_pending()
    assert client.get(reverse("run-progress", args=[queued.key]), {"filling": ""})["HX-Refresh"] == "true"
    assert "Plots follow." not in get(client, "run-detail", queued.key).content.decode()


def test_the_item_page_shows_where_bits_follow(client, queued):
    step()
    page = get(client, "run-item", queued.key, "1").content.decode()
    assert "Not complete yet." in page
    assert 'title="follows">…' in page
    run_pending()
    assert 'title="follows"' not in get(client, "run-item", queued.key, "1").content.decode()


def test_downloads_say_so(client, queued):
    step()
    data = json.loads(get(client, "run-download", queued.key, "json").content)
    assert data["complete"] is False
    assert "still being scored" in data["note"]
    assert data["items"][0]["conditions"][0]["regions"][0]["pending"] is True
    for form in ("regions.csv", "tokens.csv"):
        response = get(client, "run-download", queued.key, form)
        assert f"incomplete-{form}" in response["Content-Disposition"]
        rows = list(csv.DictReader(io.StringIO(content_of(response).decode())))
        assert {row["pending"] for row in rows} == {"True", "False"}
        assert all((row["surprisal_bits"] == "") == (row["pending"] == "True") for row in rows)
    assert "incomplete" not in get(client, "run-download", queued.key, "outcomes.csv")["Content-Disposition"]
    run_pending()
    done = get(client, "run-download", queued.key, "regions.csv")
    assert "incomplete" not in done["Content-Disposition"]
    assert {row["pending"] for row in csv.DictReader(io.StringIO(content_of(done).decode()))} == {"False"}


def test_the_api_says_so(client, people, queued):
    step()
    client.force_login(people.alice)
    assert client.get(f"/api/v1/runs/{queued.key}/").json()["filling"] is True
    assert client.get(f"/api/v1/runs/{queued.key}/results/").json()["complete"] is False
    run_pending()
    assert client.get(f"/api/v1/runs/{queued.key}/").json()["filling"] is False


def test_the_chart_of_an_unfinished_run_is_not_there(client, queued):
    step()
    assert client.get(reverse("run-chart", args=[queued.key])).status_code == 404
