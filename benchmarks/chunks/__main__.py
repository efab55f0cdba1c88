"""Cost of splitting a run into chunks: prefixes shared by several chunks are computed repeatedly.

    GYM_CONFORMANCE_DIR=… .venv/bin/python -m benchmarks.chunks [--suites 6] [--repeats 3]

Scores each published suite as a separate run with a model of GPT-2-small shape (random weights, fixed seed):
in the former chunks of 64 sentences, in the current chunks, and as a whole. Counts positions that the model's
body computes, and times the scoring of a run (without a database). Prints the table of docs/performance.md.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.engine.shapes import build
from benchmarks.engine.workload import Workload, published, tokenizer
from lmgym.models.backends import load_backend
from lmgym.models.engine import ScoringPolicy
from lmgym.runs.chunks import chunk_characters, plan_chunks

OLD, NEW, WHOLE = "64 sentences each (before)", "today's", "whole suite"


def texts_by_suite(load: Workload) -> list[list[str]]:
    texts: dict[int, list[str]] = {}
    for group, text in zip(load.groups, load.texts, strict=True):
        texts.setdefault(group, []).append(text)
    return list(texts.values())


def plans(texts: list[str], parameters: int) -> dict[str, list[list[int]]]:
    everything = sum(map(len, texts)) + len(texts)
    return {
        OLD: plan_chunks(texts, everything, 64),
        NEW: plan_chunks(texts, chunk_characters(parameters)),
        WHOLE: plan_chunks(texts, everything),
    }


def positions(chunks: list[list[str]], split: Any) -> int:
    """Sum, over the chunks, the distinct token prefixes that have a continuation: the positions that a prefix
    tree computes.
    """
    total = 0
    for chunk in chunks:
        rows = split(chunk, add_special_tokens=False)["input_ids"]
        total += len({tuple(row[:end]) for row in rows for end in range(len(row))})
    return total


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--suites", type=int, default=6, help="suites to time; positions are counted for all")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    load = published()
    suites = texts_by_suite(load)
    split = tokenizer(load.texts)
    with tempfile.TemporaryDirectory() as folder:
        build("gpt2").save_pretrained(Path(folder) / "model")
        split.save_pretrained(Path(folder) / "model")
        config = {"source": "directory", "path": "model"}
        backend = load_backend("causal", config, model_dir=Path(folder), hub_allowed=False)
    parameters = backend.facts.parameters or 0
    counts: dict[str, int] = {}
    numbers: dict[str, int] = {}
    for texts in suites:
        for name, chunks in plans(texts, parameters).items():
            numbers[name] = numbers.get(name, 0) + len(chunks)
            counts[name] = counts.get(name, 0) + positions(
                [[texts[k] for k in chunk_indices] for chunk_indices in chunks], split
            )
    times: dict[str, list[float]] = {name: [] for name in counts}
    for _ in range(options.repeats):
        for name in counts:
            start = time.perf_counter()
            for texts in suites[: options.suites]:
                for chunk in plans(texts, parameters)[name]:
                    backend.score([texts[k] for k in chunk], ScoringPolicy())
            times[name].append(time.perf_counter() - start)
    cores = len(os.sched_getaffinity(0))
    print(
        f"{platform.machine()}, {cores} cores; {len(suites)} suites, {len(load.texts):,} sentences; ", end=""
    )
    print(f"seconds for {options.suites} of them, median of {options.repeats}\n")
    print("| chunks | how many | positions | s |\n|---|---|---|---|")
    for name, chunk_indices in times.items():
        print(f"| {name} | {numbers[name]} | {counts[name]:,} | {statistics.median(chunk_indices):.2f} |")


if __name__ == "__main__":
    main()
