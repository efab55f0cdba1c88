"""Selection of the run that counts."""

from __future__ import annotations

from gym.jobs.testing import run_pending
from gym.runs.read.selectors import latest_done, visible_to
from gym.runs.work import services
from tests.factories import make_model, make_revision


def test_the_latest_of_two_runs_counts(people):
    revision, model = make_revision(people.alice), make_model(people.alice)
    runs = [services.queue_run(revision, model, actor=people.alice) for _ in range(2)]
    run_pending()
    assert [run.pk for run in latest_done(visible_to(people.nobody))] == [runs[1].pk]
