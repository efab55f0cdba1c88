"""Run planned batches through a causal model. This module imports torch; nothing else in the engine does."""

from __future__ import annotations

import gc
import math
from collections.abc import Sequence
from typing import Any

import torch
from torch.nn import functional

from models_registry.engine.plan import Batch, chunks, make_plan
from models_registry.engine.scores import ScoringFailure

ROWS_PER_BLOCK = 128
"""Vocabulary rows per cross-entropy call: the fp32 working copy stays near 25 MB for 50,000 words."""

_TOKENS = {"cpu": 512, "cuda": 8192}
_LOGIT_BYTES = {"cpu": 256 * 2**20, "cuda": 4 * 2**30}


def default_budget(device: torch.device, vocabulary_size: int) -> int:
    """Padded tokens per batch: a good shape for the device, less where a large vocabulary makes logits
    large."""
    kind = device.type if device.type in _TOKENS else "cpu"
    return max(1, min(_TOKENS[kind], _LOGIT_BYTES[kind] // (4 * max(vocabulary_size, 1))))


def score_sequences(
    model: Any, sequences: Sequence[Sequence[int]], *, device: torch.device, budget: int
) -> list[list[float] | ScoringFailure]:
    """Surprisal in bits of every token after the first of each sequence.

    `model` is a transformers causal model in eval mode on `device`. Result k has max(len(sequences[k]) - 1,
    0) values, computed in fp32 from the model's logits; they do not depend on batch mates beyond fp32 noise
    (5e-4 bits). When memory runs out the budget is halved and the work goes on; a sequence that does not
    fit alone gives a ScoringFailure. A value that is not finite gives one too.
    """
    plan = make_plan(sequences, budget)
    results: list[list[float] | ScoringFailure] = [[] for _ in plan.sequences]
    pending = list(reversed(plan.batches))
    while pending:
        batch = pending.pop()
        values = _attempt(model, [plan.sequences[row] for row in batch.rows], batch.width, device)
        if values is not None:
            for row, bits in zip(batch.rows, values, strict=True):
                results[row] = _checked(bits)
        elif len(batch.rows) == 1:
            results[batch.rows[0]] = ScoringFailure(
                f"Memory on {device} ran out on this text alone ({batch.width} tokens).", transient=True
            )
        else:
            budget = max(1, min(budget, batch.width * len(batch.rows)) // 2)
            rows = [row for rest in (batch, *reversed(pending)) for row in rest.rows]
            pending = _rebatch(rows, plan.sequences, budget)
    return [results[number] for number in plan.places]


def _rebatch(rows: Sequence[int], sequences: Sequence[Sequence[int]], budget: int) -> list[Batch]:
    """The remaining rows under a smaller budget, as a stack (next batch last)."""
    groups = chunks([len(sequences[row]) for row in rows], budget)
    batches = [Batch(tuple(rows[at] for at in group), len(sequences[rows[group[-1]]])) for group in groups]
    return batches[::-1]


def _attempt(
    model: Any, rows: Sequence[Sequence[int]], width: int, device: torch.device
) -> list[list[float]] | None:
    """One batch, or None when memory ran out."""
    if width < 2:
        return [[] for _ in rows]
    try:
        return _forward(model, rows, width, device)
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
    # Outside the handler, so that the traceback no longer holds the tensors.
    gc.collect()
    if device.type == "cuda":
        torch.cuda.empty_cache()
    return None


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an exception means that memory ran out, on either kind of device."""
    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        return True
    said = str(error).lower()
    return isinstance(error, RuntimeError) and ("out of memory" in said or "can't allocate memory" in said)


@torch.inference_mode()
def _forward(
    model: Any, rows: Sequence[Sequence[int]], width: int, device: torch.device
) -> list[list[float]]:
    """Pad on the right, run the model once, and turn logits into bits block by block."""
    # The last token is only ever predicted, so it is not fed.
    ids = torch.zeros((len(rows), width - 1), dtype=torch.long)
    mask = torch.zeros_like(ids)
    targets = torch.full_like(ids, -100)
    for at, row in enumerate(rows):
        length = len(row) - 1
        if length > 0:
            ids[at, :length] = torch.tensor(row[:-1])
            mask[at, :length] = 1
            targets[at, :length] = torch.tensor(row[1:])
    logits = model(input_ids=ids.to(device), attention_mask=mask.to(device)).logits
    flat = logits.reshape(-1, logits.shape[-1])
    wanted = targets.reshape(-1).to(device)
    nats = torch.cat(
        [
            functional.cross_entropy(
                flat[start : start + ROWS_PER_BLOCK].float(),
                wanted[start : start + ROWS_PER_BLOCK],
                reduction="none",
                ignore_index=-100,
            )
            for start in range(0, flat.shape[0], ROWS_PER_BLOCK)
        ]
    )
    # Rounding can make a certain token a hair cheaper than nothing. NaN passes and is caught later.
    bits = (nats.double() / math.log(2)).clamp_min(0.0).reshape(len(rows), width - 1).cpu().tolist()
    return [values[: max(len(row) - 1, 0)] for values, row in zip(bits, rows, strict=True)]


def _checked(bits: list[float]) -> list[float] | ScoringFailure:
    """The values, or a failure that says where the first one is not a finite number."""
    for position, value in enumerate(bits, start=2):
        if not math.isfinite(value):
            return ScoringFailure(
                f"The model's value for token {position} is not a finite number; "
                "with float16 this can be an overflow: try float32 or bfloat16."
            )
    return bits
