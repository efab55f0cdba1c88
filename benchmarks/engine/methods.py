"""Contestants: functions without arguments that score the whole load from start to finish."""

from __future__ import annotations

import copy
import logging
from collections.abc import Callable
from typing import Any, NamedTuple

from benchmarks.engine.workload import Workload

Method = Callable[[], Any]

ALL, NEEDED = "lm gym, all tokens", "lm gym, needed tokens"
WHOLE = "lmgym.evaluate, whole call"
"""Method that scores all tokens, aligns them with regions, evaluates predictions and returns a table of pass
rates."""


class Ground(NamedTuple):
    """What all contestants share: name of the shape, its model (for the peers, as loaded by transformers), and the
    settings for preparing LM Gym's model.
    """

    shape: str
    model: Any
    tokenizer: Any
    device: str = "cpu"
    packing: bool | None = None


def ours(ground: Ground, load: Workload) -> tuple[dict[str, Method], list[str]]:
    """Return LM Gym's methods (all tokens; needed tokens; the whole call, for suites) for the model, prepared
    as if LM Gym had loaded it, and the notes of that preparation. Modifies the model of `ground`.
    """
    import torch

    import lmgym
    from lmgym.models.backends.base import ModelFacts
    from lmgym.models.backends.causal import CausalBackend
    from lmgym.models.backends.masked import MaskedBackend
    from lmgym.models.backends.tuning import prepare, prepare_masked
    from lmgym.models.engine import ScoringPolicy
    from lmgym.models.given import LoadedModel

    device, model, tokenizer = torch.device(ground.device), ground.model, ground.tokenizer
    packing = ground.packing
    facts = ModelFacts(
        parameters=sum(parameter.numel() for parameter in model.parameters()),
        vocabulary_size=len(tokenizer),
        tokenizer="",
        context_length=512,
        bos=tokenizer.bos_token,
        eos=tokenizer.eos_token,
        dtype="float32",
        device=ground.device,
        revision="",
        fingerprint="",
    )
    backend: Any
    if ground.shape == "bert":
        runner, rows = prepare_masked(
            model, device, reload=lambda: model, mask_id=tokenizer.mask_token_id, packing=packing
        )
        backend = MaskedBackend(runner, tokenizer, facts=facts, method="original", rows=rows)
    else:
        runner = prepare(model, device, reload=lambda: model, packing=packing)
        backend = CausalBackend(runner, tokenizer, facts=facts)
    policy = ScoringPolicy()
    methods: dict[str, Method] = {
        ALL: lambda: backend.score(load.texts, policy),
        NEEDED: lambda: backend.score(load.texts, policy, load.needed),
    }
    if load.documents:
        loaded = LoadedModel("model", "masked" if ground.shape == "bert" else "causal", backend)
        methods[WHOLE] = lambda: lmgym.evaluate(load.documents, loaded, policy=policy).rates()
    return methods, runner.notes


def second(ground: Ground) -> Ground:
    """Return `ground` with a copy of the model."""
    return ground._replace(model=copy.deepcopy(ground.model))


def peer(name: str, ground: Ground, load: Workload) -> tuple[str, Method]:
    """Return a peer's name in tables, and its method. `name`: such as minicons-16 or lm-eval-64."""
    kind, size = name.rsplit("-", 1)
    if kind == "minicons":
        return f"minicons, batch {size}", minicons(ground, load, int(size))
    return f"lm-eval HFLM, batch {size}", lm_eval(ground, load, int(size))


def minicons(ground: Ground, load: Workload, size: int) -> Method:
    """Return a method that runs minicons in batches of `size`: token_score, with its `original` PLL for
    masked models."""
    from minicons import scorer

    tokenizer = ground.tokenizer
    if ground.shape == "bert":
        if not hasattr(tokenizer, "batch_encode_plus"):  # removed in transformers 5; minicons 0.3.39 calls it
            tokenizer.batch_encode_plus = lambda texts, **named: tokenizer(texts, **named)
        gaps = scorer.MaskedLMScorer(ground.model, ground.device, tokenizer=tokenizer)
        return lambda: [
            gaps.token_score(load.texts[at : at + size], surprisal=True, PLL_metric="original")
            for at in range(0, len(load.texts), size)
        ]
    plain = scorer.IncrementalLMScorer(ground.model, ground.device, tokenizer=tokenizer)

    def run() -> Any:
        results: list[Any] = []
        for at in range(0, len(load.texts), size):
            results += plain.token_score(load.texts[at : at + size], bos_token=True, surprisal=True)
        return results

    return run


def lm_eval(ground: Ground, load: Workload, size: int) -> Method:
    """Return a method that runs lm-eval's HFLM, which gives only sums per sentence."""
    logging.disable(logging.WARNING)
    from lm_eval.api.instance import Instance
    from lm_eval.models.huggingface import HFLM

    harness = HFLM(
        pretrained=ground.model,
        tokenizer=ground.tokenizer,
        batch_size=size,
        device=ground.device,
        backend="causal",
    )
    requests = [
        Instance(request_type="loglikelihood", doc={}, arguments=("", text), idx=at)
        for at, text in enumerate(load.texts)
    ]
    return lambda: harness.loglikelihood(requests, disable_tqdm=True)
