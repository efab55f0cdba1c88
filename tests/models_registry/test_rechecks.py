"""Models checked by an older version of the check are checked again, and stay ready meanwhile."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from gym.jobs.models import Job
from gym.jobs.testing import run_pending
from gym.jobs.worker import worker_signed_in
from lmgym.models.backends import BackendUnavailable
from lmgym.models.backends.ngram_file import FILE_NAME, save_model
from lmgym.models.backends.ngram_model import train_ngram
from models_registry import actors, rechecks, services, warm
from models_registry.models import RegisteredModel
from models_registry.rechecks import CHECK_VERSION
from tests.factories import make_model

pytestmark = pytest.mark.usefixtures("no_child")


@pytest.fixture(autouse=True)
def _cold():
    yield
    warm.forget()


def aged(model: RegisteredModel) -> RegisteredModel:
    """Check the model, and return it as an older version of the check would have left it."""
    services.check_model(model, actor=model.owner)
    run_pending()
    model.refresh_from_db()
    assert model.is_ready
    del model.facts["check_version"]
    model.facts["notes"] = ["as it was"]
    model.save(update_fields=["facts"])
    return model


@pytest.fixture
def folder(settings) -> Path:
    settings.GYM_MODEL_DIR.mkdir(parents=True)
    return save(settings.GYM_MODEL_DIR / "tiny", "the cat sat", "the cat ran")


def save(folder: Path, *sentences: str) -> Path:
    """Write a folder with the counts of these sentences, which takes less time than a network."""
    folder.mkdir()
    save_model(train_ngram(sentences, 2), folder / FILE_NAME)
    return folder


@pytest.fixture
def model(people, folder) -> RegisteredModel:
    return aged(make_model(people.staff, slug="tiny", ready=False, backend="ngram", config={"path": "tiny"}))


def sign_in() -> None:
    for _, answer in worker_signed_in.send_robust(sender=None):
        assert not isinstance(answer, Exception), answer


def after_sign_in(model: RegisteredModel) -> Job:
    sign_in()
    model.refresh_from_db()
    assert model.is_ready
    [job] = run_pending()
    model.refresh_from_db()
    return job


def test_a_worker_that_signs_in_has_an_older_check_made_again_once(people):
    model = aged(make_model(people.alice, ready=False))
    sign_in()
    sign_in()
    model.refresh_from_db()
    assert model.is_ready
    [job] = run_pending()
    assert (job.state, job.title, job.owner) == ("done", "Check Uniform again", None)
    model.refresh_from_db()
    assert (model.status, model.facts["check_version"]) == ("ready", CHECK_VERSION)
    assert model.facts["notes"] != ["as it was"]
    sign_in()
    assert run_pending() == []


def test_two_workers_that_sign_in_at_once_queue_one_check(people):
    model = aged(make_model(people.alice, ready=False))
    as_seen = RegisteredModel.objects.select_related("check_job").get(pk=model.pk)
    rechecks._queue(model)
    rechecks._queue(as_seen)
    assert len(run_pending()) == 1


def test_a_model_that_this_version_refuses_is_broken(model, folder):
    (folder / FILE_NAME).write_text("{}")
    job = after_sign_in(model)
    assert job.state == "done"
    assert model.status == "broken"


def test_other_files_than_those_that_were_checked_are_not_taken_for_them(model, folder):
    shutil.rmtree(folder)
    save(folder, "the dog sat", "the dog ran")
    after_sign_in(model)
    assert model.status == "broken"
    assert "are not those that were checked" in model.status_reason


def test_files_that_are_not_on_this_worker_leave_the_check_to_another(model, folder):
    shutil.rmtree(folder)
    sign_in()
    [job] = run_pending(limit=1)
    assert (job.state, job.error) == ("queued", "Waiting for a worker with the files of the model tiny.")
    model.refresh_from_db()
    assert model.is_ready


def test_a_server_that_is_away_leaves_the_model_as_it_was(people, monkeypatch):
    model = aged(make_model(people.alice, ready=False))

    def away(*_given: Any) -> Any:
        raise BackendUnavailable("The server is away.")

    monkeypatch.setattr(actors, "_load_and_probe", away)
    job = after_sign_in(model)
    assert job.state in ("queued", "failed")
    assert (model.status, model.facts["notes"]) == ("ready", ["as it was"])
