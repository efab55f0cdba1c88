"""The error of a half type is measured when a model is loaded, and is in its error bound."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from lmgym.models.backends import tuning
from lmgym.models.backends.tuning import compare_half, compare_half_causal, compare_half_masked
from lmgym.models.engine.scores import ERROR_BITS, error_bound
from lmgym.models.engine.tree_support import make_runner, plain_bits
from tests.lmgym.models import tiny

CPU = torch.device("cpu")


def coarse() -> Any:
    """A model with such large weights that bfloat16 is inaccurate."""
    model = tiny.gpt2(97)
    with torch.no_grad():
        model.transformer.wte.weight *= 8
    return model.to(torch.bfloat16)


def test_a_bound_is_at_least_twice_what_was_seen_of_the_half_type() -> None:
    model = coarse()
    seen, said = compare_half_causal(model, CPU)
    exact = plain_bits(coarse().float(), CPU)
    assert seen == pytest.approx(float(np.abs(plain_bits(model, CPU) - exact).max()))
    assert seen > ERROR_BITS["bfloat16"]
    assert error_bound("bfloat16", half=seen) == 2 * seen
    assert "bfloat16: on probe tokens" in said
    assert model.dtype == torch.bfloat16


def test_a_small_error_keeps_the_usual_bound() -> None:
    assert error_bound("float16", half=0.01) == ERROR_BITS["float16"]
    assert error_bound("float32", ways=1e-5) == ERROR_BITS["float32"]
    assert error_bound("float32", ways=7e-4) == 7e-4


def test_a_masked_model_is_compared_too() -> None:
    seen, said = compare_half_masked(tiny.gap_filler("bert", 97).to(torch.bfloat16), CPU, 4)
    assert seen > 0
    assert "relative to float32" in said


def test_a_model_too_large_for_a_copy_says_that_it_was_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuning, "free_bytes", lambda _device: 1000.0)
    seen, said = compare_half_causal(coarse(), CPU)
    assert seen == 0.0
    assert "not compared with float32: a copy does not fit" in said


def test_memory_that_runs_out_on_the_copy_is_no_failure_of_the_model() -> None:
    def full(_model: Any) -> Any:
        raise torch.OutOfMemoryError("CUDA out of memory")

    seen, said = compare_half(coarse(), CPU, full)
    assert seen == 0.0
    assert "does not fit" in said
    with pytest.raises(RuntimeError, match="size mismatch"):
        compare_half(coarse(), CPU, lambda _model: (_ for _ in ()).throw(RuntimeError("size mismatch")))


def test_a_spread_model_and_one_without_finite_values_say_so() -> None:
    spread = coarse()
    spread.hf_device_map = {"": 0}
    assert "accelerate distributes" in compare_half_causal(spread, CPU)[1]
    assert compare_half(coarse(), CPU, lambda _model: np.full(3, np.nan)) == (
        0.0,
        "bfloat16 was not compared with float32: probe values are not finite.",
    )


def test_a_reader_keeps_how_far_its_ways_are_from_the_plain_one() -> None:
    runner = make_runner(tiny.gpt2(97), CPU)
    assert runner.blocks
    assert 0 < runner.gap < ERROR_BITS["float32"]


def test_a_half_type_off_the_cpu_is_compared_before_it_is_tuned(monkeypatch: pytest.MonkeyPatch) -> None:
    from lmgym.models.backends import causal

    elsewhere: Any = type("Device", (), {"type": "elsewhere"})()
    monkeypatch.setattr(causal, "compare_half_causal", lambda *_given: (0.7, "said"))
    monkeypatch.setattr(causal, "prepare", lambda *_given, **_named: "runner")
    found = causal._tuned(coarse(), elsewhere, "bfloat16", reload=coarse, packing=None)
    assert found == ("runner", 0.7, ["said"])
    assert causal._tuned(coarse(), elsewhere, "float32", reload=coarse, packing=None) == ("runner", 0.0, [])
