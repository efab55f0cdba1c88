"""Models whose values depend on more than the text: they are scored in a slower mode, or refused by name."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from lmgym.models.engine.batching import Unscorable, batches, choose_batching
from lmgym.models.engine.execute import Computed, compute
from lmgym.models.engine.model_runner import ModelRunner
from lmgym.models.engine.tree_support import make_runner
from tests.lmgym.models import tiny

CPU = torch.device("cpu")
VOCABULARY = 29
ROWS = [[3, 4, 5, 6], [3, 4, 9], [7, 8], [1, 2, 3, 4, 5, 6, 7], [5, 5, 5, 5]]

Change = Callable[[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]
"""Function (logits, ids, attention mask) -> logits of a faulty model."""


def faulty(change: Change) -> Any:
    """A GPT-2 without trees whose logits are changed."""
    model = tiny.gpt2(VOCABULARY)
    forward = model.forward

    def changed(input_ids: torch.Tensor, attention_mask: torch.Tensor, **more: Any) -> Any:
        out = forward(input_ids=input_ids, attention_mask=attention_mask, **more)
        out.logits = change(out.logits, input_ids, attention_mask)
        return out

    model.forward = changed
    return model


def shifted(logits: torch.Tensor, amount: torch.Tensor | float) -> torch.Tensor:
    """Add a number to the logit of one token."""
    return logits + torch.eye(VOCABULARY)[5] * amount


@pytest.mark.parametrize(
    ("change", "batching"),
    [
        (lambda logits, _ids, mask: shifted(logits, (mask == 0).sum()), "equal"),
        (lambda logits, ids, _mask: shifted(logits, len(ids) - 1), "alone"),
    ],
    ids=["padding", "other texts"],
)
def test_a_causal_model_that_batches_change_gives_each_text_its_value_alone(
    change: Change, batching: str
) -> None:
    model = faulty(change)
    runner = make_runner(model, CPU)
    assert runner.batching == batching
    for ids, found in zip(ROWS, compute(runner, ROWS, budget=64), strict=True):
        assert isinstance(found, Computed)
        with torch.no_grad():
            logits = model(torch.tensor([ids]), torch.ones(1, len(ids), dtype=torch.long)).logits[0]
        expected = -torch.log_softmax(logits, -1)[range(len(ids) - 1), ids[1:]] / math.log(2)
        np.testing.assert_allclose(found.bits[1:], expected, atol=1e-4)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda logits, ids, _mask: shifted(logits, ids.sum(1)[:, None, None] % 7), "see later tokens"),
        (
            lambda logits, _ids, _mask: shifted(logits, torch.rand(1) * 9),
            "are not reproducible: the same text scored twice differs",
        ),
        (
            lambda logits, ids, _mask: shifted(logits, ids.shape[1]),
            "are not reproducible: even one text at a time",
        ),
        (lambda logits, ids, _mask: torch.eye(VOCABULARY)[ids], "ignores the context"),
        (lambda logits, _ids, _mask: logits + torch.ones(3), "cannot read token ids alone: The size of"),
    ],
    ids=["later tokens", "chance", "length", "no attention", "failure"],
)
def test_a_causal_model_without_right_values_is_refused_by_name(change: Change, reason: str) -> None:
    with pytest.raises(Unscorable, match=rf"gpt2 \(GPT2LMHeadModel\).*{reason}"):
        make_runner(faulty(change), CPU)


def test_if_every_mode_differs_by_rounding_the_closest_is_used() -> None:
    gaps = {"padded": 0.002, "equal": 0.001, "alone": 0.0015}
    assert choose_batching("gpt2", gaps.__getitem__, 5e-4)[:2] == ("equal", 0.001)


def test_texts_share_a_pass_as_their_mode_says() -> None:
    lengths = [3, 5, 3, 4]
    assert batches(lengths, 20, "padded") == [[0, 2, 3, 1]]
    assert batches(lengths, 20, "equal") == [[0, 2], [3], [1]]
    assert batches(lengths, 3, "equal") == [[0], [2], [3], [1]]
    assert batches(lengths, 20, "alone") == [[0], [2], [3], [1]]


def test_the_vocabulary_is_what_a_model_both_reads_and_predicts() -> None:
    model = tiny.gpt2(VOCABULARY)
    model.set_output_embeddings(torch.nn.Linear(16, VOCABULARY - 4))
    assert ModelRunner.whole(model, CPU).vocabulary == VOCABULARY - 4
