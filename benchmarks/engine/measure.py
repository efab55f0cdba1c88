"""What is measured besides time: the floor, the difference from float64, peak memory."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.engine.methods import Method, one_by_one
from benchmarks.engine.workload import Workload


def floor(model: Any, tokenizer: Any, load: Workload, clock: Callable[[], float]) -> dict[str, float]:
    """Least seconds: FLOPs of the smallest set of positions and rows, at the rate of this machine's best
    product of the body's commonest shape (128 to 512 rows, stock or packed)."""
    from models_registry.engine.forest import grow
    from models_registry.engine.needs import needed_tokens

    batch = tokenizer(load.texts, add_special_tokens=False, return_offsets_mapping=True)
    ids = [[tokenizer.bos_token_id, *row] for row in batch["input_ids"]]
    offsets = [[(0, 0), *row] for row in batch["offset_mapping"]]
    needs = [needed_tokens(row, spans) for row, spans in zip(offsets, load.needed, strict=True)]
    head = model.get_output_embeddings().weight.numel()
    named = {id(part): part.numel() for part in model.parameters() if part.dim() == 2}
    tables = sum(
        part.weight.numel()
        for part in model.modules()
        if type(part).__name__.endswith("Embedding") and hasattr(part, "weight")
    )
    body = sum(named.values()) - tables - (0 if head_is_tied(model) else head)
    rate = product_rate(clock)
    seconds = {}
    for name, needed in (("lm gym, all tokens", None), ("lm gym, needed tokens", needs)):
        forest = grow(ids, needed)
        work = 2 * (body * len(forest.token) + head * len(np.unique(forest.edge_node)))
        seconds[name] = work / rate
    return seconds


def head_is_tied(model: Any) -> bool:
    return model.get_output_embeddings().weight is model.get_input_embeddings().weight


def product_rate(clock: Callable[[], float]) -> float:
    """fp32 FLOP per second."""
    import torch

    best = 0.0
    with torch.inference_mode():
        for rows in (128, 256, 512):
            x, weight = torch.randn(rows, 768), torch.randn(3072, 768)
            packed = torch.ops.mkldnn._reorder_linear_weight(weight, rows)
            for run in (
                lambda x=x, w=weight: torch.nn.functional.linear(x, w),
                lambda x=x, w=packed: torch.ops.mkldnn._linear_pointwise(x, w, None, "none", [], ""),
            ):
                run()
                for _ in range(5):
                    start = clock()
                    for _ in range(8):
                        run()
                    best = max(best, 8 * 2 * rows * weight.numel() / (clock() - start))
    return best


def accuracy(model: Any, tokenizer: Any, load: Workload, run: Method, most: int) -> str:
    """Largest and mean difference from float64 on every k-th sentence, ours and one sentence at a time."""
    chosen = np.linspace(0, len(load.texts) - 1, min(most, len(load.texts))).astype(int).tolist()
    few = Workload("", [load.texts[at] for at in chosen], [], [])
    exact = one_by_one(copy.deepcopy(model).double(), tokenizer, few)()
    single = one_by_one(model, tokenizer, few)()
    scores = run()
    ours = [scores[at].bits[1:] for at in chosen]
    rows = []
    for name, values in (("one sentence at a time, fp32", single), ("lm gym", ours)):
        gaps = np.abs(np.concatenate(values).astype(float) - np.concatenate(exact))
        rows.append(f"{name}: {gaps.max():.2g} bits at most, {gaps.mean():.2g} in the mean")
    return f"* Difference from float64 on {len(chosen)} sentences. {'; '.join(rows)}."


def peak_mb() -> int:
    """Peak resident memory of this process in MB (Linux)."""
    with open("/proc/self/status") as status:
        row = next(line for line in status if line.startswith("VmHWM"))
    return int(row.split()[1]) // 1024
