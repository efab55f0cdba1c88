"""The script of docs/coming-from.md for minicons gives the pass rates of lmgym, on the demo's model."""

from __future__ import annotations

import json
import os
import subprocess

import pytest

import lmgym
from tests.lmgym.conftest import ROOT
from tests.lmgym.test_blocks_in_docs import block

MODEL = "gym/demo/data/models/demo-gpt2"
PRINT = "\nimport json\nprint(json.dumps([[suite, number, rate] for suite, _, number, _, rate in rows]))\n"


@pytest.mark.foreign
def test_its_rates_are_those_of_lmgym(monkeypatch) -> None:
    python = os.environ.get("GYM_MINICONS_PYTHON", "")
    if not python:
        pytest.skip("GYM_MINICONS_PYTHON names no Python with minicons")
    script = block("coming-from.md", "minicons", "python").replace(', "random-gpt2"]', "]")
    assert f'["{MODEL}"]' in script
    done = subprocess.run(
        [python, "-c", script + PRINT], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2_000:]
    theirs = {(suite, number): rate for suite, number, rate in json.loads(done.stdout.splitlines()[-1])}
    monkeypatch.chdir(ROOT)
    rates = lmgym.evaluate("gym/demo/data/suites/*.json", [MODEL]).rates()
    ours = {(row.suite, row.prediction_number): row.rate for row in rates.itertuples()}
    assert len(ours) == 14
    assert theirs == pytest.approx(ours)
