"""Surprisals from a GPU equal those from the CPU in float32, within the stated bound for the number
format."""

from __future__ import annotations

import gc
import math
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch

from benchmarks.engine import outcomes
from benchmarks.engine.workload import Workload, spread
from lmgym.models.backends import Backend
from lmgym.models.engine import ERROR_BITS, ScoringPolicy, TokenScores
from lmgym.runs.provenance import error_of
from tests.gpu.conftest import load_from

pytestmark = pytest.mark.gpu

SHAPES = ("gpt2", "gpt2-xl", "llama", "neox", "opt", "bert")
DTYPES = ("float32", "bfloat16", "float16")
BERT_SENTENCES = 72
ALONE = 24


class Pair(NamedTuple):
    """A model on the device, and the reference scores of the texts on the CPU in float32, from the same
    weights."""

    backend: Backend
    texts: list[str]
    needed: list[list[tuple[int, int]]]
    reference: list[TokenScores]

    @property
    def bound(self) -> float:
        """Largest permitted difference of a token in bits: the device's bound plus the reference's."""
        assert self.backend.facts.error_bits is not None
        return self.backend.facts.error_bits + ERROR_BITS["float32"]


@pytest.fixture(scope="module", params=[(shape, dtype) for shape in SHAPES for dtype in DTYPES], ids="-".join)
def pair(
    request: pytest.FixtureRequest,
    device: str,
    load: Workload,
    folder_of: Callable[[str, str], Path],
    on_gpu: bool,
) -> Iterator[Pair]:
    shape, dtype = request.param
    folder = folder_of(shape, dtype)
    texts, needed = load.texts, load.needed
    if shape == "bert":  # each token needs its own pass
        few = spread(len(texts), BERT_SENTENCES if on_gpu else 8)
        texts, needed = [texts[at] for at in few], [needed[at] for at in few]
    reference = scored(load_from(folder, "cpu").score(texts, ScoringPolicy()))
    gc.collect()
    yield Pair(load_from(folder, device, dtype), texts, needed, reference)
    gc.collect()
    if on_gpu:
        torch.cuda.empty_cache()


def scored(found: Sequence[Any]) -> list[TokenScores]:
    assert all(isinstance(one, TokenScores) for one in found), found
    return list(found)


def gaps(found: Sequence[TokenScores], reference: Sequence[TokenScores]) -> np.ndarray:
    """Return the absolute difference in bits of every token that has a value in `found`."""
    apart = []
    for one, other in zip(found, reference, strict=True):
        assert one.ids == other.ids
        for value, wanted, skipped in zip(
            one.bits, other.bits, one.not_computed or [False] * len(one), strict=True
        ):
            assert skipped or (value is None) == (wanted is None)
            if value is not None and wanted is not None:
                apart.append(abs(value - wanted))
    assert apart
    return np.array(apart)


def note(record: Callable[[str, object], None], pair: Pair, apart: np.ndarray) -> None:
    """Record the properties that `benchmarks.gpu` shows in its tables."""
    facts = pair.backend.facts
    for name, value in (
        ("model", facts.architecture),
        ("device", facts.device),
        ("dtype", facts.dtype),
        ("tokens", len(apart)),
        ("largest", f"{apart.max():.2g}"),
        ("mean", f"{apart.mean():.2g}"),
        ("bound", f"{pair.bound:.2g}"),
    ):
        record(name, value)


def test_many_texts_at_once(pair: Pair, record_property: Callable[[str, object], None]) -> None:
    """Texts are scored in trees, as in a run."""
    apart = gaps(scored(pair.backend.score(pair.texts, ScoringPolicy())), pair.reference)
    note(record_property, pair, apart)
    assert apart.max() <= pair.bound


def test_one_by_one(pair: Pair, record_property: Callable[[str, object], None]) -> None:
    few = spread(len(pair.texts), ALONE)
    found = [scored(pair.backend.score([pair.texts[at]], ScoringPolicy()))[0] for at in few]
    apart = gaps(found, [pair.reference[at] for at in few])
    note(record_property, pair, apart)
    assert apart.max() <= pair.bound


def test_needed_tokens_only(pair: Pair, record_property: Callable[[str, object], None]) -> None:
    found = scored(pair.backend.score(pair.texts, ScoringPolicy(), pair.needed))
    apart = gaps(found, pair.reference)
    note(record_property, pair, apart)
    assert not all(one.complete for one in found)
    assert apart.max() <= pair.bound


def test_the_same_numbers_again(pair: Pair) -> None:
    first, second = (scored(pair.backend.score(pair.texts, ScoringPolicy())) for _ in range(2))
    assert [one.bits for one in first] == [one.bits for one in second]


def test_left_to_right_models_are_scored_in_trees(pair: Pair) -> None:
    facts = pair.backend.facts
    if facts.left_to_right:
        assert any("Scored in prefix trees" in note for note in facts.notes), facts.notes


def test_outcomes_are_the_same_or_too_close_to_call(
    pair: Pair, load: Workload, on_gpu: bool, record_property: Callable[[str, object], None]
) -> None:
    if len(pair.texts) != len(load.texts):
        pytest.skip("only some sentences of the suites were scored")
    facts = pair.backend.facts
    found = outcomes.of_suites(
        scored(pair.backend.score(pair.texts, ScoringPolicy())),
        pair.reference,
        None if on_gpu else 1,
        left_to_right=facts.left_to_right,
        error=error_of(facts),
    )
    for name, value in {"dtype": facts.dtype, "device": facts.device, **found}.items():
        record_property(name, value)
    assert found["outcomes"] > 0
    assert found["differ_unmarked"] == 0


FORCED = """
import sys, torch
from pathlib import Path
from tests.gpu.conftest import load_from
folder, device = Path(sys.argv[1]), sys.argv[2]
torch.set_float32_matmul_precision("high")
load_from(folder, device)
torch.manual_seed(0)
one, other = (torch.randn(1024, 1024, device=device) for _ in range(2))
exact = one.double() @ other.double()
print(float(((one @ other).double() - exact).abs().max() / exact.abs().max()))
"""


def test_tf32_is_off_even_where_the_environment_switches_it_on(
    device: str, folder_of: Callable[[str], Path], record_property: Callable[[str, object], None]
) -> None:
    """Errors of float32 matrix products are below 1e-5 of the largest value; with TF32 they are about
    1e-3."""
    env = os.environ | {"TORCH_ALLOW_TF32_CUBLAS_OVERRIDE": "1"}
    command = [sys.executable, "-c", FORCED, str(folder_of("gpt2")), device]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    error = float(done.stdout.splitlines()[-1])
    record_property("relative error of a product", f"{error:.1g}")
    assert math.isfinite(error)
    assert error < 1e-5
