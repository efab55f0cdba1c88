"""Linear layers with weights prepacked for oneDNN's kernels. Needs torch; CPU only.

On some CPUs, stock fp32 products are half as fast as oneDNN on prepacked weights; on others, equally fast. Both are
therefore timed on the model's shapes, and the faster one is used. Both compute in fp32, and their values differ only
within fp32 noise.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import nn

from lmgym.models.engine.vocabulary import WORDS, PartedHead

POSITIONS = 512
"""Rows per matrix product for which weights are packed and timed, as in a full chunk. With more rows, stock
kernels gain more than packed ones."""
GAIN = 1.1
"""Minimum speed-up for packing, because packed weights are no longer shared between processes by mmap."""
_REPEATS = 4
_TRIM_EVERY = 8


class PackedLinear(nn.Module):
    """Replacement for nn.Linear and GPT-2's Conv1D with prepacked weight [out, in]: x [..., in] -> [..., out].

    With dtype bfloat16 the product is computed in bfloat16 and returned in fp32.
    """

    def __init__(self, weight: torch.Tensor, bias: torch.Tensor | None, dtype: torch.dtype) -> None:
        super().__init__()
        self.out_features, self.in_features = weight.shape
        self.dtype = dtype
        self.packed = torch.ops.mkldnn._reorder_linear_weight(
            weight.detach().contiguous().to(dtype), POSITIONS
        )
        self.bias = None if bias is None else nn.Parameter(bias.detach().to(dtype), requires_grad=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Compute x @ weight.T + bias."""
        product: torch.Tensor = torch.ops.mkldnn._linear_pointwise(
            x.to(self.dtype), self.packed, self.bias, "none", [], ""
        )
        return product.float()


class Measured(NamedTuple):
    """Seconds for one pass through the model's linear layers, stock and packed."""

    stock: float
    packed: float

    @property
    def gain(self) -> float:
        return self.stock / max(self.packed, 1e-12)


def available() -> bool:
    """Return whether this build of torch can pack weights."""
    mkldnn: Any = torch.backends.mkldnn
    return bool(mkldnn.is_available()) and hasattr(torch.ops.mkldnn, "_linear_pointwise")


def _linears(model: nn.Module) -> Iterator[tuple[nn.Module, str, Any, torch.Tensor]]:
    """Yield (parent, name, layer, weight as [out, in]) of every plain linear layer.

    Holds a reference only to the current layer, so that replaced layers can be freed.
    """
    from transformers.pytorch_utils import Conv1D

    plain = (nn.Linear, Conv1D)
    layers = [
        (parent, name)
        for parent in model.modules()
        if type(parent) not in plain
        for name, child in parent.named_children()
        if type(child) in plain
    ]
    for parent, name in layers:
        layer: Any = getattr(parent, name)
        yield parent, name, layer, layer.weight if type(layer) is nn.Linear else layer.weight.t()


@torch.inference_mode()
def measure(model: nn.Module) -> Measured:
    """Time each distinct shape of linear layer, stock and packed in turn, and add up all layers.

    The head is timed in parts of the vocabulary, as it is run.
    """
    shapes: dict[tuple[str, tuple[int, ...]], tuple[float, Any, torch.Tensor]] = {}
    head = _head(model)
    for _, _, layer, weight in _linears(model):
        parts, run = 1.0, layer
        if layer is head:
            parts, weight = len(weight) / WORDS, weight[:WORDS]
            run = partial(nn.functional.linear, weight=weight)
        key = (type(layer).__name__, tuple(weight.shape))
        shapes[key] = (shapes.get(key, (0.0,))[0] + parts, run, weight)
    stock = packed = 0.0
    for (_, shape), (count, run, weight) in shapes.items():
        x = torch.zeros(1, POSITIONS, shape[1], dtype=torch.float32)
        x.normal_(generator=torch.Generator().manual_seed(0))
        rival = PackedLinear(weight, getattr(run, "bias", None), torch.float32)
        times = [(_seconds(run, x), _seconds(rival, x)) for _ in range(_REPEATS)][1:]
        stock += count * min(a for a, _ in times)
        packed += count * min(b for _, b in times)
    return Measured(stock, packed)


def _seconds(layer: Any, x: torch.Tensor) -> float:
    start = time.perf_counter()
    layer(x)
    return time.perf_counter() - start


@torch.inference_mode()
def pack(model: nn.Module, dtype: torch.dtype = torch.float32) -> int:
    """Replace the model's linear layers in place. Returns their number.

    Each original weight is freed once it is copied, except one tied to the embedding. The head stays fp32.
    """
    head = _head(model)
    count = 0
    for parent, name, layer, weight in _linears(model):
        if layer is head:
            setattr(
                parent,
                name,
                PartedHead(layer, lambda weight, bias: PackedLinear(weight, bias, torch.float32)),
            )
        else:
            setattr(parent, name, PackedLinear(weight, layer.bias, dtype))
        count += 1
        del layer, weight
        if count % _TRIM_EVERY == 0:
            trim()
    trim()
    return count


def _head(model: Any) -> Any:
    """Return the model's output projection, or None if unknown."""
    return model.get_output_embeddings() if hasattr(model, "get_output_embeddings") else None


def trim() -> None:
    """Return freed heap memory to the system (glibc), because replaced weights fragment the heap."""
    try:
        give_back = ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError, TypeError):  # another C library
        return
    give_back(0)


def fuse_gelu(model: nn.Module) -> int:
    """Replace tanh GELUs written in Python by the fused kernel. Returns their number."""
    from transformers.activations import FastGELUActivation, NewGELUActivation

    count = 0
    for parent in list(model.modules()):
        for name, layer in list(parent.named_children()):
            if type(layer) in (FastGELUActivation, NewGELUActivation):
                setattr(parent, name, nn.GELU(approximate="tanh"))
                count += 1
    return count
