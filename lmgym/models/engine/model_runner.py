"""Runner of one model, split into body (ids to hidden rows) and head (hidden rows to logits). Needs torch.

Every optimisation is tested to reproduce the values of the plain model; see `tree_support`.
"""

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
"""Hidden rows per projection on a CPU: 25 MB of fp32 logits for 50,000 words, below the size at which the C library
maps new pages for every block."""

_BLOCK_BYTES = {"cpu": 32 * 2**20, "cuda": 2**30}
_LARGEST_BLOCK = {"cpu": ROWS_PER_BLOCK, "cuda": 4096}
_PER_NAT = 1.4426950408889634


@dataclass
class ModelRunner:
    """A model in eval mode, ready to run.

    Attributes:
        model: the whole transformers model, called as model(input_ids=, attention_mask=).logits.
        vocabulary: tokens that it reads and predicts; 0 = unknown.
        body, head: its two parts if head(body) reproduces the model; otherwise None, and the model runs whole.
        parts: the head by parts of the vocabulary if it is a plain linear layer (see `engine.vocabulary`); else empty.
        turns: lengths above which a forward pass computes differently.
        blocks: queries per block of tree attention (see `engine.block_attention`) if the model supports it; 0 =
            batches, in which each text starts at position 0.
        reach: length of the longest text for trees (see `lengths.reach`); None = unlimited.
        batching: mode in which texts that are not run as trees share passes (see `batching.BATCHINGS`).
        packed: True if linear weights were repacked for the CPU's kernels.
        gap: largest difference in bits on probe sequences between the optimised and the plain model.
        notes: measurements and decisions, as sentences.
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
        """Build a runner without optimisations."""
        weight = getattr(model.get_input_embeddings(), "weight", None)
        # The input embeddings of Perceiver are its latents.
        known = model.config.get_text_config().vocab_size if weight is None else weight.shape[0]
        # Mllama embeds a few tokens more than it predicts.
        columns = getattr(model.get_output_embeddings(), "out_features", known)
        return cls(model, device, vocabulary=int(min(known, columns)))

    def __post_init__(self) -> None:
        self.turns = Turns.of(getattr(self.model, "config", None))

    def states(self, **inputs: torch.Tensor) -> torch.Tensor:
        """Compute hidden rows [batch, width, features], or logits [batch, width, vocabulary] of a whole model."""
        if self.body is None:
            logits: torch.Tensor = self.model(**inputs).logits
            return logits
        hidden: torch.Tensor = self.body(**inputs)[0]
        return hidden

    def states_at(self, places: torch.Tensor, **inputs: torch.Tensor) -> torch.Tensor:
        """Compute `states` and select rows by index in the flattened [batch, width]."""
        states = self.states(**inputs)
        return states.reshape(-1, states.shape[-1])[places.to(states.device)]

    def logits(self, states: torch.Tensor) -> torch.Tensor:
        """Compute fp32 logits of rows from `states`; the caller may overwrite them."""
        return (states.clone() if self.head is None else self.head(states)).float()

    @property
    def block(self) -> int:
        """Hidden rows per projection."""
        if self.parts:
            return ROWS
        kind = self.device.type if self.device.type in _BLOCK_BYTES else "cpu"
        return max(16, min(_LARGEST_BLOCK[kind], _BLOCK_BYTES[kind] // (4 * max(self.vocabulary, 1))))


class Lookup(NamedTuple):
    """Values in bits, fp32, on the device.

    Attributes:
        bits: [edges], -log2 p of each token.
        mass: [rows, sets], -log2 of the probability of each vocabulary set; no columns without sets.
    """

    bits: torch.Tensor
    mass: torch.Tensor


def look_up(
    runner: ModelRunner,
    states: torch.Tensor,
    edge_row: NDArray[np.int64],
    edge_token: NDArray[np.int64],
    sets: torch.Tensor | None = None,
) -> Lookup:
    """Compute the surprisal of tokens after given contexts.

    Each row is projected once, in blocks. The log-sum-exp is computed in fp32 after subtracting the maximum.

    Args:
        states: [rows, features], hidden rows of the contexts.
        edge_row, edge_token: int64[edges], token edge_token[k] after row edge_row[k]; edge_row is sorted.
        sets: [vocabulary, s] of zeros and ones; the mass of each set is computed for every row.
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
        local_row = to_device(edge_row[low:high] - start, logs.device)
        picked = logs[local_row, to_device(edge_token[low:high], logs.device)]
        bits.append(picked.mul_(-_PER_NAT).clamp_min_(0.0))
        if sets is not None:
            mass.append((logs.exp_() @ sets.to(logs.device)).log_().mul_(-_PER_NAT).clamp_min_(0.0))
    empty = torch.zeros(0, device=states.device, dtype=torch.float32)
    return Lookup(torch.cat(bits) if bits else empty, torch.cat(mass) if mass else empty.reshape(0, 0))


def to_device(values: NDArray[Any], device: torch.device) -> torch.Tensor:
    """Copy an array to the device; to CUDA asynchronously through pinned memory."""
    tensor = torch.from_numpy(np.ascontiguousarray(values))
    if device.type == "cuda":
        return tensor.pin_memory().to(device, non_blocking=True)
    return tensor
