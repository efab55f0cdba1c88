"""Run the benchmark, or print what was recorded: `make bench-engine`, or python -m benchmarks.engine --help."""

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
    parser.add_argument(
        "--add", action="store_true", help="add to the recorded rounds instead of starting anew"
    )
    parser.add_argument("--results", type=Path, default=record.RESULTS, help="folder of the records")
    parser.add_argument("--suites", type=int, help="only the first so many suites")
    parser.add_argument("--bert-sentences", type=int, default=120, help="evenly spread; all contestants")
    parser.add_argument("--paradigms", type=int, default=workload.PARADIGMS, help="blimp: so many whole ones")
    parser.add_argument(
        "--peer-sentences",
        type=int,
        default=134_000,
        help="blimp: the peers score so many and are extrapolated",
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
    """What ours score, what the peers score, and the tokenizer. The load's name says what was left out."""
    if part == "blimp":
        whole = workload.blimp_shaped()
        tokenizer = workload.tokenizer(whole.texts)
        chosen = set(workload.spread(workload.PARADIGMS, options.paradigms))
        own = [at for at, group in enumerate(whole.groups) if group in chosen]
        few = workload.spread(len(own), options.peer_sentences, together=2)
        ours = workload.part_of(whole, own)
        return ours, workload.part_of(ours, few), tokenizer
    load = workload.published(most=options.suites)
    tokenizer = workload.tokenizer(load.texts, gaps=part == "bert")
    if part == "bert":
        chosen_few = workload.spread(len(load.texts), options.bert_sentences)
        load = workload.part_of(
            load, chosen_few, f"every {len(load.texts) // len(chosen_few)}th sentence of {load.name}"
        )
    return load, load, tokenizer


def run(part: str, options: argparse.Namespace) -> None:
    """Measure one part and record it after every step."""
    load, sample, tokenizer = load_of(part, options)
    whole = workload.blimp_shaped() if part == "blimp" else load
    tokens = measure.token_count(tokenizer, whole.texts)
    facts = measure.machine(options.device, options.threads)
    made = {
        "facts": facts,
        "machine": facts["machine"],
        "load": load.name,
        "sentences": len(whole.texts),
        "tokens": tokens,
        "clock": options.clock,
        "dtype": options.dtype,
    }
    one = record.begin(options.results, part, made, add=options.add)
    shape = BLIMP_SHAPE if part == "blimp" else part
    model = shapes.build(shape, options.device, options.dtype)
    ground = Ground(shape, model, tokenizer, options.device, PACKING[options.packing])
    found, notes = contestants(ground, load, sample, options)
    one["notes"] = notes
    if part == "blimp":
        shares = {
            name: measure.token_count(tokenizer, (load if name in (ALL, NEEDED) else sample).texts) / tokens
            for name in found
        }
        one["shares"] = {name: share for name, share in shares.items() if share < 1}
        one["planning"] = planning(whole, tokenizer)
    if "times" in options.measure:
        times(one, ground, load, found, options)
    if "exact" in options.measure and options.device == "cpu":
        one["exact"] = exact.accuracy(ground, part, load, options.suites)
        record.save(options.results, one)
    if "peak" in options.measure and part != "blimp" and options.device == "cpu":
        one["peak_mb"] = {name: fresh(part, name, options) for name in found}
        record.save(options.results, one)
    print(report.part(one), flush=True)


def contestants(
    ground: Ground, load: workload.Workload, sample: workload.Workload, options: argparse.Namespace
) -> tuple[dict[str, methods.Method], list[str]]:
    """Peers get the model as transformers makes it; ours is a second copy, prepared as at load."""
    found = dict(
        methods.peer(name, ground, sample)
        for name in options.peers
        if ground.shape != "bert" or not name.startswith("lm-eval")
    )
    own, notes = methods.ours(methods.second(ground), load)
    return found | own, notes


def times(
    one: record.Record,
    ground: Ground,
    load: workload.Workload,
    found: dict[str, methods.Method],
    options: argparse.Namespace,
) -> None:
    """All contestants in turn, round after round."""
    clock = time.process_time if options.clock == "cpu" else time.perf_counter
    wait = waiter(ground.device)
    share = one.get("shares", {})
    rate = measure.product_rate(ground.device, options.dtype, clock)
    for turn in range(options.rounds):
        for name, method in found.items():
            gc.collect()
            wait()
            start = clock()
            method()
            wait()
            one["seconds"].setdefault(name, []).append(clock() - start)
            print(
                f"  {one['part']} {turn + 1} {name}: {one['seconds'][name][-1]:.2f} s",
                file=sys.stderr,
                flush=True,
            )
        rate = max(rate, measure.product_rate(ground.device, options.dtype, clock))
        one["rate"] = max(rate, one.get("rate", 0.0))
        least = measure.work(ground, load)
        one["floor"] = {name: flops / one["rate"] / share.get(name, 1.0) for name, flops in least.items()}
        record.save(options.results, one)


def waiter(device: str) -> Any:
    """A function that waits until the device has done what it was given."""
    import torch

    return torch.cuda.synchronize if device.startswith("cuda") else lambda: None


def planning(load: workload.Workload, tokenizer: Any) -> dict[str, float]:
    """Seconds to tokenize all sentences and to plan their trees."""
    from lmgym.models.engine.forest import grow

    start = time.perf_counter()
    ids = tokenizer(load.texts, add_special_tokens=False)["input_ids"]
    middle = time.perf_counter()
    forest = grow(ids)
    assert np.all(forest.end > 0)
    return {"tokenize": middle - start, "forest": time.perf_counter() - middle}


def fresh(part: str, name: str, options: argparse.Namespace) -> int:
    """Peak memory in MB of one contestant in a process of its own."""
    own = [word for word in sys.argv[1:] if word != "run"]
    command = [sys.executable, "-m", "benchmarks.engine", *own, "--parts", part, "--only", name]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{name} failed in a process of its own:\n{done.stderr[-2000:]}")
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
