"""Comparison with LM Challenge 5.2, if available: same logs, statistics, selections and colours.

Set GYM_LMC5_REFERENCE=/…/bin/lmc to its command (see benchmarks/lmchallenge/requirements-5.txt).
"""

from __future__ import annotations

import io
import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from lmgym.lmchallenge.cli.main import main
from lmgym.lmchallenge.cli.streams import Streams
from tests.lmchallenge.test_reference import ROOT, TEXT, close
from tests.lmgym import lmchallenge

MODELS = Path(lmchallenge.__file__).with_name("models.py")
REFERENCE = os.environ.get("GYM_LMC5_REFERENCE", "")
HERE = MODELS.parent
PROGRAM = f"{sys.executable} -B {MODELS}"
pytestmark = [
    pytest.mark.foreign,
    pytest.mark.skipif(not REFERENCE, reason="no reference program (GYM_LMC5_REFERENCE)"),
]
JSON = "".join(
    json.dumps({"user": user, "text": text}) + "\n"
    for user, text in [("a", "the cat"), ("a", ""), ("a", "the cat sat"), (None, "on"), ("a", "the cat")]
)


def run(command: list[str], stdin: str) -> str:
    environment = {**os.environ, "LC_ALL": "C.UTF-8", "PYTHONHASHSEED": "0", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        command, input=stdin.encode(), capture_output=True, env=environment, check=True, timeout=120, cwd=ROOT
    )
    return done.stdout.decode()


def ours(*argv: str, stdin: str = "") -> tuple[int, str]:
    out = io.BytesIO()
    return main(
        argv, streams=Streams(io.BytesIO(stdin.encode()), out, io.StringIO())
    ), out.getvalue().decode()


@pytest.mark.parametrize(
    ("game", "train"), [(["wc"], True), (["wc", "-p"], False), (["we"], True), (["ce"], False)]
)
def test_both_talk_to_a_program_and_write_the_same_log(game, train, tmp_path: Path):
    for text in (TEXT, JSON):
        argv = ["run", *["-t"] * train, PROGRAM, *game]
        theirs = run([REFERENCE, *argv], text)
        assert ours("run", "--quiet", *argv[1:], stdin=text) == (0, theirs)
        log = tmp_path / "log"
        log.write_text(theirs)
        valid = subprocess.run([REFERENCE, "validate", str(log)], capture_output=True, timeout=120)
        assert ours("validate", str(log))[0] == valid.returncode


def test_the_reference_reads_our_games_of_the_learner(tmp_path: Path):
    log = tmp_path / "log"
    log.write_text(ours("run", "--quiet", "-t", "adaptive", "wc", stdin=JSON)[1])
    assert json.loads(run([REFERENCE, "stats", str(log)], "")) == json.loads(ours("stats", str(log))[1])


def theirs(cases: list[dict[str, Any]]) -> list[list[str | None]]:
    """Return the reference's output and error for each case."""
    done = subprocess.run(
        [str(Path(REFERENCE).with_name("python")), "-W", "ignore", str(HERE / "differential_5.py")],
        input=json.dumps(cases).encode(),
        capture_output=True,
        check=True,
        timeout=300,
        env={
            **os.environ,
            "LC_ALL": "C.UTF-8",
            "PYTHONPATH": f"{HERE}:{ROOT / 'benchmarks/lmchallenge'}",
        },
    )
    found: list[list[str | None]] = json.loads(done.stdout)
    return found


def parsed(argv: list[str], text: str) -> Any:
    """Parse statistics into numbers and names. Selections and colours are returned unchanged."""
    if argv[0] != "stats":
        return text
    if "csv" not in argv:
        return [json.loads(line) for line in text.splitlines()]
    return [[_number(cell) for cell in line.split(",")] for line in text.splitlines()]


def _number(cell: str) -> float | str:
    try:
        return float(cell)
    except ValueError:
        return cell


@pytest.mark.parametrize("seed", range(3))
def test_random_games_come_out_byte_for_byte_and_their_logs_are_read_alike(
    seed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """The games have odd Unicode, several users and all options; then every command reads their logs. Ties of
    wr are broken in file order in both programs. Where the reference only crashes (a rate over no tokens, one
    candidate), nothing is compared."""
    monkeypatch.syspath_prepend(str(HERE))
    import differential_5

    rand = random.Random(int(os.environ.get("GYM_LMC_SEED", "100")) + seed)
    games = list(differential_5.games(rand, 60, str(tmp_path)))
    other = [{**case, "argv": ["run", "-o", '{"other": 1}', *case["argv"][1:]]} for case in games]
    readers = []
    answers = zip(games, theirs(games), theirs(other), strict=True)
    for number, (case, (log, error), (beside, _)) in enumerate(answers):
        assert error is None, case
        assert ours(*case["argv"], stdin=case["stdin"]) == (0, log), case
        files = [tmp_path / f"{number}.log", tmp_path / f"{number}.other.log"]
        for file, text in zip(files, (log, beside), strict=True):
            file.write_text(str(text))
        argvs = differential_5.readings(rand, *map(str, files))
        readers.extend({"argv": argv, "stdin": ""} for argv in argvs)
    compared = 0
    for case, (text, error) in zip(readers, theirs(readers), strict=True):
        code, found = ours(*case["argv"])
        if error:
            assert error in ("ZeroDivisionError", "ValueError", "Exception", "TypeError", "IndexError"), (
                case,
                error,
            )
            continue
        assert code == 0, (case, found)
        assert close(parsed(case["argv"], found), parsed(case["argv"], str(text))), case
        compared += 1
    assert compared > len(readers) / 2
