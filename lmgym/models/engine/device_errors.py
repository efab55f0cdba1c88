"""What an error of a device means, read off its words: memory ran out, or the device cannot be used any more by this
process. Needs no torch."""

from __future__ import annotations

_FULL = (
    "out of memory",
    "can't allocate memory",
    "cannot allocate memory",
    "could not create a memory object",  # oneDNN
    "cublas_status_alloc_failed",
    "cudnn_status_alloc_failed",
    "cublascreate",  # CUBLAS_STATUS_NOT_INITIALIZED: no memory was left for its workspace
)
_BROKEN = ("cuda error", "cublas_status_", "cudnn_status_", "cudnn error")


def says_full(error: BaseException) -> bool:
    """Whether a library's error says that memory ran out."""
    said = str(error).lower()
    return isinstance(error, RuntimeError) and any(words in said for words in _FULL)


def says_broken(error: BaseException) -> bool:
    """Whether a library's error says that its device does not work, memory apart. After most of these (an illegal
    access, a failed launch, a GPU that is gone) every further call of the process fails as well."""
    said = str(error).lower()
    return (
        isinstance(error, RuntimeError) and not says_full(error) and any(words in said for words in _BROKEN)
    )
