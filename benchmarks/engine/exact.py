"""Differences from float64: for LM Gym, and for scoring one sentence at a time."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from benchmarks.engine import outcomes
from benchmarks.engine.methods import ALL, Ground, ours, second
from benchmarks.engine.workload import Workload, part_of, published, spread

PAIRS = 500
Values = list[list[float]]


def accuracy(ground: Ground, part: str, load: Workload, suites: int | None) -> dict[str, Any]:
    """Compare all tokens of all distinct sentences with float64, for LM Gym and for scoring one sentence (masked
    models: one copy) at a time, and count outcomes that differ from those of float64. Masked models use the first suite
    (or the first `suites`), the BLiMP-shaped load a few pairs.
    """
    if part == "bert":
        suites = suites or 1
        load = published(most=suites)
    elif part == "blimp":
        load = part_of(load, spread(len(load.texts), 2 * PAIRS, together=2))
    scores = ours(second(ground), load)[0][ALL]()
    at = {text: number for number, text in enumerate(load.texts)}
    texts = list(at)
    alone = masked_one_by_one if part == "bert" else one_by_one
    exact = alone(copy.deepcopy(ground.model).double(), ground.tokenizer, texts)
    single = alone(ground.model, ground.tokenizer, texts)
    own_bits = [[bits for bits in scores[at[text]].bits if bits is not None] for text in texts]
    result: dict[str, Any] = {"sentences": len(texts), "tokens": sum(map(len, exact))}
    for name, values in (("single", single), ("ours", own_bits)):
        gaps = np.abs(np.concatenate(values) - np.concatenate(exact))
        result[name] = {"max": float(gaps.max()), "mean": float(gaps.mean())}
    by_text = dict(zip(texts, exact, strict=True))
    truth = [outcomes.with_bits(score, by_text[text]) for score, text in zip(scores, load.texts, strict=True)]
    if part == "blimp":
        return result | {"outcomes": outcomes.of_pairs(scores, truth)}
    left_to_right = part != "bert"
    return result | {"outcomes": outcomes.of_suites(scores, truth, suites, left_to_right=left_to_right)}


def one_by_one(model: Any, tokenizer: Any, texts: Sequence[str]) -> Values:
    """Score one sentence at a time, with the full log-softmax in the model's own dtype. Returns bits of every token."""
    rows = tokenizer(list(texts), add_special_tokens=False)["input_ids"]
    return _each(rows, lambda ids: _bits(model, [[tokenizer.bos_token_id, *ids]], range(len(ids)), ids))


def masked_one_by_one(model: Any, tokenizer: Any, texts: Sequence[str]) -> Values:
    """Score one masked copy at a time. Returns bits of every token of the text given all others."""
    batch = tokenizer(list(texts), return_special_tokens_mask=True)
    frames = zip(batch["input_ids"], batch["special_tokens_mask"], strict=True)

    def sentence(frame: tuple[list[int], list[int]]) -> list[float]:
        ids, special = frame
        bits = []
        for at in np.flatnonzero(np.array(special) == 0).tolist():
            hidden = [*ids[:at], tokenizer.mask_token_id, *ids[at + 1 :]]
            bits += _bits(model, [hidden], [at], [ids[at]])
        return bits

    return _each(list(frames), sentence)


def _each(rows: Sequence[Any], bits: Callable[[Any], list[float]]) -> Values:
    import torch

    with torch.inference_mode():
        return [bits(row) for row in rows]


def _bits(model: Any, ids: list[list[int]], rows: Sequence[int], targets: Sequence[int]) -> list[float]:
    """Return -log2 p of token targets[k] in row rows[k] of a single sentence."""
    import torch

    logs = torch.log_softmax(model(torch.tensor(ids)).logits[0, list(rows)], dim=-1)
    picked = logs[torch.arange(len(targets)), torch.tensor(targets)].double()
    bits: list[float] = (-picked / torch.log(torch.tensor(2.0).double())).tolist()
    return bits
