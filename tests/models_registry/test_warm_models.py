"""Loaded models stay in memory within a budget; a model in use is never unloaded. The list of workers shows
them.
"""

from __future__ import annotations

import sys
import threading

import pytest
from django.urls import reverse
from django.utils import timezone

from gym.jobs import runner
from gym.jobs.models import WorkerHeartbeat
from gym.jobs.selectors import is_loaded_somewhere
from gym.jobs.worker import worker_replaced
from lmgym.models.backends import BackendError, ModelFacts
from lmgym.models.backends.unchanged import FileSnapshot
from models_registry import warm
from tests.factories import make_model

MB = 1_000_000


class Loaded:
    fingerprint = ""

    def __init__(self, megabytes: int) -> None:
        self.facts = ModelFacts(
            parameters=megabytes * MB // 4,
            vocabulary_size=2,
            tokenizer="",
            context_length=None,
            bos=None,
            eos=None,
            dtype="float32",
            device="cpu",
            revision="",
            fingerprint=self.fingerprint,
        )


@pytest.fixture
def loads(monkeypatch, settings):
    """Names of the loaded folders. A folder named "40" takes 40 MB, and the budget is 100 MB."""
    settings.GYM_MODEL_MEMORY_MB = 100
    settings.GYM_TORCH_THREADS = 1
    loads: list[str] = []

    def load(kind, config, **places):
        loads.append(config["path"])
        return Loaded(int(config["path"].split("-")[0]))

    monkeypatch.setattr(warm, "load_backend", load)
    monkeypatch.setattr(warm, "set_threads", lambda: None)
    monkeypatch.setattr(warm, "_cache", type(warm._cache)())
    return loads


@pytest.fixture
def model(people):
    def make(path: str):
        config = {"source": "directory", "path": path}
        size = int(path.split("-")[0]) * MB // 4
        return make_model(people.alice, slug=f"m{path}", backend="causal", config=config, parameters=size)

    return make


def use(model) -> None:
    with warm.loaded_model(model):
        pass


def test_what_fits_stays_loaded(loads, model):
    models = [model("40-a"), model("40-b")]
    for one in models * 2:
        use(one)
    assert loads == ["40-a", "40-b"]


def test_the_least_recently_used_goes(loads, model):
    a, b, c = model("40-a"), model("40-b"), model("40-c")
    for one in (a, b, a, c, a, b):
        use(one)
    assert loads == ["40-a", "40-b", "40-c", "40-b"]


def test_a_model_in_use_never_goes(loads, model):
    a, b = model("60-a"), model("60-b")
    with warm.loaded_model(a):
        use(b)
        use(a)
    assert loads == ["60-a", "60-b"]
    use(b)
    assert loads == ["60-a", "60-b", "60-b"], "over the budget, the idle one went"


def test_a_model_whose_files_changed_is_loaded_anew_and_the_others_stay(loads, model, monkeypatch):
    changed, other = model("40-a"), model("40-b")
    use(changed)
    use(other)
    monkeypatch.setattr(Loaded, "fingerprint", "new")
    changed.fingerprint = "new"  # what the check of the new files found
    use(changed)
    use(other)
    assert loads == ["40-a", "40-b", "40-a"]


def test_a_model_whose_files_are_no_longer_as_they_were_is_loaded_anew(loads, model, monkeypatch, tmp_path):
    (tmp_path / "config.json").write_text("{}")
    monkeypatch.setattr(Loaded, "snapshot", FileSnapshot(tmp_path), raising=False)
    one = model("40-a")
    use(one)
    use(one)
    assert loads == ["40-a"]
    (tmp_path / "config.json").write_text("[]")
    use(one)
    assert loads == ["40-a", "40-a"]


def test_two_threads_load_a_model_once_and_another_need_not_wait(loads, model, monkeypatch):
    slow, quick = model("10-slow"), model("10-quick")
    use(quick)
    started, go, plain = threading.Event(), threading.Event(), warm.load_backend

    def load(kind, config, **places):
        started.set()
        assert go.wait(10)
        return plain(kind, config, **places)

    monkeypatch.setattr(warm, "load_backend", load)
    monkeypatch.setattr(
        type(slow).objects, "filter", lambda **which: type("", (), {"update": lambda *a, **k: 0})()
    )
    monkeypatch.setattr(warm, "_report", lambda: None)
    threads = [threading.Thread(target=use, args=(slow,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    assert started.wait(10)
    use(quick)  # would hang if a load held the lock
    go.set()
    for thread in threads:
        thread.join(10)
    assert loads == ["10-quick", "10-slow"]


def test_a_model_that_does_not_load_leaves_nothing_behind(loads, model, monkeypatch):
    broken = model("10-broken")
    plain = warm.load_backend

    def fail(*a, **k):
        raise BackendError("no")

    monkeypatch.setattr(warm, "load_backend", fail)
    with pytest.raises(BackendError):
        use(broken)
    monkeypatch.setattr(warm, "load_backend", plain)
    use(broken)
    assert loads == ["10-broken"]


def test_the_kernels_a_check_found_are_those_of_the_model_it_loaded(loads, model):
    """The run after the check uses the loaded model, although the model's configuration now names the
    kernels.
    """
    one = model("10-a")
    warm.load_registered(one)
    one.facts = {"kernels": ""}
    use(one)
    assert loads == ["10-a"]
    one.facts = {"kernels": "packed"}
    use(one)
    assert loads == ["10-a", "10-a"]


def test_workers_report_models_time_and_memory_for_staff_only(client, people, loads, model):
    WorkerHeartbeat.objects.create(
        pk=runner.worker_id(), host="here", pid=1, queues=["preview"], last_seen=timezone.now()
    )
    one = model("40-a")
    assert not is_loaded_somewhere("m40-a", "preview")
    use(one)
    assert is_loaded_somewhere("m40-a", "preview")
    assert not is_loaded_somewhere("m40-a", "default")
    one.refresh_from_db()
    assert one.load_seconds is not None
    memory = WorkerHeartbeat.objects.get().memory
    assert memory["held"] == [{"name": "m40-a", "bytes": 40 * MB, "seconds": memory["held"][0]["seconds"]}]
    assert memory["budget_bytes"] == 100 * MB
    assert "m40-a" not in client.get(reverse("queue")).content.decode()
    client.force_login(people.staff)
    page = client.get(reverse("queue")).content.decode()
    assert "m40-a" in page
    assert "Models in memory" in page


def test_threads_are_the_cores_divided_by_those_who_share_them(settings, monkeypatch, db):
    import torch

    set_to = []
    monkeypatch.setattr(torch, "set_num_threads", set_to.append)
    monkeypatch.setattr(warm.os, "sched_getaffinity", lambda pid: set(range(8)))
    for workers, wanted, expected in ((1, 0, 8), (3, 0, 2), (16, 0, 1), (3, 5, 5)):
        monkeypatch.setattr(warm, "_threads", 0)
        settings.GYM_WORKERS, settings.GYM_TORCH_THREADS = workers, wanted
        warm.set_threads()
        assert set_to[-1] == expected


class Libraries:
    """Fake transformers module that records what is imported from it."""

    def __init__(self):
        self.imported = []

    def __getattr__(self, name):
        self.imported.append(name)


@pytest.mark.parametrize(("backend", "imports"), [("causal", True), ("uniform", False)])
def test_a_worker_that_takes_a_dead_ones_place_imports_first_what_models_need(
    people, monkeypatch, backend, imports
):
    monkeypatch.setitem(sys.modules, "transformers", libraries := Libraries())
    make_model(people.alice, backend=backend)
    worker_replaced.send(sender=None)
    assert ("PreTrainedModel" in libraries.imported) == imports
