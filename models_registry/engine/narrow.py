"""The last layer's feed-forward part for wanted positions only. Needs torch.

What follows attention works position by position, and after the last layer only positions that somebody looks at
are read. So in the last layer the others need keys and values and nothing more. Positions that are left out get
zeros there, which nobody reads.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

PAYS = 0.8
"""Share of wanted positions from which picking them no longer pays."""

_PAIRS = (("mlp", "mlp"), ("fc1", "fc2"))
"""Names of the first and last module of a layer's feed-forward part, as transformers' models call them."""


class Narrow:
    """Hooks on the last layer of a body; without `wanting` they do nothing. For one thread at a time."""

    def __init__(self, first: torch.nn.Module, last: torch.nn.Module) -> None:
        self._places: torch.Tensor | None = None
        self._shape = torch.Size()
        self._hooks: list[Any] = [
            first.register_forward_pre_hook(self._pick),
            last.register_forward_hook(self._spread),
        ]

    @classmethod
    def of(cls, body: Any) -> Narrow | None:
        """For the last layer of the body's longest stack, if its parts have known names."""
        if not isinstance(body, torch.nn.Module):
            return None
        stacks = [part for part in body.modules() if isinstance(part, torch.nn.ModuleList) and len(part)]
        if not stacks:
            return None
        layer = max(stacks, key=len)[-1]
        for first, last in _PAIRS:
            if hasattr(layer, first) and hasattr(layer, last):
                return cls(getattr(layer, first), getattr(layer, last))
        return None

    def remove(self) -> None:
        """Take the hooks off."""
        for hook in self._hooks:
            hook.remove()

    @contextmanager
    def wanting(self, places: torch.Tensor) -> Iterator[None]:
        """Within this, the layer runs for these places of the flattened [batch, width] only."""
        self._places = places
        try:
            yield
        finally:
            self._places = None

    def _pick(self, _module: Any, inputs: tuple[Any, ...]) -> Any:
        if self._places is None:
            return None
        states = inputs[0]
        self._shape = states.shape
        rows = states.reshape(-1, states.shape[-1]).index_select(0, self._places.to(states.device))
        return (rows[None], *inputs[1:])

    def _spread(self, _module: Any, _inputs: Any, output: torch.Tensor) -> Any:
        if self._places is None:
            return None
        shape, width = self._shape, output.shape[-1]
        whole = output.new_zeros((shape.numel() // shape[-1], width))
        whole.index_copy_(0, self._places.to(output.device), output.reshape(-1, width))
        return whole.reshape(*shape[:-1], width)
