"""Check that a model fits into the memory of its device before its weights are read.

torch is imported inside functions, so that importing this module stays cheap.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from lmgym.models.backends import files, gguf_file
from lmgym.models.backends.base import BackendError, BackendUnavailable
from lmgym.models.machine_memory import machine_memory

if TYPE_CHECKING:
    import torch

GPU_WORK_BYTES = 512 * 2**20
"""Bytes that must stay free on a GPU in addition to the weights, for library workspaces and a small batch. Larger
batches use the remaining memory, and are halved when it runs out."""
MAIN_MEMORY = "the main memory"


class MemoryInUse(BackendUnavailable):
    """The device is large enough, but other programs use its memory at the moment."""


class Memory(NamedTuple):
    """Memory that can hold weights.

    Attributes:
        name: name in messages, such as "cuda:0".
        total, free: bytes.
    """

    name: str
    total: int
    free: int


def require_memory(folder: Path, dtype: torch.dtype, device: torch.device, *, spread: bool = False) -> None:
    """Check that the weights fit into the memory of the device.

    Weights pass through main memory on their way to a GPU, so both are checked. The weights of a spread model fill the
    GPUs first, then main memory, so only the total is checked.

    Raises:
        BackendError: the weights in this dtype are larger than the memory.
        MemoryInUse: the weights are larger than the memory that is currently free.
    """
    is_gguf = folder.suffix == gguf_file.SUFFIX
    numbers = gguf_file.read_header(folder).numbers if is_gguf else files.count_numbers(folder)
    weights = numbers * dtype.itemsize
    dtype_name = str(dtype).removeprefix("torch.")
    for memory in _memories(device, spread):
        needed = weights + (GPU_WORK_BYTES if device.type == "cuda" and memory.name != MAIN_MEMORY else 0)
        sizes = f"The model takes {_gb(needed)} in {dtype_name}, and {memory.name} has {_gb(memory.total)}"
        if needed > memory.total:
            raise BackendError(f"{sizes}.", _hint(dtype_name, device, spread))
        if needed > memory.free:
            raise MemoryInUse(
                f"{sizes}, of which {_gb(memory.free)} is free.",
                "Other programs or workers are using the rest: try again later.",
            )


def _memories(device: torch.device, spread: bool) -> Iterator[Memory]:
    main = machine_memory()
    if device.type != "cuda":
        if main is not None:
            yield Memory(MAIN_MEMORY, *main)
        return
    import torch

    if not spread:
        yield gpu_memory(device)
        if main is not None:
            yield Memory(MAIN_MEMORY, *main)
        return
    parts = [gpu_memory(torch.device("cuda", number)) for number in range(torch.cuda.device_count())]
    parts += [] if main is None else [Memory(MAIN_MEMORY, *main)]
    total, free = sum(part.total for part in parts), sum(part.free for part in parts)
    yield Memory(f"the memory of {len(parts)} devices (all GPUs and main memory)", total, free)


def gpu_memory(device: torch.device) -> Memory:
    """Return the memory of one GPU. Memory that torch caches for this process counts as free."""
    import torch

    free, total = torch.cuda.mem_get_info(device)
    cached = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return Memory(str(device), int(total), int(free + cached))


def _hint(dtype_name: str, device: torch.device, spread: bool) -> str:
    remedies = ["a smaller model"]
    if device.type == "cuda" and dtype_name == "float32":
        remedies.append("the number format bfloat16")
    if device.type == "cuda" and not spread:
        remedies.append('the device "cuda:all" if there are several GPUs')
    return f"Use {' or '.join(remedies)}."


def _gb(count: int) -> str:
    return f"{count / 1e9:,.2f} GB" if count < 1e10 else f"{count / 1e9:,.0f} GB"
