"""The error of a half type is measured when a model is loaded, and decides which outcomes are too close to call."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from lmgym.models.backends import ModelFacts, causal, half_error, load_backend
from lmgym.models.backends.half_error import HalfError, compare_masked, compared, float32_values, plain_bits
from lmgym.models.engine import ScoringPolicy, TokenError
from lmgym.models.engine.scores import ERROR_BITS, error_bound
from lmgym.models.engine.tree_support import make_runner
from lmgym.runs.provenance import error_of
from lmgym.runs.scoring import score_document
from lmgym.suites.formats import read_json
from tests.lmgym.models import tiny

CPU = torch.device("cpu")
NO_BFLOAT16 = not torch.ops.mkldnn._is_mkldnn_bf16_supported()
ROWS = [[5, 6, 7, 8, 9, 10], [5, 6, 11], [12, 13, 14, 15]]


def coarse(vocabulary: int = 97) -> Any:
    """Build a model with such large weights that bfloat16 is inaccurate."""
    model = tiny.gpt2(vocabulary)
    with torch.no_grad():
        model.transformer.wte.weight *= 8
    return model


def values(model: Any) -> Any:
    return plain_bits(model, CPU, ROWS)


def test_the_error_is_that_of_every_token_against_the_same_weights_in_float32() -> None:
    half = coarse().to(torch.bfloat16)
    exact, note = float32_values(half, CPU, values)
    assert note == ""
    assert exact is not None
    assert half.dtype == torch.bfloat16
    error, note = compared(exact, values(half), "bfloat16")
    reference = coarse().to(torch.bfloat16).float()
    gaps = []
    for ids in ROWS:
        for at in range(1, len(ids)):
            logits = (
                model(torch.tensor([ids[:at]])).logits[0, -1].float().log_softmax(-1)[ids[at]].item()
                for model in (reference, half)
            )
            gaps.append(np.subtract(*logits) / np.log(2))
    assert error.tokens == len(gaps)
    assert error.largest == pytest.approx(np.abs(gaps).max(), rel=0.05)
    assert error.sd == pytest.approx(np.sqrt(np.mean(np.square(gaps))), rel=0.05)
    assert f"on {len(gaps)} tokens" in note


def test_texts_of_the_comparison_are_plain_longer_and_ungrammatical() -> None:
    texts = half_error.texts()
    assert len(set(texts)) == 300
    assert {"My sister bought a new coat last winter.", "winter. last coat new a bought sister My"} < set(
        texts
    )


def test_texts_that_a_model_cannot_read_are_left_out() -> None:
    tokenizer = tiny.fast(tiny.train("byte-bpe"))
    short = half_error.encoded_texts(tokenizer, tiny.gpt2(len(tokenizer), context=20))
    assert 0 < len(short) < len(half_error.encoded_texts(tokenizer, tiny.gpt2(len(tokenizer))))
    assert all(1 < len(row) <= 20 and row[0] == tokenizer.bos_token_id for row in short)


def test_a_bound_is_at_least_twice_what_was_seen_of_the_half_type() -> None:
    assert error_bound("bfloat16", half=0.7) == 1.4
    assert error_bound("float16", half=0.01) == ERROR_BITS["float16"]
    assert error_bound("float32", optimised=1e-5) == ERROR_BITS["float32"]
    assert error_bound("float32", optimised=7e-4) == 7e-4


def test_a_masked_model_is_compared_too() -> None:
    error, note = compare_masked(tiny.gap_filler("bert", 97).to(torch.bfloat16), CPU, 4)
    assert error.sd is not None
    assert 0 < error.sd < error.largest
    assert "relative to float32" in note


def test_a_model_too_large_for_a_copy_is_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(half_error, "free_bytes", lambda _device: 1000.0)
    exact, note = float32_values(coarse(), CPU, values)
    assert exact is None
    assert "not compared with float32: a float32 copy does not fit" in note


def test_memory_that_runs_out_on_the_copy_is_no_failure_of_the_model() -> None:
    def full(_model: Any) -> Any:
        raise torch.OutOfMemoryError("CUDA out of memory")

    exact, note = float32_values(coarse(), CPU, full)
    assert exact is None
    assert "does not fit" in note
    with pytest.raises(RuntimeError, match="size mismatch"):
        float32_values(coarse(), CPU, lambda _model: (_ for _ in ()).throw(RuntimeError("size mismatch")))


def test_a_spread_model_and_one_without_finite_values_are_not_compared() -> None:
    spread = coarse()
    spread.hf_device_map = {"": 0}
    assert "distributed over several devices" in float32_values(spread, CPU, values)[1]
    nothing = np.full(3, np.nan)
    assert compared(nothing, nothing, "bfloat16") == (
        HalfError(),
        "bfloat16 was not compared with float32: its values are not finite.",
    )


def test_a_reader_keeps_how_far_its_ways_are_from_the_plain_one() -> None:
    runner = make_runner(tiny.gpt2(97), CPU)
    assert runner.blocks
    assert 0 < runner.gap < ERROR_BITS["float32"]


def test_a_half_type_off_the_cpu_is_compared_with_its_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere: Any = type("Device", (), {"type": "elsewhere"})()
    monkeypatch.setattr(causal, "prepare", lambda model, *_given, **_named: make_runner(model, CPU))
    monkeypatch.setattr(half_error, "plain_bits", lambda model, _device, rows: plain_bits(model, CPU, rows))
    tokenizer = tiny.fast(tiny.train("byte-bpe"))
    model = coarse(len(tokenizer)).to(torch.bfloat16)
    named: dict[str, Any] = {"tokenizer": tokenizer, "reload": coarse, "packing": None}
    _, error, notes = causal._tuned(model, elsewhere, "bfloat16", **named)
    assert error.sd is not None
    assert error.tokens > 2000
    assert len(notes) == 1
    assert causal._tuned(coarse(len(tokenizer)), elsewhere, "float32", **named)[1:] == (HalfError(), [])


def test_facts_stored_before_the_error_was_measured_keep_their_bound() -> None:
    facts = {
        "parameters": 1,
        "vocabulary_size": 1,
        "tokenizer": "",
        "context_length": 8,
        "bos": None,
        "eos": None,
    }
    facts |= {"dtype": "bfloat16", "device": "cpu", "revision": "", "fingerprint": "", "error_bits": 0.8}
    assert error_of(ModelFacts.from_dict(facts)) == TokenError(0.8)
    assert error_of(ModelFacts.from_dict({**facts, "error_sd_bits": 0.1})) == TokenError(0.8, 0.1)


def agreement(n: int) -> Any:
    """Return a suite of `n` items: the same random words in two conditions, after different first words."""
    draw = random.Random(3)
    words = " ".join(tiny.CORPUS[:4]).split()
    items = []
    for number in range(1, n + 1):
        shared, critical = draw.sample(words, 3), draw.choice(words)
        conditions = [
            {
                "condition_name": name,
                "regions": [
                    {"region_number": 1, "content": " ".join([draw.choice(words), *shared])},
                    {"region_number": 2, "content": critical},
                ],
            }
            for name in ("a", "b")
        ]
        items.append({"item_number": number, "conditions": conditions})
    return {
        "meta": {"name": "pairs", "metric": "sum"},
        "region_meta": {"1": "prefix", "2": "critical"},
        "predictions": [{"type": "formula", "formula": "(2;%a%) < (2;%b%)"}],
        "items": items,
    }


@pytest.mark.skipif(NO_BFLOAT16, reason="needs a processor that multiplies in bfloat16")
def test_every_outcome_that_flips_in_bfloat16_is_marked(tmp_path: Path) -> None:
    tokenizer = tiny.fast(tiny.train("byte-bpe"))
    tiny.save(tmp_path / "m", coarse(len(tokenizer)), tokenizer)
    config = {"source": "directory", "path": "m", "device": "cpu"}
    full = load_backend("causal", config, model_dir=tmp_path, hub_allowed=False)
    half = load_backend(
        "causal", {**config, "dtype": "bfloat16", "cpu_bfloat16": True}, model_dir=tmp_path, hub_allowed=False
    )
    assert full.facts.error_sd_bits is None
    assert half.facts.error_sd_bits is not None
    assert half.facts.error_sd_tokens > 2000
    document = read_json(json.dumps(agreement(400)).encode())
    exact, found = (
        score_document(document, backend, ScoringPolicy()).predictions[0] for backend in (full, half)
    )
    flips = np.not_equal(exact.outcomes, found.outcomes)
    assert flips.sum() > 0
    assert not (flips & ~np.array(found.close)).any()
    assert found.too_close < 400 / 2
