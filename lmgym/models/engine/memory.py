"""Positions per forward pass, and recovery when memory runs out. Needs torch."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import TypeVar

import torch

from lmgym.models.engine.device_errors import reports_out_of_memory

Result = TypeVar("Result")

_TOKENS = {"cpu": 512, "cuda": 8192}
_LOGIT_BYTES = {"cpu": 256 * 2**20, "cuda": 4 * 2**30}


def default_budget(device: torch.device, vocabulary_size: int) -> int:
    """Return the default number of positions per pass, including padding; less for a large vocabulary."""
    kind = device.type if device.type in _TOKENS else "cpu"
    return max(1, min(_TOKENS[kind], _LOGIT_BYTES[kind] // (4 * max(vocabulary_size, 1))))


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether an exception means that memory ran out, on a CPU or GPU."""
    return isinstance(error, MemoryError | torch.OutOfMemoryError) or reports_out_of_memory(error)


def give_back(device: torch.device) -> None:
    """Release unreferenced memory, and torch's cache on a GPU."""
    gc.collect()
    if device.type == "cuda":
        torch.cuda.empty_cache()


def unless_full(device: torch.device, work: Callable[[], Result]) -> Result | None:
    """Run `work`; return None, with its memory released, if memory ran out."""
    try:
        return work()
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
    # Outside the handler, so that the traceback no longer references the tensors.
    give_back(device)
    return None
