"""A model that is larger than the memory of its device is refused before its weights are read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from lmgym.models import machine_memory as machine
from lmgym.models.backends import BackendError, MemoryInUse, files, load_backend, memory_check
from lmgym.models.backends.memory_check import Memory, require_memory
from lmgym.models.machine_memory import MachineMemory, machine_memory
from tests.lmgym.models import tiny

GB = 10**9


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    tokenizer = tiny.train("byte-bpe")
    return tiny.save(tmp_path / "m", tiny.gpt2(tokenizer.get_vocab_size()), tiny.fast(tokenizer))


@pytest.fixture
def gpus(monkeypatch: pytest.MonkeyPatch) -> list[Memory]:
    """Two GPUs of 80 GB with 70 GB free, and 64 GB of main memory with 50 GB free."""
    found = [Memory("cuda:0", 80 * GB, 70 * GB), Memory("cuda:1", 80 * GB, 70 * GB)]
    monkeypatch.setattr(torch.cuda, "device_count", lambda: len(found))
    monkeypatch.setattr(memory_check, "gpu_memory", lambda device: found[device.index])
    monkeypatch.setattr(memory_check, "machine_memory", lambda: MachineMemory(64 * GB, 50 * GB))
    return found


def ask(monkeypatch: pytest.MonkeyPatch, billions: float, dtype: torch.dtype, **more: Any) -> None:
    monkeypatch.setattr(files, "count_numbers", lambda _folder: int(billions * 1e9))
    require_memory(Path(), dtype, torch.device("cuda", 0), **more)


def test_the_numbers_of_a_model_are_counted_without_reading_them(folder: Path) -> None:
    from transformers import AutoModelForCausalLM

    stored = sum(part.numel() for part in AutoModelForCausalLM.from_pretrained(folder).parameters())
    assert files.count_numbers(folder) == stored


def test_a_model_larger_than_the_gpu_is_refused_in_words(gpus, monkeypatch) -> None:
    with pytest.raises(BackendError) as caught:
        ask(monkeypatch, 30, torch.float32)
    assert not isinstance(caught.value, MemoryInUse)
    assert caught.value.message == "The model takes 121 GB in float32, and cuda:0 has 80 GB."
    assert "bfloat16" in caught.value.hint
    assert '"cuda:all"' in caught.value.hint


def test_half_the_bytes_fit_and_main_memory_must_hold_them_on_their_way(gpus, monkeypatch) -> None:
    ask(monkeypatch, 20, torch.bfloat16)
    with pytest.raises(BackendError, match=r"takes 66 GB in bfloat16, and the main memory has 64 GB\."):
        ask(monkeypatch, 33, torch.bfloat16)


def test_a_gpu_that_others_use_may_have_room_later(gpus, monkeypatch) -> None:
    gpus[0] = Memory("cuda:0", 80 * GB, 5 * GB)
    with pytest.raises(
        MemoryInUse, match=r"cuda:0 has 80 GB, of which 5\.00 GB is free\. .* try again later"
    ):
        ask(monkeypatch, 7, torch.bfloat16)


def test_a_spread_model_may_take_all_gpus_and_main_memory(gpus, monkeypatch) -> None:
    ask(monkeypatch, 90, torch.bfloat16, spread=True)
    with pytest.raises(BackendError, match="takes 241 GB in bfloat16, and the memory of 3 devices"):
        ask(monkeypatch, 120, torch.bfloat16, spread=True)


def test_on_a_cpu_main_memory_counts_and_nothing_is_read(folder: Path, monkeypatch) -> None:
    from transformers import AutoModelForCausalLM

    def never(*_args: Any, **_named: Any) -> Any:
        raise AssertionError("the weights were read")

    monkeypatch.setattr(memory_check, "machine_memory", lambda: MachineMemory(10_000, 9_000))
    monkeypatch.setattr(AutoModelForCausalLM, "from_pretrained", never)
    with pytest.raises(BackendError, match=r"in float32, and the main memory has 0\.00 GB"):
        load_backend(
            "causal", {"source": "directory", "path": "m"}, model_dir=folder.parent, hub_allowed=False
        )


def test_where_the_system_does_not_say_nothing_is_refused(folder: Path, monkeypatch) -> None:
    monkeypatch.setattr(memory_check, "machine_memory", lambda: None)
    require_memory(folder, torch.float32, torch.device("cpu"))


def test_what_torch_keeps_for_this_process_counts_as_free(monkeypatch) -> None:
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda _device: (10 * GB, 80 * GB))
    monkeypatch.setattr(torch.cuda, "memory_reserved", lambda _device: 8 * GB)
    monkeypatch.setattr(torch.cuda, "memory_allocated", lambda _device: 3 * GB)
    assert memory_check.gpu_memory(torch.device("cuda", 1)) == Memory("cuda:1", 80 * GB, 15 * GB)


def test_a_container_may_have_less_than_the_machine(tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "meminfo").write_text("MemTotal: 1000 kB\nMemFree: 1 kB\nMemAvailable: 800 kB\n")
    monkeypatch.setattr(machine, "MEMINFO", tmp_path / "meminfo")
    monkeypatch.setattr(machine, "GROUP", tmp_path)
    assert machine_memory() == (1000 * 1024, 800 * 1024)
    (tmp_path / "memory.max").write_text("max\n")
    (tmp_path / "memory.current").write_text("300000\n")
    (tmp_path / "memory.stat").write_text("anon 200000\ninactive_file 100000\n")
    assert machine_memory() == (1000 * 1024, 800 * 1024)
    (tmp_path / "memory.max").write_text("500000\n")
    assert machine_memory() == (500_000, 300_000)
    monkeypatch.setattr(machine, "MEMINFO", tmp_path / "absent")
    assert machine_memory() is None


def test_loading_switches_tf32_off(folder: Path) -> None:
    torch.set_float32_matmul_precision("high")
    try:
        load_backend(
            "causal", {"source": "directory", "path": "m"}, model_dir=folder.parent, hub_allowed=False
        )
        assert torch.get_float32_matmul_precision() == "highest"
        assert not torch.backends.cuda.matmul.allow_tf32
        assert not torch.backends.cudnn.allow_tf32
    finally:
        torch.set_float32_matmul_precision("highest")
