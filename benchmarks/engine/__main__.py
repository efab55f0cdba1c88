"""Run the benchmark: `make bench-engine`, or python -m benchmarks.engine --help. Prints a table in Markdown."""

from __future__ import annotations

import argparse
import copy
import gc
import os
import platform
import statistics
import subprocess
import sys
import time
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from benchmarks.engine import methods, shapes, workload
from benchmarks.engine.measure import accuracy, floor, peak_mb

PACKAGES = ("torch", "transformers", "tokenizers", "minicons", "lm-eval", "numpy")


def main() -> None:
    options = parse()
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    import torch

    torch.set_num_threads(options.threads)
    if options.only:
        peak_of(options)
        return
    describe(options)
    for shape in options.shapes:
        load = chosen(options)
        tokenizer = workload.tokenizer(load.texts, gaps=shape == "bert")
        compete(shape, load, tokenizer, options)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.engine")
    parser.add_argument("--shapes", nargs="+", default=["gpt2"], choices=[*shapes.CAUSAL, "bert"])
    parser.add_argument("--suites", type=int, help="only the first so many published suites")
    parser.add_argument("--blimp", type=float, help="the BLiMP-shaped load instead, at this scale")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--clock", choices=["wall", "cpu"], default="wall", help="cpu needs --threads 1")
    parser.add_argument("--packing", choices=["measured", "yes", "no"], default="measured")
    parser.add_argument("--peers", nargs="*", default=["minicons-16", "minicons-64", "lm-eval-64"])
    parser.add_argument("--exact", type=int, default=64, help="sentences to compare with float64")
    parser.add_argument("--no-peak", action="store_true", help="do not measure memory in fresh processes")
    parser.add_argument("--only", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.clock == "cpu" and options.threads != 1:
        parser.error("processor time is comparable only with --threads 1")
    return options


def chosen(options: argparse.Namespace) -> workload.Workload:
    if options.blimp is not None:
        return workload.blimp_shaped(options.blimp)
    return workload.published(most=options.suites)


def describe(options: argparse.Namespace) -> None:
    import torch

    found = []
    for package in PACKAGES:
        try:
            found.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            found.append(f"{package} absent")
    with open("/proc/cpuinfo") as table:
        cpu = next((row.split(":")[1].strip() for row in table if "model name" in row), "?")
    print(f"{time.strftime('%Y-%m-%d')}, {cpu}, {options.threads} thread(s), {options.clock} time")
    print(
        f"python {platform.python_version()}, {', '.join(found)}; {torch.__config__.parallel_info().splitlines()[0]}"
    )


def contestants(
    shape: str, load: workload.Workload, tokenizer: Any, options: argparse.Namespace
) -> tuple[dict[str, methods.Method], list[str], Any]:
    """Peers get the model as transformers makes it; ours is a second copy, prepared as at load."""
    model = shapes.build(shape)
    found: dict[str, methods.Method] = {}
    for peer in options.peers:
        name, size = peer.rsplit("-", 1)
        if name == "minicons":
            found[f"minicons, batch {size}"] = methods.minicons(shape, model, tokenizer, load, int(size))
        elif shape != "bert":
            found[f"lm-eval HFLM, batch {size}"] = methods.lm_eval(model, tokenizer, load, int(size))
    packing = {"measured": None, "yes": True, "no": False}[options.packing]
    own, notes = methods.ours(shape, copy.deepcopy(model), tokenizer, load, packing)
    return found | own, notes, model


def compete(shape: str, load: workload.Workload, tokenizer: Any, options: argparse.Namespace) -> None:
    """One table: all contestants in turn, round after round."""
    found, notes, model = contestants(shape, load, tokenizer, options)
    clock = time.process_time if options.clock == "cpu" else time.perf_counter
    times: dict[str, list[float]] = {name: [] for name in found}
    for turn in range(options.repeats):
        for name, run in found.items():
            gc.collect()
            start = clock()
            run()
            times[name].append(clock() - start)
            print(f"  {shape} round {turn + 1} {name}: {times[name][-1]:.2f} s", file=sys.stderr, flush=True)
    tokens = sum(map(len, tokenizer(load.texts, add_special_tokens=False)["input_ids"]))
    medians = {name: statistics.median(values) for name, values in times.items()}
    best = min((value for name, value in medians.items() if name.startswith("minicons")), default=None)
    print(f"\n### {shape}: {load.name}, {len(load.texts):,} sentences, {tokens:,} tokens\n")
    print("| method | median s | spread s | tokens/s | vs minicons' best | to the floor | peak MB |")
    print("|---|---|---|---|---|---|---|")
    floors = {} if shape == "bert" else floor(model, tokenizer, load, clock)
    for name, value in medians.items():
        ratio = f"{best / value:.2f}" if best else ""
        low = f"{value / floors[name]:.2f}" if name in floors else ""
        spread = f"{min(times[name]):.2f}-{max(times[name]):.2f}"
        peak = "" if options.no_peak else fresh(shape, name, options)
        print(
            f"| {name} | {value:.2f} | {spread} | {tokens / value:,.0f} | {ratio} | {low} | {peak} |",
            flush=True,
        )
    for note in notes:
        print(f"* {note}")
    if shape != "bert" and options.exact:
        print(accuracy(model, tokenizer, load, found["lm gym, all tokens"], options.exact))


def fresh(shape: str, name: str, options: argparse.Namespace) -> str:
    """Peak memory of one contestant in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.engine", *sys.argv[1:], "--shapes", shape, "--only", name]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip().splitlines()[-1] if done.returncode == 0 else "failed"


def peak_of(options: argparse.Namespace) -> None:
    """Score once with one contestant and print the process's peak memory."""
    shape, load = options.shapes[0], chosen(options)
    tokenizer = workload.tokenizer(load.texts, gaps=shape == "bert")
    if options.only.startswith("lm gym"):
        packing = {"measured": None, "yes": True, "no": False}[options.packing]
        run = methods.ours(shape, shapes.build(shape), tokenizer, load, packing)[0][options.only]
    else:
        options.peers = [options.only.replace(", batch ", "-").replace("lm-eval HFLM", "lm-eval")]
        name, size = options.peers[0].rsplit("-", 1)
        make = methods.minicons if name == "minicons" else None
        model = shapes.build(shape)
        run = (
            make(shape, model, tokenizer, load, int(size))
            if make
            else methods.lm_eval(model, tokenizer, load, int(size))
        )
    run()
    print(peak_mb())


main()
