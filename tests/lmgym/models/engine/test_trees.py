"""Trees compared with a slow reference: one sequence at a time, full log-softmax, in float64."""

from __future__ import annotations

import copy
import dataclasses
import math
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from lmgym.models.engine import packing, passes
from lmgym.models.engine.execute import Computed, compute
from lmgym.models.engine.memory import default_budget
from lmgym.models.engine.model_runner import ModelRunner
from lmgym.models.engine.scores import ScoringFailure
from lmgym.models.engine.tree_support import make_runner
from tests.lmgym.models import tiny

CPU = torch.device("cpu")
TOLERANCE = 5e-4
VOCABULARY = 29
TREES = ("gpt2", "llama", "neox", "opt")
BATCHES = ("mamba", "mistral-narrow", "bloom", "gpt-neo-local")


@cache
def model(name: str) -> Any:
    return tiny.causal(name, VOCABULARY)


@cache
def runner(name: str) -> Any:
    return make_runner(model(name), CPU)


@cache
def exact(name: str, ids: tuple[int, ...]) -> tuple[float, ...]:
    """Return bits in float64; NaN for the first token."""
    double = copy.deepcopy(model(name)).double()
    with torch.no_grad():
        logs = torch.log_softmax(double(torch.tensor([ids])).logits[0], dim=-1) / math.log(2)
    return (math.nan, *(-float(logs[at, token]) for at, token in enumerate(ids[1:])))


@st.composite
def jobs(draw: st.DrawFn) -> tuple[list[list[int]], list[list[bool]], int]:
    """Draw sequences that share beginnings, their needed flags, and a budget."""
    trunk = draw(st.lists(st.integers(0, VOCABULARY - 1), min_size=6, max_size=10))
    rows = []
    for _ in range(draw(st.integers(1, 7))):
        tail = draw(st.lists(st.integers(0, VOCABULARY - 1), max_size=6))
        rows.append(trunk[: draw(st.integers(0, len(trunk)))] + tail)
    flags = [draw(st.lists(st.booleans(), min_size=len(row), max_size=len(row))) for row in rows]
    return rows, flags, draw(st.sampled_from([1, 3, 8, 40, 1000]))


@pytest.mark.parametrize("name", [*TREES, *BATCHES])
@settings(max_examples=12)
@given(job=jobs())
def test_every_needed_token_equals_its_float64_value(
    name: str, job: tuple[list[list[int]], list[list[bool]], int]
) -> None:
    rows, flags, budget = job
    found = compute(runner(name), rows, needed=flags, budget=budget)
    for row, wanted, one in zip(rows, flags, found, strict=True):
        assert isinstance(one, Computed)
        scored = [flag and at > 0 for at, flag in enumerate(wanted)]
        assert (~np.isnan(one.bits)).tolist() == scored
        if any(scored):
            expected = np.array(exact(name, tuple(row)))
            np.testing.assert_allclose(one.bits[scored], expected[scored], atol=TOLERANCE)


@pytest.mark.parametrize("name", TREES)
def test_the_proof_lets_trees_through(name: str) -> None:
    assert runner(name).blocks
    assert runner(name).body is not None
    assert any("prefix trees" in note for note in runner(name).notes)


@pytest.mark.parametrize("name", BATCHES)
def test_the_proof_falls_back_to_batches_and_says_why(name: str) -> None:
    assert not runner(name).blocks
    assert any("length-sorted batches: " in note for note in runner(name).notes)


def test_a_wide_window_takes_trees_for_texts_that_fit_into_it() -> None:
    wide = runner("mistral-wide")
    assert (wide.blocks > 0, wide.reach) == (True, 50)
    draw = np.random.default_rng(3)
    rows = [draw.integers(0, VOCABULARY, length).tolist() for length in (10, 60, 50, 64, 20)]
    found = compute(wide, rows, budget=64)
    for row, one in zip(rows, found, strict=True):
        assert isinstance(one, Computed)
        np.testing.assert_allclose(one.bits, exact("mistral-wide", tuple(row)), atol=TOLERANCE)


def test_a_head_that_does_more_than_project_is_kept_whole() -> None:
    soft = runner("gemma2")
    assert soft.body is not None
    assert soft.head is not model("gemma2").lm_head
    (one,) = compute(soft, [[3, 4, 5, 6]], budget=64)
    assert isinstance(one, Computed)
    np.testing.assert_allclose(one.bits, exact("gemma2", (3, 4, 5, 6)), atol=TOLERANCE)


def test_a_model_whose_parts_cannot_be_told_apart_runs_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    odd = copy.deepcopy(model("gpt2"))
    monkeypatch.setattr(odd, "get_output_embeddings", lambda: None)
    whole = make_runner(odd, CPU)
    assert whole.body is None
    assert any("could not be separated" in note for note in whole.notes)
    (one,) = compute(whole, [[3, 4, 5, 6]], budget=64)
    assert isinstance(one, Computed)
    np.testing.assert_allclose(one.bits, exact("gpt2", (3, 4, 5, 6)), atol=TOLERANCE)


@pytest.mark.parametrize("name", TREES)
def test_packed_linears_give_the_same(name: str) -> None:
    packed = copy.deepcopy(model(name))
    packing.fuse_gelu(packed)
    assert packing.pack(packed) > 4
    assert not any(type(layer) is torch.nn.Linear for layer in packed.modules())
    own = make_runner(packed, CPU)
    assert own.blocks
    rows = [[1, 2, 3, 4, 5], [1, 2, 3, 9, 9, 9], [7, 8]]
    for row, one in zip(rows, compute(own, rows, budget=64), strict=True):
        assert isinstance(one, Computed)
        np.testing.assert_allclose(one.bits, exact(name, tuple(row)), atol=TOLERANCE)


def test_packing_lets_go_of_each_original_before_the_next_copy() -> None:
    import weakref

    whole = copy.deepcopy(model("llama"))
    first, *others = [weakref.ref(layer) for layer in whole.modules() if type(layer) is torch.nn.Linear]
    alive: list[int] = []
    inner = packing.PackedLinear

    class Watching(inner):  # type: ignore[misc,valid-type]
        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            alive.append(sum(layer() is not None for layer in (first, *others)))

    packing.PackedLinear = Watching  # type: ignore[misc]
    try:
        packing.pack(whole)
    finally:
        packing.PackedLinear = inner  # type: ignore[misc]
    count = len(others) + 1
    # The caller still references the head, and the loop the newest layer.
    assert all(left <= count - done + 1 for done, left in enumerate(alive))
    assert alive[-1] <= 3


def test_measuring_times_both_kinds_of_kernel() -> None:
    seen = packing.measure(model("gpt2"))
    assert seen.stock > 0
    assert seen.packed > 0


@pytest.mark.parametrize("name", ["gpt2", "mamba"])
def test_masses_of_vocabulary_sets_equal_their_float64_values(name: str) -> None:
    rows = [[1, 2, 3, 4], [1, 2, 9], [5]]
    sets = torch.zeros(VOCABULARY, 2)
    sets[:7, 0], sets[7:, 1] = 1.0, 1.0
    looks = [[False, True, False, True], [True, True, False], [True]]
    found = compute(
        runner(name), rows, budget=16, needed=[[False] * len(row) for row in rows], rows=looks, sets=sets
    )
    double = copy.deepcopy(model(name)).double()
    for row, flags, one in zip(rows, looks, found, strict=True):
        assert isinstance(one, Computed)
        with torch.no_grad():
            chances = torch.softmax(double(torch.tensor([row])).logits[0].double(), dim=-1)
        expected = -torch.log2(chances @ sets.double()).numpy()
        expected[~np.array(flags)] = math.nan
        np.testing.assert_allclose(one.mass, expected, atol=TOLERANCE)


def test_running_out_of_memory_halves_the_chunks_and_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    inner, sizes = runner("gpt2").body, []

    def hungry(*, input_ids: torch.Tensor, **inputs: torch.Tensor) -> Any:
        sizes.append(input_ids.numel())
        if input_ids.numel() > 25:
            raise MemoryError
        return inner(input_ids=input_ids, **inputs)

    small = make_runner(model("gpt2"), CPU)
    small.body = hungry
    draw = np.random.default_rng(1)
    rows = [draw.integers(0, VOCABULARY, int(length)).tolist() for length in draw.integers(2, 20, 30)]
    long = draw.integers(0, VOCABULARY, 40).tolist()
    found = compute(small, [*rows, long, [*long[:6], 1, 2]], budget=512)
    assert sum(size > 25 for size in sizes) < 40
    assert isinstance(found[-2], ScoringFailure)
    assert "40 tokens" in found[-2].reason
    for row, one in zip([*rows, [*long[:6], 1, 2]], [*found[:-2], found[-1]], strict=True):
        assert isinstance(one, Computed)
        np.testing.assert_allclose(one.bits, exact("gpt2", tuple(row)), atol=TOLERANCE)


def test_when_memory_runs_out_a_text_alone_needs_no_more_than_a_plain_pass() -> None:
    small = make_runner(model("gpt2"), CPU)
    body = small.body
    assert body is not None

    def hungry(*, position_ids: torch.Tensor | None = None, **inputs: torch.Tensor) -> Any:
        if position_ids is not None:
            raise MemoryError
        return body(**inputs)

    small.body = hungry
    (one,) = compute(small, [[3, 4, 5, 6]], budget=64)
    assert isinstance(one, Computed)
    np.testing.assert_allclose(one.bits, exact("gpt2", (3, 4, 5, 6)), atol=TOLERANCE)


def test_ends_of_a_long_beginning_are_run_in_smaller_chunks_when_memory_runs_out() -> None:
    small = make_runner(model("gpt2"), CPU)
    body, sizes = small.body, []
    assert body is not None

    def hungry(*, input_ids: torch.Tensor, **inputs: torch.Tensor) -> Any:
        sizes.append(input_ids.numel())
        if input_ids.numel() > 60:
            raise MemoryError
        return body(input_ids=input_ids, **inputs)

    small.body = hungry
    rows = [[*([3, 4] * 20), end, end, 5] for end in range(VOCABULARY)]
    for row, one in zip(rows, compute(small, rows, budget=16), strict=True):
        assert isinstance(one, Computed)
        np.testing.assert_allclose(one.bits, exact("gpt2", tuple(row)), atol=TOLERANCE)
    assert 1 <= sum(size > 60 for size in sizes) <= 6


@pytest.mark.parametrize("tree", [True, False])
def test_memory_that_runs_out_while_a_job_is_built_makes_jobs_smaller(
    tree: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    used = make_runner(tiny.gpt2(VOCABULARY), CPU)
    used = used if tree else dataclasses.replace(used, blocks=0)
    draw = np.random.default_rng(2)
    rows = [draw.integers(0, VOCABULARY, 20).tolist() for _ in range(6)]
    name = "layout" if tree else "to_device"
    inner, calls = getattr(passes, name), []

    def full_once(*args: Any) -> Any:
        calls.append(args)
        if len(calls) == 1:
            raise MemoryError
        return inner(*args)

    monkeypatch.setattr(passes, name, full_once)
    for row, one in zip(rows, compute(used, rows, budget=512), strict=True):
        assert isinstance(one, Computed)
        np.testing.assert_allclose(one.bits, exact("gpt2", tuple(row)), atol=TOLERANCE)
    assert len(calls) > 2


def test_each_prefix_is_run_once_and_each_row_projected_once() -> None:
    counted = make_runner(model("gpt2"), CPU)
    body = counted.body
    assert body is not None
    (head,) = counted.parts  # a vocabulary this small is a single part
    seen: dict[str, int] = {"body": 0, "head": 0}

    def count_body(**inputs: torch.Tensor) -> Any:
        seen["body"] += inputs["input_ids"].numel()
        return body(**inputs)

    def count_head(states: torch.Tensor) -> torch.Tensor:
        seen["head"] += states.shape[0]
        return head.project(states)

    counted.body, counted.parts = count_body, [head._replace(project=count_head)]
    rows = [[1, 2, 3, 4, 5], [1, 2, 3, 6, 7], [1, 2, 3, 4, 5]]
    compute(counted, rows, budget=default_budget(CPU, VOCABULARY))
    assert seen == {"body": 5, "head": 5}  # 1, 12, 123, 1234, 1236
    seen.update(body=0, head=0)
    compute(counted, rows, budget=512, needed=[[False] * 3 + [True, False]] * 3)
    assert seen == {"body": 3, "head": 1}  # two continuations of 123


@pytest.mark.parametrize("name", [*TREES, *BATCHES, "phi3-longrope"])
@pytest.mark.parametrize("budget", [1, 40])
def test_sequences_behind_stems_have_the_values_of_sequences_written_out(name: str, budget: int) -> None:
    stems = [[1, 5, 7, 2, 9], list(range(1, 16)), []]
    rows, stem_of = [[3, 4], [3, 5, 6], [8], [1, 5, 7], [2, 2, 2]], [0, 0, 1, -1, 2]
    own = runner(name)
    sets = torch.eye(VOCABULARY)[:, :2]
    looks = [[False] * (len(row) - 1) + [True] for row in rows]
    found = compute(own, rows, budget=budget, rows=looks, sets=sets, stems=stems, stem_of=stem_of)
    for row, stem, one in zip(rows, stem_of, found, strict=True):
        before = stems[stem] if stem >= 0 else []
        whole = tuple(before + row)
        assert isinstance(one, Computed)
        start = 0 if before else 1
        assert one.bits[start:] == pytest.approx(exact(name, whole)[len(before) + start :], abs=TOLERANCE)
        (alone,) = compute(own, [whole], budget=1000, rows=[[True] * len(whole)], sets=sets)
        assert isinstance(alone, Computed)
        assert one.mass[-1] == pytest.approx(alone.mass[-1], abs=TOLERANCE)


def test_a_sequence_behind_a_stem_that_does_not_fit_with_others_is_tried_alone() -> None:
    class Short:
        """Model with enough memory for one text at a time."""

        def __init__(self) -> None:
            self.model, self.passes = model("gpt2"), 0

        def __call__(self, *, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> Any:
            self.passes += 1
            if self.passes == 1:
                raise MemoryError
            return self.model(input_ids=input_ids, attention_mask=attention_mask)

    stem, rows = [1, 5, 7], [[3, 4], [6]]
    found = compute(ModelRunner(Short(), CPU), rows, budget=1, stems=[stem], stem_of=[0, 0])
    for row, one in zip(rows, found, strict=True):
        assert isinstance(one, Computed)
        assert one.bits == pytest.approx(exact("gpt2", tuple(stem + row))[len(stem) :], abs=TOLERANCE)


def test_failures_behind_a_stem_count_the_whole_text() -> None:
    class Full:
        def __call__(self, *, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> Any:
            raise MemoryError

    class Odd:
        def __call__(self, *, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> Any:
            found = model("gpt2")(input_ids=input_ids, attention_mask=attention_mask)
            found.logits = torch.where(torch.arange(input_ids.shape[1])[:, None] < 4, found.logits, math.nan)
            return found

    for one, said in ((Full(), "text (6 tokens)"), (Odd(), "for token 6 is not")):
        (found,) = compute(ModelRunner(one, CPU), [[3]], budget=9, stems=[[1, 2, 3, 4, 5]], stem_of=[0])
        assert isinstance(found, ScoringFailure)
        assert said in found.reason
