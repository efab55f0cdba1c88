"""The reference package itself, if it is at hand: same logs, same statistics, and it drives our models.

Give its command by GYM_LMC_REFERENCE=/…/bin/lmc (see benchmarks/lmchallenge/requirements.txt).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

REFERENCE = os.environ.get("GYM_LMC_REFERENCE", "")
ROOT = Path(__file__).parents[2]
PROGRAM = f"{sys.executable} -B {Path(__file__).with_name('models.py')}"
pytestmark = [
    pytest.mark.process,
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
OURS = [sys.executable, "-m", "gym.lmchallenge"]


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
