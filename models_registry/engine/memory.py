"""When memory runs out. Needs torch."""

from __future__ import annotations

import gc

import torch

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
