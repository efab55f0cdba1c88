"""Comparison with the reference package, if available: same logs, same statistics, and it can run our models.

Set GYM_LMC_REFERENCE=/…/bin/lmc to its command (see benchmarks/lmchallenge/requirements.txt).
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
from tests.lmgym import lmchallenge
from tests.lmgym.lmchallenge import differential

MODELS = Path(lmchallenge.__file__).with_name("models.py")
REFERENCE = os.environ.get("GYM_LMC_REFERENCE", "")
ROOT = Path(__file__).parents[2]
PROGRAM = f"{sys.executable} -B {MODELS}"
pytestmark = [
    pytest.mark.foreign,
    pytest.mark.skipif(not REFERENCE, reason="no reference program (GYM_LMC_REFERENCE)"),
]

TEXT = "the cat sat on the mat, and the dog :-)\n\nI can't see — you 🍕!\nthe the\u2028cat\n"
JSON = "".join(
    json.dumps({"userId": user, "timestamp": time, "text": text}) + "\n"
    for user, time, text in [
        ("a", 1, "the cat"),
        ("a", 1, "cat sat"),
        ("a", 2, "the cat sat"),
        ("b", 1, "the cat"),
    ]
)
OURS = [sys.executable, "-m", "lmgym", "lmc"]


def run(command: list[str], stdin: str) -> str:
    environment = {**os.environ, "LC_ALL": "C.UTF-8", "PYTHONHASHSEED": "0", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        command, input=stdin.encode(), capture_output=True, env=environment, check=True, timeout=120, cwd=ROOT
    )
    return done.stdout.decode()


@pytest.mark.parametrize(
    ("options", "game", "text"),
    [
        ([], ["wp", "-p"], TEXT),
        (["-W"], ["wp"], TEXT),
        ([], ["tc", "-n", "2"], TEXT),
        (["-t", "-f", "json"], ["wp"], JSON),
        (["-t", "-f", "json"], ["tc"], JSON),
    ],
)
def test_both_write_the_same_log_and_count_it_the_same(options, game, text, tmp_path: Path):
    theirs = run([REFERENCE, "run", *options, PROGRAM, *game], text)
    assert run([*OURS, "run", "--quiet", *options, PROGRAM, *game], text) == theirs
    log = tmp_path / "log"
    log.write_text(theirs)
    for keep in ("all", "alphaemoji", "nospace"):
        counted = [
            json.loads(run([*command, "stats", "-f", keep, str(log)], "")) for command in ([REFERENCE], OURS)
        ]
        assert counted[0][0].keys() == counted[1][0].keys()
        assert counted[1][0] == pytest.approx(counted[0][0], abs=1e-9, nan_ok=True)


def test_both_correct_the_same_words(tmp_path: Path):
    words = tmp_path / "words"
    words.write_text("the\ncat\nhat\nsat\nmat\non\nan\nat\n")
    game = ["ic", "-n", "50", "-p", "0.3", "-r", "5", str(words)]
    found = [run([*command, "run", PROGRAM, *game], TEXT) for command in ([REFERENCE], OURS)]
    theirs, mine = ([json.loads(line) for line in text.splitlines()] for text in found)
    for row in (*theirs, *mine):
        for entry in row["inputCorrections"]:
            entry["candidates"].sort(key=json.dumps)
    assert mine == theirs


@pytest.mark.parametrize("game", [["wp", "-p"], ["tc"]])
def test_the_reference_drives_our_learner_and_both_logs_are_equal(game):
    served = f"{sys.executable} {ROOT / 'manage.py'} lmc serve --model adaptive"
    theirs = run([REFERENCE, "run", "-t", "-f", "json", served, *game], JSON)
    assert run([*OURS, "run", "--quiet", "-t", "-f", "json", "adaptive", *game], JSON) == theirs


# -- random games ----------------------------------------------------------------------------------------------


def theirs(cases: list[dict[str, Any]]) -> list[list[str | None]]:
    """Return the reference's output and error for each case."""
    script = Path(differential.__file__)
    done = subprocess.run(
        [str(Path(REFERENCE).with_name("python")), "-W", "ignore", str(script)],
        input=json.dumps(cases).encode(),
        stdout=subprocess.PIPE,
        check=True,
        timeout=300,
        env={
            **os.environ,
            "LC_ALL": "C.UTF-8",
            "PYTHONPATH": f"{script.parent}:{ROOT / 'benchmarks/lmchallenge'}",
        },
    )
    found: list[list[str | None]] = json.loads(done.stdout)
    return found


def mine(case: dict[str, Any]) -> tuple[int, str]:
    out = io.BytesIO()
    streams = Streams(io.BytesIO(case["stdin"].encode()), out, io.StringIO())
    return main(case["argv"], streams=streams), out.getvalue().decode()


def parsed(argv: list[str], text: str) -> Any:
    """Parse the output of a command: JSON, or tab-separated numbers and names. Coloured text is returned
    unchanged."""
    if argv[0] == "pretty":
        return text
    if "csv" not in argv:
        return json.loads(text)
    return [[_number(cell) for cell in line.split("\t")] for line in text.splitlines()]


def _number(cell: str) -> float | str:
    try:
        return float(cell)
    except ValueError:
        return cell


def close(a: Any, b: Any) -> bool:
    if isinstance(a, dict):
        return isinstance(b, dict) and a.keys() == b.keys() and all(close(a[key], b[key]) for key in a)
    if isinstance(a, list):
        return isinstance(b, list) and len(a) == len(b) and all(map(close, a, b))
    if isinstance(a, int | float) and isinstance(b, int | float):
        return a == pytest.approx(b, abs=1e-9, nan_ok=True)
    return bool(a == b)


@pytest.mark.parametrize("seed", range(3))
def test_random_games_come_out_byte_for_byte_and_their_logs_are_read_alike(
    seed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """The games have odd Unicode, several users and times, and all options and privacy formats; then
    every command reads their logs. Ties of ic are broken in file order in both programs. Where the
    reference only crashes (a rate over no tokens, a missing userId, the empty log of an empty corpus),
    nothing is compared."""
    monkeypatch.syspath_prepend(str(Path(differential.__file__).parent))
    rand = random.Random(int(os.environ.get("GYM_LMC_SEED", "100")) + seed)
    games = list(differential.games(rand, 60, str(tmp_path)))
    other = [{**case, "argv": ["run", "-o", '{"other": 1}', *case["argv"][1:]]} for case in games]
    readers = []
    for number, (case, (log, error), (beside, _)) in enumerate(
        zip(games, theirs(games), theirs(other), strict=True)
    ):
        assert error is None
        assert mine(case) == (0, log), case
        files = [tmp_path / f"{number}.log", tmp_path / f"{number}.other.log"]
        for file, text in zip(files, (log, beside), strict=True):
            file.write_text(str(text))
        game = next(game for game in ("wp", "tc", "ic") if game in case["argv"])
        argvs = differential.readings(rand, game, *map(str, files))
        readers.extend({"argv": argv, "stdin": ""} for argv in argvs)
    compared = 0
    for case, (text, error) in zip(readers, theirs(readers), strict=True):
        if error:
            empty = any(word.endswith(".log") and not os.path.getsize(word) for word in case["argv"])
            assert error in ("ZeroDivisionError", "KeyError", "TypeError", *["IndexError"] * empty), case
            mine(case)  # must not raise
            continue
        code, own = mine(case)
        assert code == 0, case
        assert close(parsed(case["argv"], own), parsed(case["argv"], str(text))), case
        compared += 1
    assert compared > len(readers) / 2
