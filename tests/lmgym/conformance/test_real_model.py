"""SmolLM2-135M-Instruct (Q4_1) on the published suites: bits and outcomes against recorded values of transformers in
float64 (`python -m benchmarks.real_model`), and against minicons in the same run.

The suites are not part of the repository; minicons needs its own Python, set in GYM_MINICONS_PYTHON.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lmgym
from benchmarks import real_model as plain
from lmgym.models.given import LoadedModel, open_model
from lmgym.suites.formats import SuiteDocument

pytestmark = [pytest.mark.real_model, pytest.mark.published]

RECORD = json.loads(Path(__file__).parents[1].joinpath("golden", "smollm2_float64.json").read_text())
TOLERANCE_BITS = 3e-4
"""Tolerance for a region, which is a sum over tokens."""
MINICONS = """
import json, sys
from minicons import scorer
from transformers import AutoModelForCausalLM, AutoTokenizer
folder, file = sys.argv[1:]
tokenizer = AutoTokenizer.from_pretrained(folder, gguf_file=file)
tokenizer.bos_token = "<|endoftext|>"
tokenizer.pad_token = "<|endoftext|>"
model = AutoModelForCausalLM.from_pretrained(folder, gguf_file=file)
score = scorer.IncrementalLMScorer(model, "cpu", tokenizer=tokenizer).token_score
for line in sys.stdin:
    rows = score(json.loads(line), bos_token=True, surprisal=True, base_two=True)
    print(json.dumps([[value for _, value in row[1:]] for row in rows]), flush=True)
"""
Bits = Callable[[list[str]], list[list[float]]]


@pytest.fixture(scope="module")
def loaded(real_model: Path) -> LoadedModel:
    return open_model(real_model, device="cpu")


def suite(conformance: Path, name: str) -> SuiteDocument:
    document = lmgym.load_suite(conformance / "suites" / f"{name}.json")
    assert document.sha256() == RECORD[name]["sha256"], "another suite than the recorded one"
    return document


def compare(run: Any, regions: list[list[float]], outcomes: list[str]) -> None:
    """Require equal regions, and outcomes that differ only where the run marks them as too close to call."""
    ours = [row.regions for row in run.result.sentences]
    np.testing.assert_allclose(np.array(ours, dtype=float), regions, rtol=0, atol=TOLERANCE_BITS)
    for prediction, codes in zip(run.result.predictions, outcomes, strict=True):
        differ = [
            at
            for at, (code, other) in enumerate(zip(prediction.outcomes, codes, strict=True))
            if code != int(other)
        ]
        assert all(prediction.close[at] for at in differ), f"{prediction.name}: items {differ}"


@pytest.mark.parametrize("name", sorted(RECORD))
def test_bits_and_outcomes_are_those_of_float64(conformance, loaded, name):
    [run] = lmgym.evaluate(suite(conformance, name), loaded, policy={"bos": plain.START}).runs
    compare(run, RECORD[name]["regions"], RECORD[name]["outcomes"])


@pytest.fixture(scope="module")
def minicons(real_model: Path) -> Iterator[Bits]:
    """Function that returns the bits of every token of sentences, computed by minicons in a separate
    process."""
    python = os.environ.get("GYM_MINICONS_PYTHON", "")
    if not python:
        pytest.skip("GYM_MINICONS_PYTHON names no Python with minicons")
    command = [python, "-W", "ignore", "-c", MINICONS, str(real_model.parent), real_model.name]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:

        def ask(texts: list[str]) -> list[list[float]]:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(json.dumps(texts) + "\n")
            process.stdin.flush()
            answer: list[list[float]] = json.loads(process.stdout.readline())
            return answer

        yield ask
        process.stdin.close()


@pytest.mark.foreign
@pytest.mark.parametrize("name", sorted(RECORD))
def test_minicons_gives_the_same_bits_and_outcomes(conformance, real_model, loaded, minicons, name):
    document = suite(conformance, name)
    [run] = lmgym.evaluate(document, loaded, policy={"bos": plain.START}).runs
    tokenizer = plain.read_tokenizer(real_model)
    regions: list[list[float]] = []
    for first in range(0, len(document.sentences), plain.BATCH):
        rows = [row.contents for row in document.sentences[first : first + plain.BATCH]]
        scores = minicons(["".join(plain.pieces_of(contents)) for contents in rows])
        regions += [plain.region_sums(tokenizer, *pair) for pair in zip(rows, scores, strict=True)]
    compare(run, regions, plain.outcomes_of(document, regions))
