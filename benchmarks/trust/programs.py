"""Ask other programs, each in its own environment: one process answers all requests of a run."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.trust.case import LM_EVAL, MINICONS, Ask, Case, Value

SCRIPTS = {MINICONS: "ask_minicons.py", LM_EVAL: "ask_lm_eval.py"}
VARIABLES = {MINICONS: "GYM_MINICONS_PYTHON", LM_EVAL: "GYM_LM_EVAL_PYTHON"}


@dataclass(frozen=True)
class Answer:
    """A program's answer. `error`: it stopped, so it has no value."""

    value: Value
    error: str = ""


@dataclass(frozen=True)
class Program:
    """A program as installed, and its answers to all calls; version "" = not installed."""

    version: str
    answers: dict[Ask, Answer]


def ask(program: str, python: str, cases: Sequence[Case], folder: Path) -> Program:
    """Run the script of a program in the Python that has it.

    Raises:
        SystemExit: the script failed; errors of single calls are answers.
    """
    asks = [ask for case in cases for ask in case.asks if ask.program == program]
    if not python:
        return Program("", {})
    offline = {"HF_HOME": str(folder / "hf"), "HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}
    done = subprocess.run(
        [python, "-W", "ignore", str(Path(__file__).with_name(SCRIPTS[program]))],
        input=json.dumps([one.request for one in asks]),
        env=os.environ | offline,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"{python} does not run {program}:\n{done.stderr[-3000:]}")
    output: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return Program(
        output["version"],
        {one: _answer(one, result) for one, result in zip(asks, output["answers"], strict=True)},
    )


def _answer(one: Ask, output: dict[str, Any]) -> Answer:
    if "error" in output:
        return Answer(None, output["error"])
    return Answer(one.read(output["result"]))
