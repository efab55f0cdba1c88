"""The score cache keeps within its budget and never evicts what a run needs."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.core.management import call_command
from django.utils import timezone

from gym.jobs.testing import run_pending
from gym.runs.models import RunChunk, ScoreCache
from gym.runs.work import cache
from gym.runs.work.services import queue_run
from lmgym.models.engine import ScoringFailure
from lmgym.runs import score_store
from tests.factories import make_model, make_revision

pytestmark = pytest.mark.django_db


def fill(scorer: str, n: int, days: int) -> list[str]:
    texts = [f"{scorer} {number}" for number in range(n)]
    cache.write(scorer, {text: ScoringFailure("x") for text in texts})
    ScoreCache.objects.filter(scorer=scorer).update(used=timezone.now() - timedelta(days=days))
    return texts


def test_what_was_read_longest_ago_goes_first(settings):
    fill("old", 3, 30)
    fill("new", 3, 2)
    settings.GYM_SCORE_CACHE_SENTENCES = 4
    assert cache.trim() == cache.Trimmed(2, 4)
    assert ScoreCache.objects.filter(scorer="new").count() == 3


def test_reading_counts_as_use(settings):
    [first, *_] = fill("old", 3, 30)
    cache.read("old", [first])
    settings.GYM_SCORE_CACHE_SENTENCES = 1
    cache.trim()
    assert ScoreCache.objects.get().text_sha256 == score_store.text_key(first)


def test_reading_again_on_the_same_day_writes_nothing(django_assert_num_queries):
    texts = fill("new", 3, 0)
    with django_assert_num_queries(2):
        assert len(cache.read("new", texts)) == 3


def test_no_limit_keeps_everything(settings):
    fill("old", 3, 30)
    settings.GYM_SCORE_CACHE_SENTENCES = 0
    assert cache.trim().removed == 0
    assert cache.trim(keep=0).left == 0


def test_many_go_in_batches_and_stopping_between_them_is_safe(monkeypatch):
    monkeypatch.setattr(cache, "BATCH", 2)
    fill("old", 7, 30)
    told = []

    def stop(done, total):
        told.append((done, total))
        if done >= 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cache.trim(keep=1, progress=stop)
    assert (told, ScoreCache.objects.count()) == ([(2, 6), (4, 6)], 3)


def test_scores_of_a_run_under_way_stay_and_the_run_ends_well(people):
    run = queue_run(make_revision(people.alice), make_model(people.alice), actor=people.alice)
    fill("mine", 3, 30)
    fill("others", 3, 3)
    run.scorer = "mine"
    run.save()
    assert cache.trim(keep=0) == cache.Trimmed(3, 3)
    assert set(ScoreCache.objects.values_list("scorer", flat=True)) == {"mine"}
    run_pending()
    run.refresh_from_db()
    assert run.state == "done"


def test_results_stay_when_everything_else_goes(people, capsys):
    run = queue_run(make_revision(people.alice), make_model(people.alice), actor=people.alice)
    run_pending()
    n = run.sentence_scores.count()
    assert RunChunk.objects.exists()
    call_command("trim_scores", "--keep", "0")
    assert "deleted, 0 left" in capsys.readouterr().out
    assert cache.drop_spent_chunks() > 0
    assert run.sentence_scores.count() == n > 0
    again = queue_run(run.revision, run.model, actor=people.alice)
    run_pending()
    again.refresh_from_db()
    assert again.state == "done"


def test_the_staff_job_tidies_and_says_what_it_did(people, settings):
    from gym.staff.actors import TIDY
    from gym.staff.services import queue_task

    settings.GYM_SCORE_CACHE_SENTENCES = 1
    fill("old", 3, 30)
    job = queue_task(TIDY, actor=people.staff)
    run_pending()
    job.refresh_from_db()
    assert job.state == "done"
    assert "under a hash of the sentence: 2 rows deleted." in job.log
