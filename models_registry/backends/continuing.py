"""Greedy continuation of a text, token by token the likeliest one. Needs torch."""

from __future__ import annotations

import time
from typing import Any

import torch

from models_registry.engine.model_runner import ModelRunner


def greedy(
    runner: ModelRunner, tokenizer: Any, text: str, *, limit: int | None, max_tokens: int, seconds: float
) -> tuple[str, int, int]:
    """The continuation up to the end of a line, of at most `max_tokens` tokens and about `seconds` seconds, without
    blanks around it; and how many tokens were read and written. Of a text that is too long the beginning is dropped;
    at most half of the model's context (`limit` tokens) is written.
    """
    ids = list(tokenizer(text, add_special_tokens=False)["input_ids"])
    if tokenizer.bos_token_id is not None:
        ids = [tokenizer.bos_token_id, *ids]
    if limit is not None:
        max_tokens = min(max_tokens, limit // 2)
        ids = ids[-(limit - max_tokens) :]
    read, until = len(ids), time.monotonic() + seconds
    written: list[int] = []
    with torch.inference_mode():
        while len(written) < max_tokens and time.monotonic() < until:
            given = torch.tensor([ids], device=runner.device)
            token = int(runner.model(input_ids=given).logits[0, -1].argmax())
            if token == tokenizer.eos_token_id:
                break
            ids.append(token)
            written.append(token)
            if "\n" in tokenizer.decode(written).lstrip():
                break
    lines = str(tokenizer.decode(written, skip_special_tokens=True)).strip().split("\n")
    return lines[0].strip(), read, len(written)
