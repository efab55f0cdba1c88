"""GPU failures: exhausted memory, other processes on the device, missing devices, models that are too
large."""

from __future__ import annotations

import gc
import json
import os
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from benchmarks.engine.workload import Workload
from lmgym.models.backends import Backend, BackendError, MemoryInUse, causal, loading, memory_check
from lmgym.models.engine import ERROR_BITS, ScoringFailure, ScoringPolicy, TokenScores, memory
from lmgym.models.engine.device_errors import reports_device_failure
from lmgym.models.engine.model_runner import ModelRunner
from tests.gpu.conftest import load_from

pytestmark = pytest.mark.gpu

Folders = Callable[..., Path]
MB = 2**20


def total(score: Any) -> float:
    assert isinstance(score, TokenScores), score
    return sum(value for value in score.bits if value is not None)


def assert_equal(
    found: Sequence[Any], wanted: Sequence[Any], bits: float = 2 * ERROR_BITS["float32"]
) -> None:
    for one, other in zip(found, wanted, strict=True):
        assert isinstance(one, TokenScores), one
        assert one.ids == other.ids
        both = [(a or 0.0, b or 0.0) for a, b in zip(one.bits, other.bits, strict=True)]
        assert np.abs(np.diff(np.array(both), axis=1)).max() <= bits


# --- memory that runs out ---


@pytest.fixture
def crowded(on_gpu: bool, device: str, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Context manager in which memory runs out: on a GPU, because the process may reserve only `megabytes` in
    addition to what it holds; on a CPU, in passes over more than `positions` positions.
    """

    @contextmanager
    def on_a_gpu(positions: int, megabytes: float) -> Iterator[None]:
        gc.collect()
        torch.cuda.empty_cache()
        most = torch.cuda.memory_reserved(device) + megabytes * MB
        torch.cuda.set_per_process_memory_fraction(
            most / torch.cuda.get_device_properties(device).total_memory, device
        )
        try:
            yield
        finally:
            torch.cuda.set_per_process_memory_fraction(1.0, device)

    @contextmanager
    def on_a_cpu(positions: int, megabytes: float) -> Iterator[None]:
        plain = ModelRunner.states_at

        def states_at(self: ModelRunner, places: torch.Tensor, **inputs: torch.Tensor) -> torch.Tensor:
            if inputs["input_ids"].numel() > positions:
                raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB.")
            return plain(self, places, **inputs)

        monkeypatch.setattr(ModelRunner, "states_at", states_at)
        try:
            yield
        finally:
            monkeypatch.setattr(ModelRunner, "states_at", plain)

    return on_a_gpu if on_gpu else on_a_cpu


def peak(backend: Backend, texts: list[str], device: str) -> float:
    """Return the peak memory in megabytes that scoring reserves in addition to what is already reserved."""
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats(device)
    before = torch.cuda.memory_reserved(device)
    backend.score(texts, ScoringPolicy())
    return (torch.cuda.max_memory_reserved(device) - before) / MB


def test_when_memory_runs_out_smaller_batches_give_the_same_numbers(
    device: str,
    on_gpu: bool,
    load: Workload,
    folder_of: Folders,
    crowded: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
    record_property: Callable[[str, object], None],
) -> None:
    backend = load_from(folder_of("gpt2"), device)
    usual = backend.score(load.texts, ScoringPolicy())
    between = 0.0
    if on_gpu:
        alone, together = peak(backend, load.texts[:1], device), peak(backend, load.texts, device)
        record_property("megabytes beyond the weights, one sentence", f"{alone:,.0f}")
        record_property("megabytes beyond the weights, all", f"{together:,.0f}")
        assert together > 2 * alone, "the load is too small to run out of memory"
        between = alone + (together - alone) / 4
    freed: list[int] = []
    plain = memory.give_back
    monkeypatch.setattr(memory, "give_back", lambda where: (freed.append(1), plain(where)))
    with crowded(64, between):
        found = backend.score(load.texts, ScoringPolicy())
    record_property("times that memory ran out", len(freed))
    assert freed, "memory never ran out"
    assert_equal(found, usual)


def test_a_text_that_does_not_fit_alone_fails_by_name_and_the_others_are_scored(
    device: str, on_gpu: bool, load: Workload, folder_of: Folders, crowded: Callable[..., Any]
) -> None:
    backend = load_from(folder_of("gpt2"), device)
    short, long = "The keys are here .", " ".join(load.texts)[: 2_000 if on_gpu else 600]
    usual = backend.score([short, long], ScoringPolicy())
    size = len(usual[1])  # type: ignore[arg-type]
    between = 0.0
    if on_gpu:
        alone, together = peak(backend, [short], device), peak(backend, [long], device)
        assert together > alone, "the long text takes no more than the short one"
        between = (alone + together) / 2
    with crowded(32, between):
        first, second = backend.score([short, long], ScoringPolicy())
    assert_equal([first], usual[:1])
    assert isinstance(second, ScoringFailure), "the long text found its memory"
    where = device if on_gpu else "cpu"
    assert second.reason == f"This text ({size} tokens) does not fit into the memory of {where}."
    assert second.transient, "such a failure is not kept"
    assert_equal(backend.score([short, long], ScoringPolicy()), usual)


# --- other processes on the same device ---

SCORE = """
import json, sys
from pathlib import Path
from lmgym.models.engine import ScoringPolicy
from tests.gpu.conftest import load_from
folder, device, texts = Path(sys.argv[1]), sys.argv[2], json.loads(sys.stdin.readline())
backend = load_from(folder, device)
print(json.dumps("loaded"), flush=True)
sys.stdin.readline()
for _ in range(3):
    found = [one.to_dict() for one in backend.score(texts, ScoringPolicy())]
print(json.dumps({"device": backend.facts.device, "found": found}))
"""


def child(folder: Path, device: str, **env: str) -> subprocess.Popen[str]:
    pipe = subprocess.PIPE
    return subprocess.Popen(
        [sys.executable, "-c", SCORE, str(folder), device],
        env=os.environ | env,
        stdin=pipe,
        stdout=pipe,
        stderr=pipe,
        text=True,
    )


def test_two_processes_share_a_device(device: str, load: Workload, folder_of: Folders) -> None:
    folder, texts = folder_of("gpt2"), load.texts[:200]
    both = [child(folder, device) for _ in range(2)]
    for one in both:
        assert one.stdin is not None
        one.stdin.write(json.dumps(texts) + "\n")
        one.stdin.flush()
    for one in both:  # both hold the model before either scores
        assert one.stdout is not None
        assert "loaded" in one.stdout.readline(), one.communicate()[1][-2000:]
    for one in both:
        assert one.stdin is not None
        one.stdin.write("go\n")
        one.stdin.flush()
    said = [one.communicate(timeout=300) for one in both]
    assert [one.returncode for one in both] == [0, 0], said
    first, second = (json.loads(out.splitlines()[-1])["found"] for out, _ in said)
    assert first == second
    usual = load_from(folder, device).score(texts, ScoringPolicy())
    assert_equal([TokenScores.from_dict(one) for one in first], usual)


def test_a_device_that_is_full_has_no_room_and_says_how_full(
    device: str, folder_of: Folders, monkeypatch: pytest.MonkeyPatch
) -> None:
    places = list(memory_check._memories(torch.device(device), spread=False))
    assert all(0 < place.free <= place.total for place in places), places
    full = [place._replace(free=1_000_000) for place in places]
    monkeypatch.setattr(memory_check, "_memories", lambda *_args: full)
    with pytest.raises(MemoryInUse, match=r"of which 0\.00 GB is free"):
        load_from(folder_of("gpt2"), device)


def test_a_model_spread_over_all_devices_gives_the_same_numbers(
    device: str,
    on_gpu: bool,
    load: Workload,
    folder_of: Folders,
    monkeypatch: pytest.MonkeyPatch,
    record_property: Callable[[str, object], None],
) -> None:
    """With `cuda:all` on several GPUs, none may hold the whole model; on a single GPU, some layers stay in
    main memory."""
    folder, texts = folder_of("gpt2"), load.texts[:100]
    whole = load_from(folder, device)
    usual = whole.score(texts, ScoringPolicy())
    if on_gpu:
        size = (whole.facts.parameters or 0) * 4
        most: dict[Any, Any] = dict.fromkeys(range(torch.cuda.device_count()), int(size * 0.7))
        monkeypatch.setattr(
            loading, "SPREAD", {"device_map": "auto", "max_memory": {**most, "cpu": 4 * size}}
        )
    else:
        monkeypatch.setattr(loading, "choose_device", lambda _name: torch.device("cpu"))
        monkeypatch.setattr(causal, "choose_device", lambda _name: torch.device("cpu"))
        monkeypatch.setattr(loading, "SPREAD", {"device_map": {"": "cpu"}})
    spread = load_from(folder, "cuda:all")
    record_property("device", spread.facts.device)
    assert not on_gpu or "spread over" in spread.facts.device
    assert_equal(spread.score(texts, ScoringPolicy()), usual)


# --- devices that are not there ---


def test_a_device_that_disappeared_is_named(device: str, folder_of: Folders) -> None:
    hidden = child(folder_of("gpt2"), "cuda:0", CUDA_VISIBLE_DEVICES="")
    _, errors = hidden.communicate(json.dumps(["No"]) + "\n\n", timeout=300)
    assert hidden.returncode
    assert "DeviceMissing: This machine has no device cuda:0." in errors


def test_without_it_auto_takes_the_cpu_and_the_numbers_stay(
    device: str, load: Workload, folder_of: Folders
) -> None:
    folder, texts = folder_of("gpt2"), load.texts[:20]
    hidden = child(folder, "auto", CUDA_VISIBLE_DEVICES="")
    said, errors = hidden.communicate(json.dumps(texts) + "\n\n", timeout=300)
    assert hidden.returncode == 0, errors[-2000:]
    found = json.loads(said.splitlines()[-1])
    assert found["device"] == "cpu"
    usual = load_from(folder, device).score(texts, ScoringPolicy())
    assert_equal([TokenScores.from_dict(one) for one in found["found"]], usual)


BREAK = """
import torch
table = torch.nn.Embedding(4, 4).to("cuda:0")
try:
    print(table(torch.tensor([99], device="cuda:0")).cpu())
except RuntimeError as error:
    from lmgym.models.engine.device_errors import reports_device_failure
    print(type(error).__name__, reports_device_failure(error))
try:
    torch.zeros(1, device="cuda:0").cpu()
except RuntimeError as error:
    print(type(error).__name__, reports_device_failure(error))
"""


def test_an_error_after_which_every_call_fails_is_told_from_missing_memory(gpu: None) -> None:
    done = subprocess.run([sys.executable, "-c", BREAK], capture_output=True, text=True, check=False)
    rows = [line.split() for line in done.stdout.splitlines()]
    assert [row[1] for row in rows] == ["True", "True"], (done.stdout, done.stderr[-2000:])


def test_real_missing_memory_is_recognised(gpu: None, device: str) -> None:
    much = 2 * torch.cuda.get_device_properties(device).total_memory
    with pytest.raises(RuntimeError) as caught:
        torch.empty(much, dtype=torch.uint8, device=device)
    assert memory.is_out_of_memory(caught.value)
    assert not reports_device_failure(caught.value)


# --- models that are too large ---


def widen(folder: Path, numbers: int) -> None:
    """Write weights whose header declares this many numbers. The file is sparse and takes no disk space."""
    header = json.dumps(
        {
            "transformer.wte.weight": {
                "dtype": "F32",
                "shape": [numbers // 64, 64],
                "data_offsets": [0, 4 * (numbers // 64) * 64],
            },
            "transformer.h.1.ln_1.weight": {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]},
        }
    ).encode()
    with (folder / "model.safetensors").open("wb") as stream:
        stream.write(struct.pack("<Q", len(header)) + header)
        stream.truncate(8 + len(header) + 4 * (numbers // 64) * 64)
    settings = json.loads((folder / "config.json").read_text())
    changed = {"vocab_size": numbers // 64, "n_embd": 64, "n_layer": 2, "n_head": 4}
    (folder / "config.json").write_text(json.dumps(settings | changed))


def test_a_model_larger_than_the_memory_is_refused_before_it_is_read(
    device: str,
    folder_of: Folders,
    tmp_path: Path,
    tokenizers: Callable[[str], Any],
    monkeypatch: pytest.MonkeyPatch,
    record_property: Callable[[str, object], None],
) -> None:
    from transformers import AutoModelForCausalLM

    place = next(iter(memory_check._memories(torch.device(device), spread=False)))
    folder = tmp_path / "huge"
    folder.mkdir()
    for path in folder_of("gpt2").iterdir():
        if path.suffix != ".safetensors":
            (folder / path.name).write_bytes(path.read_bytes())
    widen(folder, int(place.total * 1.2 / 4))

    def never(*_args: Any, **_named: Any) -> Any:
        raise AssertionError("the weights were read")

    monkeypatch.setattr(AutoModelForCausalLM, "from_pretrained", never)
    with pytest.raises(BackendError) as caught:
        load_from(folder, device)
    record_property("said", str(caught.value))
    assert not isinstance(caught.value, MemoryInUse)
    assert f"in float32, and {place.name} has" in caught.value.message
