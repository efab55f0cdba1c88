"""Tree attention in blocks of queries, for models that use transformers' attention registry. Needs torch.

In depth-first order, every ancestor that precedes a run of consecutive nodes is an ancestor of the run's
first node. A block of queries therefore needs only its own keys and one path: the cost is linear in the
length of the chunk, and no quadratic mask is built.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

NAME = "lm_gym_tree_blocks"
WIDTH = {"cpu": 64, "cuda": 128}
"""Queries per block."""

_active = threading.local()


class Layout(NamedTuple):
    """Keys that each block of queries sees.

    Attributes:
        size: positions after padding, a multiple of the number of blocks.
        keys: int64[blocks, k], key positions gathered for each block; unused entries are 0.
        hidden: bool[blocks, width, k], True if a gathered key is hidden from a query. A padding query sees nothing.
    """

    size: int
    keys: NDArray[np.int64]
    hidden: NDArray[np.bool_]


def layout(end: NDArray[np.int64], width: int) -> Layout:
    """Lay out blocks of at most `width` queries over nodes in depth-first order. All blocks have the same size.

    Args:
        end: int64[n], end of the range of nodes that see key j.
        width: maximum size of a block.
    """
    count = len(end)
    blocks = -(-count // width)
    width = -(-count // blocks)
    first = np.arange(blocks) * width
    # Padding may be longer than a block; blocks of padding only begin after the last node and have no keys.
    above = (np.arange(count)[None, :] < first[:, None]) & (end[None, :] > first[:, None])
    block, node = np.nonzero(above)
    depth = above.sum(1)
    longest = int(depth.max(initial=0))
    keys = np.zeros((blocks, longest + width), np.int64)
    used = np.zeros(keys.shape, np.bool_)
    column = np.arange(len(node)) - np.repeat(np.cumsum(depth) - depth, depth)
    keys[block, column], used[block, column] = node, True
    positions = first[:, None] + np.arange(width)
    keys[:, longest:], used[:, longest:] = np.minimum(positions, count - 1), positions < count
    query = positions[:, :, None]
    seen = used[:, None, :] & (keys[:, None, :] <= query) & (query < end[keys][:, None, :])
    return Layout(blocks * width, keys, ~seen)


def additive(hidden: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Build an additive mask: 0 for visible keys, the minimum of the dtype for hidden ones.

    Float masks are faster than boolean ones on CPUs.
    """
    mask = torch.zeros(hidden.shape, dtype=dtype, device=hidden.device)
    return mask.masked_fill_(hidden, torch.finfo(dtype).min)


@contextmanager
def attending(keys: torch.Tensor | None) -> Iterator[None]:
    """Make models in this thread attend to key blocks within the context; None leaves attention unchanged."""
    _active.keys = keys
    try:
        yield
    finally:
        _active.keys = None


def attend(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    dropout: float = 0.0,
    scaling: float | None = None,
    **named: Any,
) -> tuple[torch.Tensor, None]:
    """Compute attention in the active key blocks; without active blocks, call transformers' SDPA function.

    Registered with transformers by `install`. Query, key and value are [1, heads, n, d], the output is
    [1, n, heads, d]. While blocks are active, `attention_mask` is additive, [blocks, 1, width, k].

    Raises:
        ValueError: the attention has extra terms, such as a soft cap.
    """
    keys = getattr(_active, "keys", None)
    if keys is None:
        from transformers.integrations.sdpa_attention import sdpa_attention_forward

        plain: tuple[torch.Tensor, None] = sdpa_attention_forward(
            module, query, key, value, attention_mask, dropout=dropout, scaling=scaling, **named
        )
        return plain
    for term in ("softcap", "s_aux", "position_bias"):
        if named.get(term) is not None:
            raise ValueError(f"attention with {term} cannot be computed in blocks")
    keys = keys.to(query.device)
    blocks, heads, features = keys.shape[0], query.shape[1], query.shape[3]
    queries = query[0].transpose(0, 1).reshape(blocks, -1, heads, features).transpose(1, 2)
    out = torch.nn.functional.scaled_dot_product_attention(
        queries,
        _gather(key, keys, heads),
        _gather(value, keys, heads),
        attn_mask=attention_mask,
        scale=scaling,
    )
    return out.transpose(1, 2).reshape(1, query.shape[2], heads, -1), None


def _gather(states: torch.Tensor, keys: torch.Tensor, heads: int) -> torch.Tensor:
    """Gather keys or values for each block: [1, key heads, n, d] -> [blocks, heads, k, d].

    Several query heads may share one key head.
    """
    gathered = states[0].transpose(0, 1).index_select(0, keys.reshape(-1))
    gathered = gathered.reshape(*keys.shape, *gathered.shape[1:]).transpose(1, 2)
    if gathered.shape[1] == heads:
        return gathered
    return gathered.repeat_interleave(heads // gathered.shape[1], 1)


def install(model: Any) -> bool:
    """Make a model use `attend`. Returns False for models that do not use transformers' SDPA function."""
    if getattr(model.config, "_attn_implementation", None) not in ("sdpa", NAME):
        return False
    from transformers import AttentionInterface
    from transformers.masking_utils import AttentionMaskInterface, sdpa_mask

    AttentionInterface.register(NAME, attend)
    AttentionMaskInterface.register(NAME, sdpa_mask)
    model.set_attn_implementation(NAME)
    return bool(model.config._attn_implementation == NAME)


def uninstall(model: Any) -> None:
    """Undo `install`."""
    if getattr(model.config, "_attn_implementation", None) == NAME:
        model.set_attn_implementation("sdpa")
