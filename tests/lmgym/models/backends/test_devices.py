"""Device, number type and memory of a causal model."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from lmgym.models.backends import BackendError, causal, load_backend, loading
from lmgym.models.backends.base import Backend
from lmgym.models.engine import ScoringPolicy, TokenScores


def load(root: Path, **more: Any) -> Backend:
    config = {"source": "directory", "path": "byte-bpe", **more}
    return load_backend("causal", config, model_dir=root, hub_allowed=False)


def test_on_a_cpu_scores_are_float32(tiny_models: Path) -> None:
    facts = load(tiny_models, dtype="bfloat16", device="cpu").facts
    assert (facts.dtype, facts.device) == ("float32", "cpu")
    assert "bfloat16 was requested" in facts.notes[0]
    assert facts.fingerprint == load(tiny_models, device="cpu").facts.fingerprint


def test_an_absent_device_is_refused(tiny_models: Path) -> None:
    with pytest.raises(BackendError, match="This machine has no device cuda:97"):
        load(tiny_models, device="cuda:97")


def test_a_model_larger_than_one_device_gives_the_same_values(
    tiny_models: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Without a GPU: one layer stays on disk, and accelerate's hooks load it, as they would from another GPU."""
    texts = ["The keys to the cabinet are here", "The keys to the cabinet is here", "No"]
    whole = load(tiny_models)
    parts = ("transformer.wte", "transformer.wpe", "transformer.h.0", "transformer.ln_f", "lm_head")
    places = {**dict.fromkeys(parts, "cpu"), "transformer.h.1": "disk"}
    monkeypatch.setattr(loading, "choose_device", lambda _name: torch.device("cpu"))
    monkeypatch.setattr(causal, "choose_device", lambda _name: torch.device("cpu"))
    monkeypatch.setattr(loading, "SPREAD", {"device_map": places, "offload_folder": str(tmp_path)})
    spread = load(tiny_models, device="cuda:all", kernels="stock")
    assert spread.facts.device == "cpu, spread over cpu, disk"
    ranges = [[(4, 8)], [(20, 30)], [(0, 2)]]
    for needed in (None, ranges):
        for one, other in zip(
            whole.score(texts, ScoringPolicy(), needed),
            spread.score(texts, ScoringPolicy(), needed),
            strict=True,
        ):
            assert isinstance(one, TokenScores)
            assert isinstance(other, TokenScores)
            assert [value is None for value in one.bits] == [value is None for value in other.bits]
            np.testing.assert_allclose(
                [value or 0.0 for value in other.bits], [value or 0.0 for value in one.bits], atol=5e-4
            )


def test_spreading_over_gpus_needs_a_gpu(tiny_models: Path) -> None:
    with pytest.raises(BackendError, match="has no GPU to distribute"):
        load(tiny_models, device="cuda:all")


def test_running_out_of_memory_while_loading_has_a_message(
    tiny_models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*args: Any, **kwargs: Any) -> Any:
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr("transformers.GPT2LMHeadModel.to", full)
    with pytest.raises(BackendError, match="does not fit into the memory"):
        load(tiny_models)


def test_bfloat16_on_a_cpu_needs_its_own_option_and_states_its_error(tiny_models: Path) -> None:
    config = {"dtype": "bfloat16", "device": "cpu"}
    plain = load(tiny_models, **config)
    if not torch.ops.mkldnn._is_mkldnn_bf16_supported():
        with pytest.raises(BackendError, match="cannot multiply in bfloat16"):
            load(tiny_models, **config, cpu_bfloat16=True)
        return
    half = load(tiny_models, **config, cpu_bfloat16=True)
    assert (plain.facts.dtype, half.facts.dtype) == ("float32", "bfloat16")
    assert plain.facts.fingerprint != half.facts.fingerprint
    assert plain.facts.error_bits == 5e-4
    assert half.facts.error_bits is not None
    assert half.facts.error_bits >= 0.5
    assert any("was chosen explicitly" in note for note in half.facts.notes)


def test_a_released_model_is_freed_although_the_libraries_are_frozen(tiny_models: Path) -> None:
    backend = load(tiny_models)
    assert gc.get_freeze_count() > 100_000
    with backend.exclusive() as (runner, _):
        model = weakref.ref(runner.model)
    del backend, runner
    gc.collect()
    assert model() is None
