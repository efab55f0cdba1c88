"""Classify device errors by message: out of memory, or a device that this process can no longer use."""

from __future__ import annotations

_FULL = (
    "out of memory",
    "can't allocate memory",
    "cannot allocate memory",
    "could not create a memory object",  # oneDNN
    "cublas_status_alloc_failed",
    "cudnn_status_alloc_failed",
    "cublascreate",  # CUBLAS_STATUS_NOT_INITIALIZED: no memory for its workspace
)
_BROKEN = ("cuda error", "cublas_status_", "cudnn_status_", "cudnn error")


def reports_out_of_memory(error: BaseException) -> bool:
    """Return True if a library's error message reports that memory ran out."""
    message = str(error).lower()
    return isinstance(error, RuntimeError) and any(words in message for words in _FULL)


def reports_device_failure(error: BaseException) -> bool:
    """Return True if a library's error message reports a device failure other than a lack of memory.

    After most of these errors (illegal access, failed launch, lost GPU) all further calls of the process fail.
    """
    message = str(error).lower()
    return (
        isinstance(error, RuntimeError)
        and not reports_out_of_memory(error)
        and any(words in message for words in _BROKEN)
    )
