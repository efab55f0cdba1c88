"""The contestants: each is a function of no arguments that scores the whole load, everything included."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from benchmarks.engine.workload import Workload

Method = Callable[[], Any]


def ours(
    shape: str, model: Any, tokenizer: Any, load: Workload, packing: bool | None
) -> tuple[dict[str, Method], list[str]]:
    """All tokens, and the needed ones; with the notes of loading."""
    import torch

    from models_registry.backends.base import ModelFacts
    from models_registry.backends.causal import CausalBackend
    from models_registry.backends.masked import MaskedBackend
    from models_registry.backends.tuning import prepare, prepare_masked
    from models_registry.engine import ScoringPolicy

    device, facts = torch.device("cpu"), ModelFacts(0, 0, "", 512, "", "", "float32", "cpu", "", "")
    backend: Any
    if shape == "bert":
        reader, rows = prepare_masked(
            model, device, reload=lambda: model, mask_id=tokenizer.mask_token_id, packing=packing
        )
        backend = MaskedBackend(reader, tokenizer, facts=facts, method="original", rows=rows)
    else:
        reader = prepare(model, device, reload=lambda: model, packing=packing)
        backend = CausalBackend(reader, tokenizer, facts=facts)
    policy = ScoringPolicy()
    found: dict[str, Method] = {
        "lm gym, all tokens": lambda: backend.score(load.texts, policy),
        "lm gym, needed tokens": lambda: backend.score(load.texts, policy, load.needed),
    }
    return found, reader.notes


def minicons(shape: str, model: Any, tokenizer: Any, load: Workload, size: int) -> Method:
    """minicons in batches of `size`: token_score, for masked models its `original` PLL."""
    from minicons import scorer

    if shape == "bert":
        if not hasattr(tokenizer, "batch_encode_plus"):  # gone since transformers 5; minicons 0.3.39 calls it
            tokenizer.batch_encode_plus = lambda texts, **named: tokenizer(texts, **named)
        gaps = scorer.MaskedLMScorer(model, "cpu", tokenizer=tokenizer)
        return lambda: [
            gaps.token_score(load.texts[at : at + size], surprisal=True, PLL_metric="original")
            for at in range(0, len(load.texts), size)
        ]
    plain = scorer.IncrementalLMScorer(model, "cpu", tokenizer=tokenizer)

    def run() -> Any:
        found: list[Any] = []
        for at in range(0, len(load.texts), size):
            found += plain.token_score(load.texts[at : at + size], bos_token=True, surprisal=True)
        return found

    return run


def lm_eval(model: Any, tokenizer: Any, load: Workload, size: int) -> Method:
    """lm-eval's HFLM (sums per sentence only)."""
    logging.disable(logging.WARNING)
    from lm_eval.api.instance import Instance
    from lm_eval.models.huggingface import HFLM

    harness = HFLM(pretrained=model, tokenizer=tokenizer, batch_size=size, device="cpu", backend="causal")
    requests = [
        Instance(request_type="loglikelihood", doc={}, arguments=("", text), idx=at)
        for at, text in enumerate(load.texts)
    ]
    return lambda: harness.loglikelihood(requests, disable_tqdm=True)


def one_by_one(model: Any, tokenizer: Any, load: Workload) -> Method:
    """One sentence at a time, full log-softmax, fp32: bits of every token."""
    import torch

    def run() -> list[list[float]]:
        found = []
        with torch.inference_mode():
            for ids in tokenizer(load.texts, add_special_tokens=False)["input_ids"]:
                row = torch.tensor([[tokenizer.bos_token_id, *ids]])
                logs = model(row).logits[0].log_softmax(-1)
                found.append((-logs[torch.arange(len(ids)), row[0, 1:]] * 1.4426950408889634).tolist())
        return found

    return run
