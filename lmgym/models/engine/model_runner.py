"""Runs one model: its body (ids to hidden rows) and its head (hidden rows to logits), in the ways that were tested to
give its values. Needs torch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from lmgym.models.engine.lengths import Turns
from lmgym.models.engine.vocabulary import ROWS, Part, look_up_by_parts

ROWS_PER_BLOCK = 128
"""Vocabulary rows per projection on a CPU: 25 MB of fp32 logits for 50,000 words, below the size from which
the C library fetches fresh pages for every block."""

_BLOCK_BYTES = {"cpu": 32 * 2**20, "cuda": 2**30}
_LARGEST_BLOCK = {"cpu": ROWS_PER_BLOCK, "cuda": 4096}
_PER_NAT = 1.4426950408889634


@dataclass
class ModelRunner:
    """A model in eval mode, ready to run.

    model       the whole transformers model, called as model(input_ids=, attention_mask=).logits
    vocabulary  columns of its logits; 0 = not known
    body, head  its two parts, when head(body) was shown to be the model; else None: the model runs whole
    parts       the head by parts of the vocabulary, where that is all it is (see `engine.vocabulary`); else none
    turns       lengths above which a whole forward pass works otherwise; read off the model
    blocks      queries per block of tree attention (see `engine.block_attention`), where it was shown to work; 0 = no
                trees: padded batches, in which a text's places are those it has alone
    reach       longest text in tokens that may go into trees (see `lengths.reach`); None = any
    batching    how copies for a masked model share passes (see `masked.BATCHINGS`)
    packed      whether its linear weights were repacked for the CPU's kernels
    gap         largest difference in bits that was seen on probes between these ways and the plain one
    notes       what was measured and decided, in words
    """

    model: Any
    device: torch.device
    vocabulary: int = 0
    body: Callable[..., Any] | None = None
    head: Callable[[torch.Tensor], torch.Tensor] | None = None
    parts: list[Part] = field(default_factory=list)
    blocks: int = 0
    reach: int | None = None
    batching: str = "padded"
    packed: bool = False
    gap: float = 0.0
    notes: list[str] = field(default_factory=list)
    turns: Turns = field(init=False)

    @classmethod
    def whole(cls, model: Any, device: torch.device) -> ModelRunner:
        """The model as it comes, before any way of running it was tested."""
        return cls(model, device, vocabulary=int(model.get_input_embeddings().weight.shape[0]))

    def __post_init__(self) -> None:
        self.turns = Turns.of(getattr(self.model, "config", None))

    def states(self, **inputs: torch.Tensor) -> torch.Tensor:
        """Hidden rows [batch, width, features], or logits [batch, width, vocabulary] of a model run whole."""
        if self.body is None:
            logits: torch.Tensor = self.model(**inputs).logits
            return logits
        hidden: torch.Tensor = self.body(**inputs)[0]
        return hidden

    def states_at(self, places: torch.Tensor, **inputs: torch.Tensor) -> torch.Tensor:
        """Of what `states` gives, the rows at these places of the flattened [batch, width]."""
        states = self.states(**inputs)
        return states.reshape(-1, states.shape[-1])[places.to(states.device)]

    def logits(self, states: torch.Tensor) -> torch.Tensor:
        """fp32 logits of some rows that `states` gave; the caller may overwrite them."""
        return (states.clone() if self.head is None else self.head(states)).float()

    @property
    def block(self) -> int:
        """Vocabulary rows per projection."""
        if self.parts:
            return ROWS
        kind = self.device.type if self.device.type in _BLOCK_BYTES else "cpu"
        return max(16, min(_LARGEST_BLOCK[kind], _BLOCK_BYTES[kind] // (4 * max(self.vocabulary, 1))))


class LookedUp(NamedTuple):
    """Values from some rows of logits, in bits, fp32, still on the device.

    bits  [edges]: -log2 p of each wanted token
    mass  [rows, sets]: -log2 of the probability of each vocabulary set; no columns when none was asked for
    """

    bits: torch.Tensor
    mass: torch.Tensor


def look_up(
    runner: ModelRunner,
    states: torch.Tensor,
    edge_row: NDArray[np.int64],
    edge_token: NDArray[np.int64],
    sets: torch.Tensor | None = None,
) -> LookedUp:
    """Bits of tokens after the contexts whose hidden rows are `states` [rows, features].

    Edge k asks for token edge_token[k] after row edge_row[k]; edge_row is sorted. One projection per row,
    however many edges it has, in blocks; the log-sum-exp runs in fp32, after the row's maximum is
    taken off. `sets` [vocabulary, s] holds weights 0 or 1; its masses are taken for every row.
    """
    bits, mass = [], []
    for start in range(0, states.shape[0], runner.block):
        rows = states[start : start + runner.block]
        low, high = np.searchsorted(edge_row, (start, start + rows.shape[0]))
        if runner.parts:
            nats, kept = look_up_by_parts(
                runner.parts, rows, edge_row[low:high] - start, edge_token[low:high], sets
            )
            bits.append(nats.mul_(_PER_NAT).clamp_min_(0.0))
            if kept is not None:
                mass.append(kept.mul_(_PER_NAT).clamp_min_(0.0))
            continue
        logs = torch.log_softmax(runner.logits(rows), 1)
        own = to_device(edge_row[low:high] - start, logs.device)
        picked = logs[own, to_device(edge_token[low:high], logs.device)]
        bits.append(picked.mul_(-_PER_NAT).clamp_min_(0.0))
        if sets is not None:
            mass.append((logs.exp_() @ sets.to(logs.device)).log_().mul_(-_PER_NAT).clamp_min_(0.0))
    empty = torch.zeros(0, device=states.device, dtype=torch.float32)
    return LookedUp(torch.cat(bits) if bits else empty, torch.cat(mass) if mass else empty.reshape(0, 0))


def to_device(values: NDArray[Any], device: torch.device) -> torch.Tensor:
    """A tensor on the device; to CUDA through pinned memory, without waiting for it."""
    tensor = torch.from_numpy(np.ascontiguousarray(values))
    if device.type == "cuda":
        return tensor.pin_memory().to(device, non_blocking=True)
    return tensor
