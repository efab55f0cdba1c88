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
from models_registry import actors, rechecks, services, warm
from models_registry.models import RegisteredModel
from models_registry.rechecks import CHECK_VERSION
from tests.factories import make_model
from tests.lmgym.models import tiny

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
    tokenizer = tiny.train("byte-bpe")
    path = settings.GYM_MODEL_DIR / "tiny"
    return tiny.save(path, tiny.gpt2(tokenizer.get_vocab_size()), tiny.fast(tokenizer))


@pytest.fixture
def model(people, folder) -> RegisteredModel:
    config = {"source": "directory", "path": "tiny", "device": "cpu"}
    return aged(make_model(people.staff, slug="tiny", ready=False, backend="causal", config=config))


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
    (folder / "tokenizer.json").write_text("{}")
    job = after_sign_in(model)
    assert job.state == "done"
    assert model.status == "broken"


def test_other_files_than_those_that_were_checked_are_not_taken_for_them(model, folder):
    tokenizer = tiny.train("byte-bpe")
    shutil.rmtree(folder)
    tiny.save(folder, tiny.gpt2(tokenizer.get_vocab_size(), seed=5), tiny.fast(tokenizer))
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
