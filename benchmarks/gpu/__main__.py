"""Check, test and measure a GPU in steps, and write tables: python -m benchmarks.gpu --help."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.gpu import environment

SPARE = 10
"""Seconds reserved for writing the results."""


def main() -> int:
    options = parse()
    if options.action == "prepare":
        environment.prepare(options.out, options.python, options.suites, options.more)
        return 0
    until = time.monotonic() + options.seconds
    options.out.mkdir(parents=True, exist_ok=True)
    site = Path(tempfile.gettempdir()) / "gpu-packages"
    print(environment.install(options.wheels, site), flush=True)
    env = environment.environment(site, options.suites)
    sys.path.insert(1, str(site))
    facts = environment.facts(options.device, env)
    absent = environment.missing()
    print(f"{facts}\nabsent: {', '.join(absent) or 'nothing'}", flush=True)
    from benchmarks.gpu import report, steps

    results: dict[str, Any] = {"facts": facts, "steps": earlier(options, facts)}
    for step in steps.steps(options.device, options.small):
        old = results["steps"].get(step.key, {})
        if step.part not in options.parts or (old.get("state") == "passed" and not options.again):
            continue
        left = until - time.monotonic() - SPARE
        if step.package and not environment.is_there(step.package):
            result = {"part": step.part, "state": "skipped", "why": f"{step.package} is not installed"}
        elif left < min(step.seconds, 30):
            result = {"part": step.part, "state": "later"}
        else:
            with tempfile.TemporaryDirectory() as work:
                limit = min(step.seconds * options.patience, left)
                result = steps.run(step, Path(work), env, limit, options.out / "log.txt")
        results["steps"][step.key] = result
        print(f"{step.key}: {result['state']} {result.get('seconds', '')}", flush=True)
        (options.out / "results.json").write_text(json.dumps(results, indent=1) + "\n")
        (options.out / "report.md").write_text(report.report(results))
    print(report.report(results))
    return int(any(result["state"] in ("failed", "timeout") for result in results["steps"].values()))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu")
    parser.add_argument("action", nargs="?", default="run", choices=["run", "prepare"])
    parser.add_argument(
        "--device", default="cuda:0", help="cuda:0, or cpu to try the same code with small models"
    )
    parser.add_argument(
        "--out", type=Path, required=True, help="folder for results.json, report.md and log.txt"
    )
    parts = ["correct", "robust", "fast", "site"]
    parser.add_argument("--parts", nargs="+", default=parts, choices=parts)
    parser.add_argument(
        "--earlier", type=Path, help="a results.json; steps that passed there on the same GPU are skipped"
    )
    parser.add_argument("--again", action="store_true", help="also run steps that passed earlier")
    parser.add_argument(
        "--seconds",
        type=float,
        default=570,
        help="time limit of this call; steps that would exceed it are not started",
    )
    parser.add_argument("--patience", type=float, default=1.0, help="factor for the time limits of steps")
    parser.add_argument("--wheels", type=Path, help="folder of wheels for missing packages")
    parser.add_argument("--suites", type=Path, help="folder with the published suites (GYM_CONFORMANCE_DIR)")
    parser.add_argument("--python", default="3.12", help="prepare: the Python of the machine with the GPU")
    parser.add_argument("--more", nargs="*", default=[], help="prepare: further packages, NAME==VERSION")
    options = parser.parse_args()
    options.small = not options.device.startswith("cuda")
    return options


def earlier(options: argparse.Namespace, facts: dict[str, Any]) -> dict[str, Any]:
    """Return the steps of an earlier call, from `--earlier` or else the output folder; {} if there is none or
    it used another GPU. Each step names the commit it ran at.
    """
    path = options.earlier or options.out / "results.json"
    if not path.exists():
        return {}
    old = json.loads(path.read_text())
    if old["facts"].get("gpu") != facts.get("gpu"):
        print(f"{path} is from {old['facts'].get('gpu')}: all steps are run", flush=True)
        return {}
    steps_done: dict[str, Any] = old["steps"]
    return steps_done


if __name__ == "__main__":
    sys.exit(main())
