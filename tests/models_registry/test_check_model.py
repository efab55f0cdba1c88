"""The check: a model is ready with its facts, or broken with the exact reason."""

from __future__ import annotations

import json
import shutil
from hashlib import sha256
from pathlib import Path

import pytest
from django.core.exceptions import PermissionDenied
from django.db import OperationalError
from django.urls import reverse
from django.utils import timezone
from django.utils.html import escape

from gym.jobs.models import Job, State
from gym.jobs.services import request_cancel
from gym.jobs.signals import time_passes
from gym.jobs.testing import run_pending
from lmgym.models.backends import ModelFacts, smoke_test
from lmgym.models.backends.unchanged import FileSnapshot
from models_registry import services, warm
from models_registry.actors import inspect
from models_registry.models import RegisteredModel
from tests.factories import make_model
from tests.lmgym.models import tiny


@pytest.fixture(autouse=True)
def _cold():
    """Unload all models after each test."""
    yield
    warm.forget()


@pytest.fixture
def model_dir(settings) -> Path:
    settings.GYM_MODEL_DIR.mkdir(parents=True)
    return settings.GYM_MODEL_DIR


def check(model: RegisteredModel, actor) -> RegisteredModel:
    services.check_model(model, actor=actor)
    [job] = run_pending()
    assert (job.state, job.error) == ("done", "")
    model.refresh_from_db()
    return model


def folder_model(people, path: str, **config) -> RegisteredModel:
    return make_model(
        people.staff,
        slug="folder",
        ready=False,
        backend="causal",
        config={"source": "directory", "path": path, "device": "cpu", **config},
    )


def test_a_baseline_becomes_ready_with_its_facts(client, people):
    model = check(make_model(people.alice, ready=False), people.alice)
    assert (model.status, model.status_reason, model.parameters, model.vocabulary_size) == (
        "ready",
        "",
        0,
        1024,
    )
    assert len(model.fingerprint) == 64
    assert model.checked_at is not None
    assert model.facts["probe"]
    page = client.get(model.get_absolute_url()).content.decode()
    assert "word by regular expression" in page
    assert model.fingerprint in page


def test_a_folder_becomes_ready_with_parameters_tokenizer_and_fingerprint(
    client, people, model_dir, no_child
):
    pytest.importorskip("torch")
    tokenizer = tiny.train("byte-bpe")
    network = tiny.gpt2(tokenizer.get_vocab_size())
    folder = tiny.save(model_dir / "tiny", network, tiny.fast(tokenizer))
    model = check(folder_model(people, "tiny"), people.staff)
    assert (model.status, model.status_reason) == ("ready", "")
    assert model.parameters == sum(weights.numel() for weights in network.parameters())
    assert model.vocabulary_size == tokenizer.get_vocab_size()
    assert model.fingerprint == warm.load_registered(model).facts.fingerprint
    assert model.fingerprint == sha256(f"{FileSnapshot(folder).read().digest} float32".encode()).hexdigest()
    assert (model.facts["bos"], model.facts["device"], model.facts["context_length"]) == ("<s>", "cpu", 256)
    assert model.source_revision == ""
    page = client.get(model.get_absolute_url()).content.decode()
    for shown in (model.fingerprint, model.facts["tokenizer"], "256 tokens", "&lt;s&gt;"):
        assert shown in page


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("missing", "There is no 'missing' in the model directory. Check the name, or copy the model there."),
        ("link", "'link' is outside the model directory. "),
    ],
)
def test_a_model_that_does_not_work_says_exactly_why(
    client, people, model_dir, tmp_path, no_child, path, reason
):
    (tmp_path / "outside").mkdir()
    (model_dir / "link").symlink_to(tmp_path / "outside")
    model = check(folder_model(people, path), people.staff)
    assert model.status == "broken"
    assert model.status_reason.startswith(reason)
    assert model.facts == {}
    page = client.get(model.get_absolute_url()).content.decode()
    assert "This model does not work." in page
    assert escape(model.status_reason) in page
    assert (
        escape(model.status_reason) in client.get(reverse("model-status", args=["folder"])).content.decode()
    )
    assert str(tmp_path) not in page


def test_a_hub_model_on_a_site_without_the_hub_says_so(people, settings, no_child):
    settings.GYM_HUB_ALLOWED = False
    config = {"source": "hub", "repo": "nobody/nothing"}
    model = check(make_model(people.staff, ready=False, backend="causal", config=config), people.staff)
    assert model.status == "broken"
    assert "nobody/nothing" in model.status_reason or "hub" in model.status_reason.lower()


def test_files_put_in_place_later_are_found_by_the_next_check(people, model_dir, no_child):
    from lmgym.models.backends.ngram_file import FILE_NAME, save_model
    from lmgym.models.backends.ngram_model import train_ngram

    model = make_model(people.staff, ready=False, backend="ngram", config={"path": "late"})
    assert check(model, people.staff).status == "broken"
    (model_dir / "late").mkdir()
    save_model(train_ngram(["the cat sat", "the cat ran"], 2), model_dir / "late" / FILE_NAME)
    model = check(model, people.staff)
    assert (model.status, model.status_reason) == ("ready", "")
    first = model.fingerprint
    save_model(train_ngram(["the dog sat", "the dog ran"], 2), model_dir / "late" / FILE_NAME)
    assert check(model, people.staff).fingerprint != first
    shutil.rmtree(model_dir / "late")
    assert check(model, people.staff).status == "broken"


def test_while_the_check_waits_the_page_asks_for_its_end(client, people):
    model = make_model(people.alice, ready=False)
    services.check_model(model, actor=people.alice)
    page = client.get(model.get_absolute_url()).content.decode()
    assert "The check is waiting for a worker." in page
    assert f'hx-get="{reverse("model-status", args=[model.slug])}"' in page
    run_pending()
    assert "hx-get" not in client.get(reverse("model-status", args=[model.slug])).content.decode()


def test_a_cancelled_check_says_so_instead_of_waiting(client, people):
    model = make_model(people.alice, ready=False)
    services.check_model(model, actor=people.alice)
    request_cancel(model.check_job, actor=people.alice)
    assert "The check was cancelled." in client.get(model.get_absolute_url()).content.decode()


def test_a_stranger_may_not_have_a_model_checked(people):
    with pytest.raises(PermissionDenied):
        services.check_model(make_model(people.alice), actor=people.charlie)


def test_a_model_deleted_before_its_check_fails_the_job_only(people):
    model = make_model(people.alice, ready=False)
    services.check_model(model, actor=people.alice)
    model.delete()
    [job] = run_pending()
    assert (job.state, job.error) == (
        "failed",
        "The model was deleted or corrected, so this check no longer applies.",
    )


RAISES = "Expected 4 heads at /srv/site/models/odd/config.json"


class Raising:
    """A backend that loads but cannot run."""

    facts = ModelFacts(None, None, "", None, None, None, "float32", "cpu", "", "f" * 64)

    def score(self, *args, **more):
        raise TypeError(f"{RAISES}\n  in a second line")


def test_a_check_that_raises_ends_as_broken_with_one_line(people, monkeypatch, caplog):
    monkeypatch.setattr(warm, "load_backend", lambda *args, **more: Raising())
    model = check(make_model(people.alice, ready=False), people.alice)
    assert model.status == "broken"
    assert model.status_reason == "Testing the model raised TypeError: Expected 4 heads at …/config.json"
    assert "second line" in caplog.text  # the traceback is for staff
    assert "Traceback" not in model.check_job.log + model.check_job.error


def test_a_trial_that_raises_in_its_process_is_a_problem_in_one_line(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(smoke_test, "load_backend", lambda *args, **more: Raising())
    request = {"kind": "ngram", "config": {}, "model_dir": str(tmp_path), "hub_allowed": False}
    found = smoke_test.run_smoke_test(request)
    assert found == {
        "problem": "Testing the model raised TypeError: Expected 4 heads at …/config.json",
        "raised": True,
        "memory_in_use": False,
        "unavailable": False,
        "lacks": "",
    }
    assert "Traceback" in capsys.readouterr().err


def test_a_folder_whose_model_cannot_run_is_broken(people, model_dir, no_child):
    pytest.importorskip("torch")
    tokenizer = tiny.train("byte-bpe")
    folder = tiny.save(model_dir / "odd", tiny.gpt2(tokenizer.get_vocab_size()), tiny.fast(tokenizer))
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"activation_function": "no_such_function"}))
    model = check(folder_model(people, "odd"), people.staff)
    assert model.status == "broken"
    assert "no_such_function" in model.status_reason
    assert "\n" not in model.status_reason
    assert str(model_dir) not in model.status_reason + model.check_job.error + model.check_job.log


@pytest.mark.parametrize(
    ("state", "error", "reason"),
    [
        (State.FAILED, "Its worker died (signal 9).", "Its worker died (signal 9)."),
        (State.CANCELLED, "", "it was cancelled."),
    ],
)
def test_no_model_stays_unchecked_when_its_check_has_ended(people, state, error, reason):
    model = make_model(people.alice, ready=False)
    services.check_model(model, actor=people.alice)
    time_passes.send(None)
    model.refresh_from_db()
    assert model.status == "unchecked"
    Job.objects.filter(pk=model.check_job_id).update(state=state, error=error, finished=timezone.now())
    time_passes.send(None)
    model.refresh_from_db()
    assert model.status == "broken"
    assert model.status_reason == f"The check ended without a result: {reason} Check the model again."


def test_a_lost_database_is_no_fault_of_the_model(people, monkeypatch):
    def lost(*args, **more):
        raise OperationalError("server closed the connection")

    monkeypatch.setattr(warm, "load_backend", lost)
    model = make_model(people.alice, ready=False)
    services.check_model(model, actor=people.alice)
    with pytest.raises(OperationalError):
        inspect(model)
