"""Device errors: out of memory, or a device that the process can no longer use."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from lmgym.models.backends import BackendError, BackendUnavailable
from lmgym.models.backends.loading import _loading_error
from lmgym.models.engine.device_errors import reports_device_failure, reports_out_of_memory
from lmgym.models.engine.memory import unless_full

FULL = (
    "CUDA out of memory. Tried to allocate 20.00 GiB. GPU 0 has a total capacity of 79.10 GiB",
    "CUDA error: out of memory\nCUDA kernel errors might be asynchronously reported at some other API call",
    "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
    "CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate(handle)`",
)
BROKEN = (
    "CUDA error: an illegal memory access was encountered",
    "CUDA error: device-side assert triggered",
    "CUDA error: unspecified launch failure",
    "CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling `cublasSgemm(...)`",
    "cuDNN error: CUDNN_STATUS_EXECUTION_FAILED",
)


@pytest.mark.parametrize("said", FULL)
def test_memory_that_ran_out_does_not_break_the_process(said: str) -> None:
    assert reports_out_of_memory(RuntimeError(said))
    assert not reports_device_failure(RuntimeError(said))


@pytest.mark.parametrize("said", BROKEN)
def test_other_errors_of_the_device_do(said: str) -> None:
    assert reports_device_failure(RuntimeError(said))
    assert not reports_out_of_memory(RuntimeError(said))
    with pytest.raises(RuntimeError):  # and no smaller batch is tried
        unless_full(torch.device("cpu"), lambda: (_ for _ in ()).throw(RuntimeError(said)))


def test_what_a_person_wrote_about_cuda_is_no_error_of_a_device() -> None:
    assert not reports_device_failure(ValueError("CUDA error: in a sentence"))
    assert not reports_device_failure(RuntimeError("size mismatch"))


def test_a_device_that_breaks_while_a_model_loads_is_no_fault_of_the_model(tmp_path: Path) -> None:
    cuda = torch.device("cuda", 0)
    assert isinstance(_loading_error(RuntimeError(BROKEN[0]), tmp_path, cuda), BackendUnavailable)
    full = _loading_error(RuntimeError(FULL[1]), tmp_path, cuda)
    assert isinstance(full, BackendError)
    assert "does not fit into the memory of cuda:0" in full.message
