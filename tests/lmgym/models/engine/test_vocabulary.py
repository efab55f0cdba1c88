"""The output projection in parts of the vocabulary has the same values as the whole."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from lmgym.models.engine.model_runner import ModelRunner, look_up
from lmgym.models.engine.packing import PackedLinear
from lmgym.models.engine.vocabulary import WORDS, PartedHead, look_up_by_parts, parts_of

CPU = torch.device("cpu")
SIZE = 2 * WORDS + 81


def head(*, bias: bool = True, seed: int = 0) -> torch.nn.Linear:
    torch.manual_seed(seed)
    return torch.nn.Linear(24, SIZE, bias=bias).eval()


def packed(layer: torch.nn.Linear) -> PartedHead:
    return PartedHead(layer, lambda weight, bias: PackedLinear(weight, bias, torch.float32))


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("make", [lambda layer: layer, packed])
@given(data=st.data())
@settings(max_examples=25)
def test_nats_and_masses_are_those_of_a_float64_softmax_over_all_words(make, bias, data):
    layer = head(bias=bias)
    rows = 5 * torch.randn(data.draw(st.integers(1, 6)), 24)
    count = data.draw(st.integers(0, 12))
    edge_row = np.sort(
        np.array(data.draw(st.lists(st.integers(0, len(rows) - 1), min_size=count, max_size=count)), int)
    )
    words = st.one_of(st.sampled_from([0, WORDS - 1, WORDS, SIZE - 1]), st.integers(0, SIZE - 1))
    edge_token = np.array(data.draw(st.lists(words, min_size=count, max_size=count)), int)
    sets = torch.zeros(SIZE, 2)
    sets[:WORDS, 0] = 1  # nothing in the other parts
    sets[::7, 1] = 1
    with torch.inference_mode():
        parts = parts_of(make(layer), CPU)
        nats, masses = look_up_by_parts(parts, rows, edge_row, edge_token, sets)
        exact = torch.log_softmax(head(bias=bias).double()(rows.double()), 1)
    np.testing.assert_allclose(nats.numpy(), -exact[edge_row, edge_token].numpy(), atol=1e-4)
    wanted = -(exact.exp() @ sets.double()).log()
    assert masses is not None
    np.testing.assert_allclose(masses.numpy(), wanted.numpy(), atol=1e-4)


def test_the_parts_cover_every_word_once():
    parts = parts_of(head(), CPU)
    assert [part.start for part in parts] == [0, WORDS, 2 * WORDS]
    assert [part.stop for part in parts] == [WORDS, 2 * WORDS, SIZE]
    assert [part.project(torch.zeros(1, 24)).shape[1] for part in parts] == [WORDS, WORDS, 81]


def test_a_parted_head_gives_all_logits_like_the_layer_it_stands_for():
    layer, rows = head(), torch.randn(3, 24)
    with torch.inference_mode():
        assert torch.allclose(packed(layer)(rows), layer(rows), atol=1e-5)


def test_only_a_plain_linear_layer_on_a_cpu_has_parts():
    class Capped(torch.nn.Linear):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.tanh(super().forward(x))

    assert parts_of(Capped(4, 9), CPU) == []
    assert parts_of(lambda states: states, CPU) == []
    assert parts_of(head(), torch.device("cuda", 0)) == []


def test_a_value_that_is_not_finite_stays_one():
    rows = torch.full((1, 24), float("inf"))
    with torch.inference_mode():
        nats, _ = look_up_by_parts(parts_of(head(), CPU), rows, np.zeros(1, int), np.zeros(1, int), None)
    assert not torch.isfinite(nats).any()


def test_values_stay_fp32_while_another_thread_loads_a_half_precision_model():
    layer, rows = head(), torch.randn(3, 24)
    at, tokens = np.array([0, 1, 2]), np.array([5, WORDS, 9])
    runner = ModelRunner(None, CPU, head=layer, body=lambda **_inputs: None, parts=parts_of(layer, CPU))
    nothing = np.zeros(0, int)
    with torch.inference_mode():
        before = look_up(runner, rows, at, tokens).bits
        torch.set_default_dtype(torch.bfloat16)  # as transformers does, for the whole process
        try:
            during = look_up(runner, rows, at, tokens).bits
            empty = look_up(runner, rows[:0], nothing, nothing).bits
        finally:
            torch.set_default_dtype(torch.float32)
    assert during.dtype == empty.dtype == torch.float32
    assert torch.equal(before, during)
