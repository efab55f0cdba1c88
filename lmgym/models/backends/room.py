"""Whether a model fits into the memory of its device, asked before its weights are read. torch is imported inside
functions."""

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
"""What must stay free beside the weights on a GPU: libraries' workspaces and a small batch. Batches grow into what
there is and are halved when memory runs out."""


class NoRoom(BackendUnavailable):
    """The device is large enough, but others use its memory now."""


class Memory(NamedTuple):
    """Of one place where weights go: its name in sentences, and its bytes."""

    name: str
    total: int
    free: int


def require_room(folder: Path, dtype: torch.dtype, device: torch.device, *, spread: bool = False) -> None:
    """Raise BackendError when the weights in this dtype are larger than the memory of the device, NoRoom when they are
    larger than what is free of it now. On their way to a GPU weights pass through main memory; those of a model that
    is spread go where there is room, on GPUs and then in main memory."""
    is_gguf = folder.suffix == gguf_file.SUFFIX
    numbers = gguf_file.read_header(folder).numbers if is_gguf else files.count_numbers(folder)
    weights = numbers * dtype.itemsize
    kind = str(dtype).removeprefix("torch.")
    for place in _places(device, spread):
        needed = weights + (GPU_WORK_BYTES if device.type == "cuda" and place.name != _MAIN else 0)
        said = f"The model takes {_gb(needed)} in {kind}, and {place.name} has {_gb(place.total)}"
        if needed > place.total:
            raise BackendError(f"{said}.", _hint(kind, device, spread))
        if needed > place.free:
            raise NoRoom(
                f"{said}, of which {_gb(place.free)} are free.",
                "Other programs or workers use the rest: try again later.",
            )


_MAIN = "the main memory"


def _places(device: torch.device, spread: bool) -> Iterator[Memory]:
    main = machine_memory()
    if device.type != "cuda":
        if main is not None:
            yield Memory(_MAIN, *main)
        return
    import torch

    if not spread:
        yield gpu_memory(device)
        if main is not None:
            yield Memory(_MAIN, *main)
        return
    parts = [gpu_memory(torch.device("cuda", number)) for number in range(torch.cuda.device_count())]
    parts += [] if main is None else [Memory(_MAIN, *main)]
    total, free = sum(part.total for part in parts), sum(part.free for part in parts)
    yield Memory(f"the memory of {len(parts)} places (all GPUs, and the main memory)", total, free)


def gpu_memory(device: torch.device) -> Memory:
    """Free is also what torch keeps for this process without using it."""
    import torch

    free, total = torch.cuda.mem_get_info(device)
    kept = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return Memory(str(device), int(total), int(free + kept))


def _hint(kind: str, device: torch.device, spread: bool) -> str:
    ways = ["a smaller model"]
    if device.type == "cuda" and kind == "float32":
        ways.append("the number format bfloat16")
    if device.type == "cuda" and not spread:
        ways.append('the device "cuda:all", where there are several GPUs')
    return f"Use {' or '.join(ways)}."


def _gb(count: int) -> str:
    return f"{count / 1e9:,.2f} GB" if count < 1e10 else f"{count / 1e9:,.0f} GB"
