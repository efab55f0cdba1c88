"""Run the benchmark, or print recorded results: `make bench-engine`, or python -m benchmarks.engine --help."""

from __future__ import annotations

import argparse
import gc
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.engine import exact, measure, methods, record, report, shapes, workload
from benchmarks.engine.methods import ALL, NEEDED, WHOLE, Ground

PACKING = {"measured": None, "yes": True, "no": False}
PEERS = ["minicons-16", "minicons-64", "lm-eval-16", "lm-eval-64"]
BLIMP_SHAPE = "gpt2"


def main() -> None:
    options = parse()
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    if options.action == "report":
        print(report.report(options.results))
        return
    import torch

    torch.set_num_threads(options.threads)
    for part in options.parts:
        if options.only:
            peak_of(part, options)
        else:
            run(part, options)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.engine")
    parser.add_argument("action", nargs="?", default="run", choices=["run", "report"])
    parser.add_argument(
        "--parts",
        nargs="+",
        default=["gpt2", "llama", "neox", "opt", "bert", "blimp"],
        choices=[*shapes.SHAPES, "blimp"],
        help="model shapes over the suites; blimp: GPT-2 small over 134,000 generated sentences",
    )
    parser.add_argument(
        "--measure", nargs="+", default=["times", "peak", "exact"], choices=["times", "peak", "exact"]
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--add", action="store_true", help="add rounds to the record instead of replacing it")
    parser.add_argument("--results", type=Path, default=record.RESULTS, help="folder for the results")
    parser.add_argument("--suites", type=int, help="use only this many suites, from the first")
    parser.add_argument(
        "--bert-sentences",
        type=int,
        default=120,
        help="number of sentences for BERT, evenly spread, for all contestants",
    )
    parser.add_argument(
        "--paradigms", type=int, default=workload.PARADIGMS, help="blimp: number of complete paradigms"
    )
    parser.add_argument(
        "--peer-sentences",
        type=int,
        default=134_000,
        help="blimp: number of sentences that the peers score; their times are extrapolated",
    )
    parser.add_argument("--peers", nargs="*", default=PEERS)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--clock", choices=["wall", "cpu"], default="wall", help="cpu needs --threads 1")
    parser.add_argument("--packing", choices=list(PACKING), default="measured")
    parser.add_argument("--device", default="cpu", help="cpu or cuda:0")
    parser.add_argument("--dtype", default="float32", choices=["float32", "bfloat16", "float16"])
    parser.add_argument("--only", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.clock == "cpu" and options.threads != 1:
        parser.error("processor time is comparable only with --threads 1")
    if options.dtype != "float32" and options.device == "cpu":
        parser.error("half types are for GPUs here")
    return options


def load_of(part: str, options: argparse.Namespace) -> tuple[workload.Workload, workload.Workload, Any]:
    """Return LM Gym's load, the peers' load, and the tokenizer. A load's name states what was left out."""
    if part == "blimp":
        full_load = workload.blimp_shaped()
        tokenizer = workload.tokenizer(full_load.texts)
        chosen = set(workload.spread(workload.PARADIGMS, options.paradigms))
        indices = [at for at, group in enumerate(full_load.groups) if group in chosen]
        few = workload.spread(len(indices), options.peer_sentences, together=2)
        ours = workload.part_of(full_load, indices)
        return ours, workload.part_of(ours, few), tokenizer
    load = workload.published(most=options.suites)
    tokenizer = workload.tokenizer(load.texts, gaps=part == "bert", vocabulary=shapes.tokenizer_size(part))
    if part == "bert":
        chosen_few = workload.spread(len(load.texts), options.bert_sentences)
        load = workload.part_of(
            load, chosen_few, f"every {len(load.texts) // len(chosen_few)}th sentence of {load.name}"
        )
    return load, load, tokenizer


def run(part: str, options: argparse.Namespace) -> None:
    """Measure one part, saving the record after every step."""
    load, sample, tokenizer = load_of(part, options)
    full_load = workload.blimp_shaped() if part == "blimp" else load
    tokens = measure.token_count(tokenizer, full_load.texts)
    facts = measure.machine(options.device, options.threads)
    made = {
        "facts": facts,
        "machine": facts["machine"],
        "load": load.name,
        "sentences": len(full_load.texts),
        "tokens": tokens,
        "clock": options.clock,
        "dtype": options.dtype,
    }
    part_record = record.begin(options.results, part, made, add=options.add)
    shape = BLIMP_SHAPE if part == "blimp" else part
    model = shapes.build(shape, options.device, options.dtype)
    ground = Ground(shape, model, tokenizer, options.device, PACKING[options.packing])
    methods_by_name, notes = contestants(ground, load, sample, options)
    part_record["notes"] = notes
    if part == "blimp":
        shares = {
            name: measure.token_count(tokenizer, (load if name in (ALL, NEEDED) else sample).texts) / tokens
            for name in methods_by_name
        }
        part_record["shares"] = {name: share for name, share in shares.items() if share < 1}
        part_record["planning"] = planning(full_load, tokenizer)
    if "times" in options.measure:
        times(part_record, ground, load, methods_by_name, options)
    if "exact" in options.measure and options.device == "cpu":
        part_record["exact"] = exact.accuracy(ground, part, load, options.suites)
        record.save(options.results, part_record)
    if "peak" in options.measure and part != "blimp" and options.device == "cpu":
        part_record["peak_mb"] = {name: fresh(part, name, options) for name in methods_by_name}
        record.save(options.results, part_record)
    print(report.part(part_record), flush=True)


def contestants(
    ground: Ground, load: workload.Workload, sample: workload.Workload, options: argparse.Namespace
) -> tuple[dict[str, methods.Method], list[str]]:
    """Return all contestants, and LM Gym's notes. Peers get the model as loaded by transformers; LM Gym gets
    a second copy, prepared as if LM Gym had loaded it.
    """
    methods_by_name = dict(
        methods.peer(name, ground, sample)
        for name in options.peers
        if ground.shape != "bert" or not name.startswith("lm-eval")
    )
    own_methods, notes = methods.ours(methods.second(ground), load)
    return methods_by_name | own_methods, notes


def times(
    part_record: record.Record,
    ground: Ground,
    load: workload.Workload,
    methods_by_name: dict[str, methods.Method],
    options: argparse.Namespace,
) -> None:
    """Time all contestants in turn, round after round."""
    clock = time.process_time if options.clock == "cpu" else time.perf_counter
    wait = waiter(ground.device)
    share = part_record.get("shares", {})
    rate = measure.product_rate(ground.device, options.dtype, clock)
    for turn in range(options.rounds):
        for name, method in methods_by_name.items():
            gc.collect()
            wait()
            start = clock()
            method()
            wait()
            part_record["seconds"].setdefault(name, []).append(clock() - start)
            print(
                f"  {part_record['part']} {turn + 1} {name}: {part_record['seconds'][name][-1]:.2f} s",
                file=sys.stderr,
                flush=True,
            )
        rate = max(rate, measure.product_rate(ground.device, options.dtype, clock))
        part_record["rate"] = max(rate, part_record.get("rate", 0.0))
        least = measure.work(ground, load)
        part_record["floor"] = {
            name: flops / part_record["rate"] / share.get(name, 1.0) for name, flops in least.items()
        }
        record.save(options.results, part_record)


def waiter(device: str) -> Any:
    """Return a function that waits until the device has finished its work."""
    import torch

    return torch.cuda.synchronize if device.startswith("cuda") else lambda: None


def planning(load: workload.Workload, tokenizer: Any) -> dict[str, float]:
    """Time the tokenization of all sentences, and the planning of their prefix trees, in seconds."""
    from lmgym.models.engine.forest import grow

    start = time.perf_counter()
    ids = tokenizer(load.texts, add_special_tokens=False)["input_ids"]
    middle = time.perf_counter()
    forest = grow(ids)
    assert np.all(forest.end > 0)
    return {"tokenize": middle - start, "forest": time.perf_counter() - middle}


def fresh(part: str, name: str, options: argparse.Namespace) -> int:
    """Measure the peak memory in MB of one contestant in a separate process."""
    arguments = [word for word in sys.argv[1:] if word != "run"]
    command = [sys.executable, "-m", "benchmarks.engine", *arguments, "--parts", part, "--only", name]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{name} failed in a separate process:\n{done.stderr[-2000:]}")
    return int(done.stdout.strip().splitlines()[-1])


def peak_of(part: str, options: argparse.Namespace) -> None:
    """Score once with one contestant and print the process's peak memory."""
    load, _, tokenizer = load_of(part, options)
    ground = Ground(part, shapes.build(part), tokenizer, packing=PACKING[options.packing])
    if options.only in (ALL, NEEDED, WHOLE):
        method = methods.ours(ground, load)[0][options.only]
    else:
        short = options.only.replace(", batch ", "-").replace("lm-eval HFLM", "lm-eval")
        method = methods.peer(short, ground, load)[1]
    method()
    print(measure.peak_mb())


if __name__ == "__main__":
    main()
