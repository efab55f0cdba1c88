"""How many positions are run together, and what is done when memory runs out. Needs torch."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import TypeVar

import torch

from lmgym.models.engine.device_errors import says_full

Found = TypeVar("Found")

_TOKENS = {"cpu": 512, "cuda": 8192}
_LOGIT_BYTES = {"cpu": 256 * 2**20, "cuda": 4 * 2**30}


def default_budget(device: torch.device, vocabulary_size: int) -> int:
    """Positions per pass, padded ones included: a good shape for the device, less where a large vocabulary makes logits
    large."""
    kind = device.type if device.type in _TOKENS else "cpu"
    return max(1, min(_TOKENS[kind], _LOGIT_BYTES[kind] // (4 * max(vocabulary_size, 1))))


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an exception means that memory ran out, on either kind of device."""
    return isinstance(error, MemoryError | torch.OutOfMemoryError) or says_full(error)


def give_back(device: torch.device) -> None:
    """Free what nobody holds any more."""
    gc.collect()
    if device.type == "cuda":
        torch.cuda.empty_cache()


def unless_full(device: torch.device, work: Callable[[], Found]) -> Found | None:
    """What `work` gives, or None when memory ran out on it; what it held is free again then."""
    try:
        return work()
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
    # Outside the handler, so that the traceback no longer holds the tensors.
    give_back(device)
    return None
