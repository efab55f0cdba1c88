"""Jobs of a model go to the workers that can load it."""

from __future__ import annotations

import pytest

from gym import env
from gym.runs.work.services import queue_run
from models_registry.models import RegisteredModel
from models_registry.queues import queue_of
from tests.factories import make_model, make_revision


def model(**values) -> RegisteredModel:
    return RegisteredModel(slug="m", **values)


@pytest.fixture
def queues(settings):
    settings.GYM_MODEL_QUEUES = {"gpu": None, "large": 1000, "huge": 16000}
    settings.GYM_JOB_QUEUES = ["default", "preview", "agents", *settings.GYM_MODEL_QUEUES]


@pytest.mark.parametrize(
    ("values", "queue"),
    [
        ({}, "default"),
        ({"config": {"device": "cpu"}}, "default"),
        ({"config": {"device": "cuda:1"}}, "gpu"),
        ({"parameters": 250_000_000}, "large"),
        ({"parameters": 249_000_000}, "default"),
        ({"parameters": 8_000_000_000, "facts": {"dtype": "bfloat16"}}, "huge"),
        ({"parameters": 8_000_000_000, "config": {"device": "cuda"}}, "gpu"),
        ({"tags": ["queue:large"], "config": {"device": "cuda"}}, "large"),
        ({"tags": ["queue:nowhere"]}, "default"),
    ],
)
def test_by_tag_then_gpu_then_weights(queues, values, queue):
    assert queue_of(model(**values)) == queue


def test_without_such_queues_everything_goes_to_the_default_one(settings):
    settings.GYM_MODEL_QUEUES = {}
    assert queue_of(model(tags=["queue:gpu"], config={"device": "cuda"})) == "default"


def test_a_run_waits_in_the_queue_of_its_model(people, queues):
    large = make_model(people.alice)
    RegisteredModel.objects.filter(pk=large.pk).update(tags=["queue:huge"])
    large.refresh_from_db()
    run = queue_run(make_revision(people.alice), large, actor=people.alice)
    assert run.job.queue == "huge"


def test_the_setting_names_queues_and_megabytes(monkeypatch):
    monkeypatch.setenv("GYM_MODEL_QUEUES", "gpu, large = 16000")
    assert env.sizes("GYM_MODEL_QUEUES") == {"gpu": None, "large": 16000}
