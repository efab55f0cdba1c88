"""When memory runs out. Needs torch."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import TypeVar

import torch

Found = TypeVar("Found")

_SAID = (
    "out of memory",
    "can't allocate memory",
    "cannot allocate memory",
    "could not create a memory object",  # oneDNN
    "cublas_status_alloc_failed",
    "cudnn_status_alloc_failed",
)


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an exception means that memory ran out, on either kind of device."""
    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        return True
    said = str(error).lower()
    return isinstance(error, RuntimeError) and any(words in said for words in _SAID)


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
