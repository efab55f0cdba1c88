"""Workers with a GPU: their device in the list of workers, shared memory, and results that only a GPU
gives."""

from __future__ import annotations

import pytest
import torch
from django.urls import reverse

from gym.jobs import runner
from gym.jobs.models import WorkerHeartbeat
from gym.jobs.worker import WorkerProcess
from lmgym.models.backends import BackendError, DeviceMissing, MemoryInUse, loading
from models_registry import actors, warm
from tests.factories import make_model
from tests.models_registry.test_warm_models import Loaded, loads, model, use  # noqa: F401  (fixtures)

MB = 1_000_000


class About:
    name, total_memory = "NVIDIA H100", 80_000 * MB


@pytest.fixture
def gpu(monkeypatch):
    """A fake GPU of 80 GB."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda _device=None: About.name)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _device: About)


# --- the list of workers ---


def said_by_a_worker(monkeypatch, tmp_path, client) -> str:
    warm.forget()  # what earlier tests of this process loaded
    (tmp_path / "nvidiactl").touch()
    monkeypatch.setattr(warm, "GPU_FILES", (str(tmp_path / "nvidiactl"),))
    worker = WorkerProcess(["default"])
    worker._register()
    monkeypatch.setattr(
        warm.threading, "Thread", lambda target, **_: type("T", (), {"start": lambda _s: target()})()
    )
    monkeypatch.setattr(warm.connection, "close", lambda: None)
    warm.report_device()
    assert WorkerHeartbeat.objects.get(pk=runner.worker_id()).device
    return client.get(reverse("queue")).content.decode()


def test_a_worker_with_a_gpu_says_so_before_it_has_loaded_a_model(
    people, client, gpu, monkeypatch, tmp_path, settings
):
    settings.GYM_DEVICE = "auto"
    client.force_login(people.alice)
    assert "<td>cuda:0 (NVIDIA H100)</td>" in said_by_a_worker(monkeypatch, tmp_path, client)


def test_a_worker_whose_device_is_not_there_says_that(people, client, gpu, monkeypatch, tmp_path, settings):
    settings.GYM_DEVICE = "cuda:3"
    client.force_login(people.alice)
    assert "This machine has no device cuda:3." in said_by_a_worker(monkeypatch, tmp_path, client)


def test_without_a_driver_nothing_is_looked_for(db, monkeypatch):
    monkeypatch.setattr(warm, "GPU_FILES", ("/nowhere",))
    monkeypatch.setattr(warm, "_report_device", lambda: pytest.fail("torch would be imported"))
    warm.report_device()


def test_all_gpus_are_named(gpu):
    assert loading.describe_device("cuda:all") == "cuda, models spread over cuda:0 (NVIDIA H100)"


# --- shared memory ---


def test_workers_that_share_a_gpu_share_the_budget(gpu, settings):
    settings.GYM_MODEL_MEMORY_MB, settings.GYM_DEVICE, settings.GYM_WORKERS = 0, "auto", 1
    assert warm.budget_bytes() == 64_000 * MB
    settings.GYM_WORKERS = 2
    assert warm.budget_bytes() == 32_000 * MB


def test_a_device_that_is_gone_does_not_break_the_budget(gpu, settings):
    settings.GYM_MODEL_MEMORY_MB, settings.GYM_DEVICE = 0, "cuda:3"
    assert warm.budget_bytes() > 0


def crowded_while(condition, monkeypatch) -> None:
    """Make loading fail for lack of memory as long as `condition()` is true."""
    plain = warm.load_backend

    def load(kind, config, **places):
        if condition():
            raise MemoryInUse("cuda:0 is full.")
        return plain(kind, config, **places)

    monkeypatch.setattr(warm, "load_backend", load)


def test_idle_models_go_when_the_device_has_no_room(loads, model, monkeypatch):  # noqa: F811
    first, second = model("40-a"), model("40-b")
    use(first)
    crowded_while(lambda: warm._cache.keys() & {warm._key(first)}, monkeypatch)
    use(second)
    assert loads == ["40-a", "40-b"]
    assert list(warm._cache) == [warm._key(second)]


def test_without_an_idle_model_the_reason_is_told(loads, model, monkeypatch):  # noqa: F811
    crowded_while(lambda: True, monkeypatch)
    with pytest.raises(MemoryInUse, match="cuda:0 is full"):
        use(model("40-a"))
    assert not warm._cache


def test_idle_models_make_room_for_a_check_in_its_own_process(loads, model, monkeypatch):  # noqa: F811
    """The process that checks a model cannot use memory that this worker's idle models occupy."""
    idle, checked = model("40-a"), model("40-b")
    use(idle)

    def child(_model, _tick, _progress):
        if warm._cache:
            raise MemoryInUse("cuda:0 is full.")
        return actors.Checked(Loaded(40).facts, {}, 0.1)

    monkeypatch.setattr(actors, "_load_in_child", child)
    assert actors.inspect(checked)["status"] == "ready"


# --- numbers that only a GPU gives ---


def half(people, **facts):
    return make_model(
        people.alice,
        slug="half" if facts else "unchecked-half",
        backend="causal",
        config={"source": "directory", "path": "40-half", "dtype": "bfloat16"},
        facts=facts,
    )


def test_a_model_checked_in_a_half_type_waits_for_a_worker_with_a_gpu(loads, people, settings):  # noqa: F811
    settings.GYM_DEVICE = "cpu"
    with pytest.raises(DeviceMissing, match="half was checked in bfloat16") as caught:
        use(half(people, dtype="bfloat16"))
    assert caught.value.lacks("half") == "a GPU"
    assert loads == [], "nothing was read in vain"


def test_with_a_gpu_it_is_loaded(loads, people, gpu, settings):  # noqa: F811
    settings.GYM_DEVICE = "auto"
    use(half(people, dtype="bfloat16"))
    assert loads == ["40-half"]


def test_a_half_type_that_was_checked_on_a_cpu_is_float32_on_every_worker(people):
    """The check on a machine without a GPU computed in float32; a worker with one must not differ."""
    assert warm.effective_config(half(people, dtype="float32"))["dtype"] == "float32"
    assert warm.effective_config(half(people))["dtype"] == "bfloat16"


def test_a_check_that_finds_no_room_says_why(people, monkeypatch):
    def child(_model, _tick, _progress):
        raise MemoryInUse("The model takes 14 GB in bfloat16, and cuda:0 has 80 GB, of which 2 GB is free.")

    monkeypatch.setattr(actors, "_load_in_child", child)
    found = actors.inspect(half(people))
    assert (found["status"], found["status_reason"][:23]) == ("broken", "The model takes 14 GB i")


def test_no_room_comes_back_from_the_child_as_what_it_is():
    from io import BytesIO
    from types import SimpleNamespace

    said = b'{"problem": "cuda:0 is full.", "memory_in_use": true, "unavailable": false, "lacks": "", "raised": false}'
    with pytest.raises(MemoryInUse):
        actors._result(SimpleNamespace(returncode=0), BytesIO(said), BytesIO())
    with pytest.raises(BackendError) as caught:
        actors._result(SimpleNamespace(returncode=0), BytesIO(said.replace(b"true", b"false")), BytesIO())
    assert not isinstance(caught.value, MemoryInUse)
