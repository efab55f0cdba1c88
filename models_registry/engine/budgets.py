"""How many positions are run together. Needs torch."""

from __future__ import annotations

import torch

from models_registry.engine.model_runner import ModelRunner

_TOKENS = {"cpu": 512, "cuda": 8192}
_LOGIT_BYTES = {"cpu": 256 * 2**20, "cuda": 4 * 2**30}
_TREE_TOKENS = {"cpu": 512, "cuda": 4096}
_PACKED_TREE_TOKENS = 256
_BLOCKED_TREE_TOKENS = {"cpu": 512, "cuda": 8192}


def default_budget(device: torch.device, vocabulary_size: int) -> int:
    """Padded tokens per batch: a good shape for the device, less where a large vocabulary makes logits
    large."""
    kind = device.type if device.type in _TOKENS else "cpu"
    return max(1, min(_TOKENS[kind], _LOGIT_BYTES[kind] // (4 * max(vocabulary_size, 1))))


def tree_budget(runner: ModelRunner, budget: int) -> int:
    """Positions per tree chunk within `budget`: smaller where the mask grows with the square."""
    kind = runner.device.type if runner.device.type in _TREE_TOKENS else "cpu"
    if runner.blocks:
        return min(budget, _BLOCKED_TREE_TOKENS[kind])
    best = _PACKED_TREE_TOKENS if runner.packed else _TREE_TOKENS[kind]
    return min(budget, best)
