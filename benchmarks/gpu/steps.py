"""The steps of each part: a command for a separate process, its time limit, and how its result is read."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

SHAPES = ("gpt2", "gpt2-xl", "llama", "neox", "opt", "bert")
PARTS = ("correct", "robust", "fast", "site")
TAIL = 4_000

Result = dict[str, Any]


@dataclass(frozen=True)
class Step:
    """A step.

    Attributes:
        kind: key of the READERS function for its result.
        package: package without which the step is skipped; "" if none.
        peers: libraries to compare with, for kind "engine"; those that cannot be imported are left out.
    """

    part: str
    name: str
    words: tuple[str, ...]
    seconds: int
    kind: str = "json"
    package: str = ""
    peers: tuple[str, ...] = ()
    env: dict[str, str] = field(default_factory=dict)

    @property
    def key(self) -> str:
        return f"{self.part}: {self.name}"


def steps(device: str, small: bool) -> list[Step]:
    """Return all steps in the order in which they run."""
    return [*_correct(device), *_robust(device), *_fast(device, small), *_site(device)]


def _tests(part: str, name: str, device: str, seconds: int, *words: str) -> Step:
    return Step(part, name, ("pytest", "-q", "-m", "gpu", "--device", device, *words), seconds, "tests")


def _correct(device: str) -> list[Step]:
    file = "tests/gpu/test_correct.py"
    # Keep the expression for gpt2 from matching gpt2-xl.
    chosen = {shape: f"{shape}-float or {shape}-bfloat" for shape in SHAPES}
    steps_of_part = [
        _tests("correct", shape, device, 150, file, "-k", words) for shape, words in chosen.items()
    ]
    return [*steps_of_part, _tests("correct", "TF32", device, 60, file, "-k", "tf32")]


def _robust(device: str) -> list[Step]:
    return [_tests("robust", "what goes wrong", device, 240, "tests/gpu/test_robust.py")]


def _fast(device: str, small: bool) -> list[Step]:
    gpu = device.startswith("cuda")
    dtypes = ("float32", "bfloat16") if gpu else ("float32",)
    first = "tiny" if small else "gpt2"
    peers = list(MODULES)
    steps_of_part = [
        _engine(device, first, "float32", 200, peers),
        *(_own(device, "load", small, "gpt2", dtype) for dtype in dtypes),
        _own(device, "load", small, "llama-7b", dtypes[-1]),
        _engine(device, "tiny" if small else "llama-7b", dtypes[-1], 150, []),
        _own(device, "vllm", small, "gpt2", dtypes[-1]),
    ]
    return steps_of_part


def _engine(device: str, shape: str, dtype: str, seconds: int, peers: list[str]) -> Step:
    """Return a step that runs `benchmarks.engine` with the available peers."""
    words = ["benchmarks.engine", "--parts", shape, "--device", device, "--dtype", dtype, "--rounds", "3"]
    words += ["--measure", "times", "--results", "{work}"]
    if device == "cpu":
        words += ["--suites", "1", "--threads", "1"]
    kind = "engine"
    return Step(
        "fast",
        f"engine, {shape}, {dtype}{', beside peers' if peers else ''}",
        tuple(words),
        seconds,
        kind,
        peers=tuple(peers),
    )


def _own(device: str, kind: str, small: bool, shape: str, dtype: str) -> Step:
    words = ["benchmarks.gpu.speed", kind, "--shape", shape, "--dtype", dtype, "--device", device]
    words += ["--small"] if small else []
    package = "vllm" if kind == "vllm" else ""
    name = {"load": "the suites twice", "vllm": "vLLM's prompt_logprobs"}[kind]
    return Step(
        "fast", f"{name}, {shape}, {dtype}", (*words, "--to", "{work}/result.json"), 180, "json", package
    )


def _site(device: str) -> list[Step]:
    words = ("benchmarks.gpu.site", "--device", device, "--to", "{work}/result.json")
    return [Step("site", "serve, doctor, queue page, run page", words, 300)]


# --- one step ---


def run(step: Step, work: Path, env: dict[str, str], seconds: float, log: Path) -> Result:
    """Run a step. Failures of its process are part of the result."""
    work.mkdir(parents=True, exist_ok=True)
    words = [word.replace("{work}", str(work)) for word in _words(step, work, env)]
    started = time.monotonic()
    with log.open("a") as out:
        print(f"\n== {step.key}\n{' '.join(words)}", file=out, flush=True)
        at = out.tell()
        code = _ended([sys.executable, "-m", *words], env | step.env, out, seconds)
    with log.open() as log_file:
        log_file.seek(at)
        tail = log_file.read()[-TAIL:]
    result: Result = {"part": step.part, "seconds": round(time.monotonic() - started, 1)}
    state = "timeout" if code is None else "passed" if code == 0 else "failed"
    try:
        result |= READERS[step.kind](work)
    except (OSError, ValueError, ElementTree.ParseError) as error:
        state = state if state != "passed" else "failed"
        result["unread"] = f"its result cannot be read: {error}"
    return result | {"state": state} | ({} if state == "passed" else {"tail": tail})


def _ended(command: list[str], env: dict[str, str], out: IO[str], seconds: float) -> int | None:
    """Run a command and return its exit code, or None after the time limit. Ends all processes that it
    started.
    """
    child = subprocess.Popen(command, env=env, stdout=out, stderr=out, start_new_session=True)
    try:
        return child.wait(seconds)
    except subprocess.TimeoutExpired:
        return None
    finally:
        for number in (signal.SIGTERM, signal.SIGKILL):
            with suppress(ProcessLookupError):
                os.killpg(child.pid, number)
            with suppress(subprocess.TimeoutExpired):
                child.wait(10)


def _words(step: Step, work: Path, env: dict[str, str]) -> list[str]:
    words = list(step.words)
    if step.kind == "tests":
        words += ["-p", "no:cacheprovider", f"--junitxml={work / 'tests.xml'}"]
    if step.kind == "engine":
        peers = [name for name in step.peers if _works(name, env)]
        words += ["--peers", *(f"{name}-{size}" for name in peers for size in (16, 64))]
    return words


def _works(peer: str, env: dict[str, str]) -> bool:
    """Return whether a peer and all its dependencies can be imported."""
    code = f"import {MODULES[peer]}"
    return not subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, check=False
    ).returncode


MODULES = {"minicons": "minicons.scorer", "lm-eval": "lm_eval.models.huggingface"}


def read_json(work: Path) -> Result:
    return {"values": json.loads((work / "result.json").read_text())}


def read_engine(work: Path) -> Result:
    """Read the record of `benchmarks.engine`, with its table."""
    from benchmarks.engine import report

    (path,) = work.glob("*.json")
    record = json.loads(path.read_text())
    return {"record": record, "table": report.part(record)}


def read_tests(work: Path) -> Result:
    """Read name, outcome, seconds and recorded properties of every test."""
    rows = []
    for case in ElementTree.parse(work / "tests.xml").getroot().iter("testcase"):
        bad = next((element for element in case if element.tag in ("failure", "error", "skipped")), None)
        row = {"test": case.get("name", ""), "outcome": "passed" if bad is None else bad.tag}
        row["seconds"] = f"{float(case.get('time', 0)):.1f}"
        if bad is not None:
            row["why"] = re.sub(r"\s+", " ", bad.get("message", ""))[:300]
        row |= {str(element.get("name")): str(element.get("value")) for element in case.iter("property")}
        rows.append(row)
    if not rows:
        raise ValueError("no test ran")
    return {"tests": rows}


READERS = {"json": read_json, "engine": read_engine, "tests": read_tests}
