"""The demo simulates readers once all its models have run on the suite, and compares the models with them."""

from __future__ import annotations

import pytest

from gym.demo import people as demo
from gym.demo.loader import demo_user
from gym.jobs.testing import run_pending
from gym.people.comparing import rows_in
from gym.people.models import HumanData, PeopleComparison
from gym.runs.models import SuiteRun
from gym.runs.signals import results_written
from models_registry.models import RegisteredModel
from tests.human_data import experiments


@pytest.mark.django_db
def test_the_known_slope_is_recovered_within_its_interval(monkeypatch):
    owner = demo_user()
    revision = experiments.make_revision(owner)
    monkeypatch.setattr(demo, "SUITE", revision.suite.slug)
    run = experiments.finished_run(revision, owner, demo.READER)
    RegisteredModel.objects.update(status="ready")
    for _ in range(2):  # the second result finds the data
        results_written.send(sender=SuiteRun, run=run)
    run_pending()
    data = HumanData.objects.get()
    assert (data.title, data.visibility, data.is_simulated) == (demo.TITLE, "public", True)
    coefficients = rows_in(PeopleComparison.objects.get().result, "coefficients")
    (slope,) = [row for row in coefficients if row.term == "surprisal"]
    assert slope.low < demo.EXPERIMENT.slope < slope.high
