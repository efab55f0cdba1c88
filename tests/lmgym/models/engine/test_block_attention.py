"""Block attention sees exactly the ancestors, and the last layer runs only for needed positions."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from lmgym.models.engine import block_attention
from lmgym.models.engine.forest import cut_all, grow
from lmgym.models.engine.tree_support import make_runner
from tests.lmgym.models import tiny

CPU = torch.device("cpu")


@given(
    rows=st.lists(st.lists(st.integers(0, 3), max_size=9), min_size=1, max_size=12),
    budget=st.integers(1, 40),
    width=st.integers(1, 20),
)
def test_every_query_sees_its_ancestors_and_itself_once_and_nothing_else(
    rows: list[list[int]], budget: int, width: int
) -> None:
    for chunk in cut_all(grow(rows), budget):
        plan = block_attention.layout(chunk.end, width)
        count = len(chunk.end)
        assert plan.size == plan.hidden.shape[0] * plan.hidden.shape[1]
        assert plan.size >= count
        assert plan.hidden.shape[1] <= width
        for query in range(plan.size):
            block, line = divmod(query, plan.hidden.shape[1])
            seen = plan.keys[block][~plan.hidden[block, line]].tolist()
            expected = [key for key in range(count) if key <= query < chunk.end[key]]
            assert sorted(seen) == expected


def test_blocks_stay_as_small_as_the_chunk() -> None:
    plan = block_attention.layout(np.full(12, 12), 64)
    assert (plan.size, plan.keys.shape) == (12, (1, 12))


@pytest.mark.parametrize("name", ["gpt2", "llama", "neox", "opt"])
def test_models_with_registry_attention_go_by_blocks(name: str) -> None:
    found = make_runner(tiny.causal(name, 29), CPU)
    assert found.blocks == block_attention.WIDTH["cpu"]


def test_attention_with_a_term_of_its_own_takes_no_trees() -> None:
    found = make_runner(tiny.causal("gemma2", 29), CPU)
    assert found.blocks == 0
    assert found.model.config._attn_implementation != block_attention.NAME


def test_padded_batches_of_a_model_that_goes_by_blocks_are_as_before() -> None:
    model = tiny.causal("llama", 29)
    rows = torch.tensor([[3, 4, 5, 6], [7, 8, 0, 0]])
    mask = torch.tensor([[1, 1, 1, 1], [1, 1, 0, 0]])
    with torch.no_grad():
        before = model(input_ids=rows, attention_mask=mask).logits
        assert make_runner(model, CPU).blocks
        after = model(input_ids=rows, attention_mask=mask).logits
    torch.testing.assert_close(after[mask.bool()], before[mask.bool()])
