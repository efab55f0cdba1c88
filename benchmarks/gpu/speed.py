"""Speed and memory of a loaded model that scores the suites, compared with vLLM's prompt_logprobs.

A step of `benchmarks.gpu`: python -m benchmarks.gpu.speed --help.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from itertools import groupby
from pathlib import Path
from typing import Any

from benchmarks.engine import measure, shapes, workload
from benchmarks.engine.methods import ALL, NEEDED, Ground
from benchmarks.engine.workload import Workload

ROUNDS = 3
GOAL_SECONDS = 2.0
GOAL_SHARE = 0.6
Values = dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu.speed")
    parser.add_argument("what", choices=["load", "vllm"])
    parser.add_argument("--shape", default="gpt2", choices=shapes.CAUSAL)
    parser.add_argument("--dtype", default="float32", choices=["float32", "bfloat16", "float16"])
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--small", action="store_true", help="two layers, one suite")
    parser.add_argument("--to", type=Path, required=True, help="the JSON file to write")
    options = parser.parse_args()
    load = workload.published(most=1 if options.small else None)
    size = 1_500 if options.small else shapes.tokenizer_size(options.shape)
    tokenizer = workload.tokenizer(load.texts, vocabulary=size)
    with tempfile.TemporaryDirectory() as root:
        folder = Path(root) / options.shape
        made = shapes.build(options.shape, options.device, options.dtype, small=options.small)
        made.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        del made
        values = (ours if options.what == "load" else by_vllm)(folder, options, load)
    options.to.write_text(json.dumps(values, indent=1) + "\n")
    print(json.dumps(values, indent=1))


def ours(folder: Path, options: argparse.Namespace, load: Workload) -> Values:
    """Load the model as a worker does. Then measure: all suites twice, one call per suite as in runs; all sentences in
    one call, compared with the rate of the fastest matrix product; and memory in addition to the weights.
    """
    import torch

    from lmgym.models.backends import load_backend
    from lmgym.models.engine import ScoringPolicy

    gpu = options.device.startswith("cuda")
    wait = torch.cuda.synchronize if gpu else lambda: None
    config = {"source": "directory", "path": folder.name, "device": options.device, "dtype": options.dtype}
    config["kernels"] = "stock"  # packed layers, which only CPUs have, do not report their FLOPs
    if gpu:
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
    started = time.perf_counter()
    backend: Any = load_backend("causal", config, model_dir=folder.parent, hub_allowed=False)
    values: Values = {
        "model": backend.facts.architecture,
        "device": backend.facts.device,
        "dtype": backend.facts.dtype,
    }
    values |= {"parameters": backend.facts.parameters, "load, s": round(time.perf_counter() - started, 2)}
    values |= {f"note {at}": note for at, note in enumerate(backend.facts.notes, start=1)}
    policy, suites = ScoringPolicy(), by_suite(load)
    if gpu:
        torch.cuda.empty_cache()
        values["memory while loading, GB"] = _gb(torch.cuda.max_memory_allocated())
        torch.cuda.reset_peak_memory_stats()
    first = timed(lambda: [backend.score(texts, policy) for texts, _ in suites], wait)
    twice = timed(lambda: [backend.score(texts, policy) for texts, _ in suites * 2], wait, ROUNDS)
    needed = timed(
        lambda: [backend.score(*suite[:1], policy, suite[1]) for suite in suites * 2], wait, ROUNDS
    )
    once = timed(lambda: backend.score(load.texts, policy), wait, ROUNDS)
    tokens = measure.token_count(backend._tokenizer, load.texts)
    values |= {
        "suites": len(suites),
        "sentences": len(load.texts),
        "tokens": tokens,
        "first pass, s": first,
        f"the suites twice, s (goal {GOAL_SECONDS:g})": twice,
        "the suites twice, needed tokens, s": needed,
        "all sentences in one call, s": once,
        "tokens/s in one call": round(tokens / once),
    }
    if gpu:
        weights = sum(part.numel() * part.element_size() for part in backend._runner.model.parameters())
        values |= {
            "weights, GB": _gb(weights),
            "memory while scoring, GB": _gb(torch.cuda.max_memory_allocated()),
            "kept by torch, GB": _gb(torch.cuda.max_memory_reserved()),
        }
    return values | _share(backend, options, load, once)


def _share(backend: Any, options: argparse.Namespace, load: Workload, seconds: float) -> Values:
    """Return the rate of the fastest matrix product, the work that all tokens and the needed tokens require,
    and the share of that rate that one call of `seconds` reaches.
    """
    with backend.exclusive() as (runner, tokenizer):
        ground = Ground(options.shape, runner.model, tokenizer, options.device)
        flops = measure.work(ground, load)
    dtype = backend.facts.dtype
    rate = measure.product_rate(options.device, dtype, time.perf_counter)
    return {
        "best matrix product, TFLOP/s": round(rate / 1e12, 2),
        "needed work, TFLOP": round(flops[ALL] / 1e12, 3),
        "needed tokens' work, TFLOP": round(flops[NEEDED] / 1e12, 3),
        f"share of the product's rate (goal {GOAL_SHARE:g})": round(flops[ALL] / seconds / rate, 3),
    }


def by_suite(load: Workload) -> list[tuple[list[str], list[list[tuple[int, int]]]]]:
    """Return texts and needed ranges of each suite."""
    rows = zip(load.groups, load.texts, load.needed, strict=True)
    grouped = [list(suite_rows) for _, suite_rows in groupby(rows, key=lambda row: row[0])]
    return [([row[1] for row in suite_rows], [row[2] for row in suite_rows]) for suite_rows in grouped]


def timed(work: Callable[[], Any], wait: Callable[[], Any], rounds: int = 1) -> float:
    """Return the median seconds, waiting for the device to finish."""
    seconds = []
    for _ in range(rounds):
        wait()
        started = time.perf_counter()
        work()
        wait()
        seconds.append(time.perf_counter() - started)
    return round(statistics.median(seconds), 4)


def _gb(count: float) -> float:
    return round(count / 1e9, 3)


def by_vllm(folder: Path, options: argparse.Namespace, load: Workload) -> Values:
    """Score the distinct sentences with a start token, all in one call, after two calls to warm up."""
    import vllm
    from transformers import AutoTokenizer

    tokenizer: Any = AutoTokenizer.from_pretrained(folder)
    texts = list(dict.fromkeys(load.texts))
    rows = tokenizer(texts, add_special_tokens=False)["input_ids"]
    prompts = [{"prompt_token_ids": [tokenizer.bos_token_id, *ids]} for ids in rows]
    model = vllm.LLM(
        model=str(folder), dtype=options.dtype, gpu_memory_utilization=0.5, enable_prefix_caching=False
    )
    sampling = vllm.SamplingParams(max_tokens=1, temperature=0.0, prompt_logprobs=0)

    def score() -> None:
        model.generate(prompts, sampling, use_tqdm=False)

    score()
    score()
    seconds = timed(score, lambda: None, ROUNDS)
    tokens = sum(map(len, rows))
    return {
        "version": vllm.__version__,
        "dtype": options.dtype,
        "distinct sentences": len(texts),
        "tokens": tokens,
        "all sentences in one call, s": seconds,
        "tokens/s in one call": round(tokens / seconds),
    }


if __name__ == "__main__":
    main()
