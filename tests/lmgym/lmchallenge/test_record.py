"""A killed run resumes at the end of a line, and its log equals that of an undisturbed run."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from lmgym.lmchallenge.logs.log_rows import Recorder
from tests.lmgym.conftest import ROOT

PROGRAM = f"{sys.executable} -B {Path(__file__).with_name('models.py')}"


def test_a_line_that_was_cut_off_is_removed(tmp_path: Path):
    path = tmp_path / "log"
    with Recorder(path) as recorder:
        assert recorder.done == 0
        recorder.add({"a": 1})
        recorder.add({"a": 2})
    with path.open("ab") as file:
        file.write(b'{"a": ')
    with Recorder(path) as recorder:
        assert recorder.done == 2
        recorder.add({"a": 3})
    assert [json.loads(line)["a"] for line in path.read_text().splitlines()] == [1, 2, 3]


def command(log: Path, words: Path, model: str) -> list[str]:
    given = [
        "-t",
        "-f",
        "json",
        "--quiet",
        "--log",
        str(log),
        f"{PROGRAM} {model}",
        "ic",
        "-p",
        "0.4",
        "-n",
        "5",
        str(words),
    ]
    return [sys.executable, "-m", "lmgym", "lmc", "run", *given]


@pytest.mark.process
def test_a_killed_run_goes_on_to_the_same_log(tmp_path: Path):
    words = tmp_path / "words"
    words.write_text("the\ncat\nhat\nsat\nmat\non\n")
    corpus = "".join(
        json.dumps({"userId": at // 40, "timestamp": at // 3, "text": f"the cat sat on mat{at}"}) + "\n"
        for at in range(120)
    )
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    subprocess.run(command(whole, words, "echo"), input=corpus.encode(), check=True, timeout=120, cwd=ROOT)
    process = subprocess.Popen(command(broken, words, "steady"), stdin=subprocess.PIPE, cwd=ROOT)
    assert process.stdin
    process.stdin.write(corpus.encode())
    process.stdin.close()
    for _ in range(600):
        if broken.exists() and broken.read_bytes().count(b"\n") >= 17:
            break
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert 17 <= broken.read_bytes().count(b"\n") < 120
    subprocess.run(command(broken, words, "echo"), input=corpus.encode(), check=True, timeout=120, cwd=ROOT)
    assert broken.read_bytes() == whole.read_bytes()
