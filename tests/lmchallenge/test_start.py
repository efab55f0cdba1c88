"""Commands that only read files start without Django and torch."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def loaded(*argv: str, given: str = "") -> tuple[str, set[str]]:
    """Return the standard output of `lmgym ARGV` and the modules it imported."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "lmgym", *argv],
        input=given,
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    lines = [line for line in done.stderr.splitlines() if line.startswith("import time:")]
    return done.stdout, {line.rsplit("|", 1)[-1].strip() for line in lines}


LOG = '{"wordPredictions": [{"rank": 1, "score": 0.0, "target": "the"}]}\n'


@pytest.mark.parametrize(
    ("argv", "given", "shown"),
    [
        (("lmc", "stats", "-"), LOG, '"words": 1'),
        (("lmc", "pretty", "-"), LOG, "the"),
        (("lmc", "corpus", "to-json"), "a b a\n", '"text": "a b a"'),
        (("lmc", "run", "--quiet", "adaptive", "wp"), "a b\n", '"wordPredictions"'),
        (("propara", "explain"), "", ""),
    ],
)
def test_commands_that_only_read_files_load_no_django(argv, given, shown):
    out, modules = loaded(*argv, given=given)
    assert shown in out
    assert "django" not in modules
    assert "torch" not in modules


def test_a_game_of_words_with_a_program_loads_no_numpy():
    modules = "lmgym.lmchallenge.cli.main, lmgym.lmchallenge.cli.run, lmgym.lmchallenge.play.loop"
    code = f"import sys, {modules}; sys.exit('numpy' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)
