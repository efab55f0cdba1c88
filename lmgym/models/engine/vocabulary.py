"""Output projection in parts of the vocabulary. Needs torch; CPU only.

A product with all 50,000 words at once is slower than in blocks of words (55 versus 87 GFLOP/s on one core of an AMD
EPYC), and its logits take tens of megabytes. In blocks, logits stay in the cache, and only their log-sum-exp and the
requested logits are kept.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

WORDS = 1024
"""Words per part."""
ROWS = 512
"""Hidden rows per product."""

Project = Callable[[torch.Tensor], torch.Tensor]


class Part(NamedTuple):
    """Logits of the words [start, stop); `project` maps hidden rows [rows, features] to them."""

    start: int
    stop: int
    project: Project


class PartedHead(nn.Module):
    """Replacement for a head, with linear layers of parts built by `make(weight [words, in], bias)`."""

    def __init__(
        self, layer: nn.Linear, make: Callable[[torch.Tensor, torch.Tensor | None], nn.Module]
    ) -> None:
        super().__init__()
        self.out_features, self.in_features = layer.weight.shape
        starts = range(0, self.out_features, WORDS)
        self.layers = nn.ModuleList(make(*_cut(layer, start)) for start in starts)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Compute all logits."""
        return torch.cat([layer(x) for layer in self.layers], -1)


def parts_of(head: Any, device: torch.device) -> list[Part]:
    """Split a head that is a plain linear layer on a CPU; return an empty list for other heads."""
    if device.type != "cpu" or hasattr(head, "_hf_hook"):
        return []
    if isinstance(head, PartedHead):
        layers: list[Project] = list(head.layers)
    elif type(head) is nn.Linear:
        layers = [_linear(head, start) for start in range(0, head.out_features, WORDS)]
    else:
        return []
    starts = range(0, head.out_features, WORDS)
    return [
        Part(start, min(start + WORDS, head.out_features), layer)
        for start, layer in zip(starts, layers, strict=True)
    ]


def _linear(head: nn.Linear, start: int) -> Project:
    weight, bias = _cut(head, start)
    return lambda x: nn.functional.linear(x, weight, bias)


def _cut(head: nn.Linear, start: int) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Return weight and bias of the part that begins with word `start`."""
    part = slice(start, start + WORDS)
    return head.weight.detach()[part], None if head.bias is None else head.bias.detach()[part]


def look_up_by_parts(
    parts: list[Part],
    rows: torch.Tensor,
    edge_row: NDArray[np.int64],
    edge_token: NDArray[np.int64],
    sets: torch.Tensor | None,
) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Compute surprisals by parts, in fp32. Each part subtracts its maximum; a log-sum-exp combines the parts.

    Returns:
        Nats of token edge_token[k] after hidden row edge_row[k], and nats [rows, sets] of each vocabulary set.
    """
    order = np.argsort(edge_token, kind="stable")
    words = edge_token[order]
    row, word = torch.from_numpy(edge_row[order]), torch.from_numpy(words)
    logits_of = torch.empty(len(order), dtype=torch.float32)
    whole, kept = [], []
    for start, stop, project in parts:
        logits = project(rows).float()
        low, high = np.searchsorted(words, (start, stop))
        if high > low:
            logits_of[low:high] = logits[row[low:high], word[low:high] - start]
        top = logits.amax(1, keepdim=True)
        logits.sub_(top).exp_()
        whole.append(logits.sum(1, keepdim=True).log_().add_(top))
        if sets is not None:
            kept.append((logits @ sets[start:stop]).log_().add_(top))
    total = torch.cat(whole, 1).logsumexp(1)
    nats = torch.empty(len(order), dtype=torch.float32)
    nats[torch.from_numpy(order)] = total[row] - logits_of
    if sets is None:
        return nats, None
    return nats, total[:, None] - torch.stack(kept).logsumexp(0)
