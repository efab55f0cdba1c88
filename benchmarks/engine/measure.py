"""Measurements other than time: the machine, the floor (the least work needed), peak memory."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from benchmarks.engine.methods import ALL, NEEDED, Ground
from benchmarks.engine.workload import Workload

PACKAGES = ("torch", "transformers", "tokenizers", "minicons", "lm-eval", "numpy")


def machine(device: str, threads: int) -> dict[str, str]:
    """Describe the machine and the software."""
    import torch

    facts = {"date": time.strftime("%Y-%m-%d"), "python": platform.python_version()}
    for package in PACKAGES:
        try:
            facts[package] = version(package)
        except PackageNotFoundError:
            facts[package] = "absent"
    with open("/proc/cpuinfo") as table:
        cpu = next((row.split(":")[1].strip() for row in table if "model name" in row), "?")
    with open("/proc/cpuinfo") as table:
        wide = " with AVX-512" if "avx512f" in table.read() else ""
    where = torch.cuda.get_device_name() if device.startswith("cuda") else f"{cpu}{wide}, {threads} threads"
    return facts | {"machine": where}


def token_count(tokenizer: Any, texts: list[str]) -> int:
    return sum(map(len, tokenizer(texts, add_special_tokens=False)["input_ids"]))


def work(ground: Ground, load: Workload) -> dict[str, float]:
    """Return the FLOPs of the least work, for all tokens and for the needed ones: every distinct prefix (for
    masked models, every distinct masked copy) once, and every required vocabulary row once.
    """
    model = ground.model
    head = model.get_output_embeddings().weight.numel()
    named = sum({id(part): part.numel() for part in model.parameters() if part.dim() == 2}.values())
    tables = sum(
        part.weight.numel()
        for part in model.modules()
        if type(part).__name__.endswith("Embedding") and hasattr(part, "weight")
    )
    tied = model.get_output_embeddings().weight is model.get_input_embeddings().weight
    body = named - tables - (0 if tied else head)
    count = _masked_work if ground.shape == "bert" else _tree_work
    return {
        name: 2.0 * (body * positions + head * rows)
        for name, (positions, rows) in count(ground.tokenizer, load).items()
    }


def _tree_work(tokenizer: Any, load: Workload) -> dict[str, tuple[int, int]]:
    from lmgym.models.engine.forest import grow
    from lmgym.models.engine.plan import needed_tokens

    batch = tokenizer(load.texts, add_special_tokens=False, return_offsets_mapping=True)
    ids = [[tokenizer.bos_token_id, *row] for row in batch["input_ids"]]
    offsets = [[(0, 0), *row] for row in batch["offset_mapping"]]
    needs = [needed_tokens(row, spans) for row, spans in zip(offsets, load.needed, strict=True)]
    work_by_name = {}
    for name, needed in ((ALL, None), (NEEDED, needs)):
        forest = grow(ids, needed)
        work_by_name[name] = (len(forest.token), len(np.unique(forest.edge_node)))
    return work_by_name


def _masked_work(tokenizer: Any, load: Workload) -> dict[str, tuple[int, int]]:
    from lmgym.models.engine.masked import distinct_copies, masked_copies
    from lmgym.models.engine.plan import needed_tokens

    batch = tokenizer(load.texts, return_offsets_mapping=True, return_special_tokens_mask=True)
    ids, offsets = batch["input_ids"], batch["offset_mapping"]
    words = [[-1 if odd else at for at, odd in enumerate(row)] for row in batch["special_tokens_mask"]]
    needs = [needed_tokens(row, spans) for row, spans in zip(offsets, load.needed, strict=True)]
    work_by_name = {}
    for name, needed in ((ALL, [[True] * len(row) for row in ids]), (NEEDED, needs)):
        inputs, _ = distinct_copies(ids, masked_copies(words, needed, "original"), tokenizer.mask_token_id)
        work_by_name[name] = (sum(len(copy.ids) for copy in inputs), len(inputs))
    return work_by_name


def product_rate(device: str, dtype: str, clock: Callable[[], float]) -> float:
    """Return the FLOP per second of the fastest matrix product: on a CPU, of the body's shape, stock or
    packed, with 128 to 512 rows; on a GPU, of 8,192 x 8,192 matrices."""
    import torch

    kind = getattr(torch, dtype)
    wait = torch.cuda.synchronize if device.startswith("cuda") else lambda: None
    best = 0.0
    sizes = (
        ((8192, 8192, 8192),) if device.startswith("cuda") else tuple((r, 768, 3072) for r in (128, 256, 512))
    )
    with torch.inference_mode():
        for rows, wide, out in sizes:
            x = torch.randn(rows, wide, device=device, dtype=kind)
            weight = torch.randn(out, wide, device=device, dtype=kind)
            runs: list[Callable[[], Any]] = [lambda x=x, w=weight: torch.nn.functional.linear(x, w)]  # type: ignore[misc]
            if device == "cpu":
                packed = torch.ops.mkldnn._reorder_linear_weight(weight, rows)
                runs.append(
                    lambda x=x, w=packed: torch.ops.mkldnn._linear_pointwise(x, w, None, "none", [], "")  # type: ignore[misc]
                )
            for run in runs:
                run()
                for _ in range(5):
                    wait()
                    start = clock()
                    for _ in range(8):
                        run()
                    wait()
                    best = max(best, 8 * 2 * rows * wide * out / (clock() - start))
    return best


def peak_mb() -> int:
    """Return the peak resident memory of this process in MB (Linux)."""
    with open("/proc/self/status") as status:
        row = next(line for line in status if line.startswith("VmHWM"))
    return int(row.split()[1]) // 1024
