"""A served model gives the same log as a local one, whichever program plays it."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from lmgym.lmchallenge import corpus
from lmgym.lmchallenge.logs import log_rows
from lmgym.lmchallenge.play.games import GameOptions
from lmgym.lmchallenge.play.loop import play
from lmgym.lmchallenge.play.process import Command, ProcessPlayer
from tests.lmchallenge import served

REFERENCE = os.environ.get("GYM_LMC_REFERENCE", "")
PROGRAM = (sys.executable, "-B", served.__file__)
TEXT = "The boy is tired.\nThe dancers sing, and see the 猫 laugh.\n\nNo king\n"
WORDS = ["The", "boy", "dancers", "sing", "king", "see", "toy", "is", "it"]
pytestmark = pytest.mark.process


def log_of(player, game: str, **options: object) -> str:
    lines = corpus.read(io.BytesIO(TEXT.encode()))
    played = play(lines, GameOptions(game, **options).build(WORDS), player)
    return "".join(log_rows.line_of(line.row) for line in played)


@pytest.mark.parametrize(
    ("slug", "game"), [("demo-gpt2", "wp"), ("demo-ngram", "wp"), ("demo-ngram", "tc"), ("demo-ngram", "ic")]
)
def test_our_own_process_player_gets_from_a_served_model_what_the_model_says(slug, game):
    options = {"predictions": True} if game == "wp" else {}
    with ProcessPlayer(Command((*PROGRAM, slug), stop_timeout=60)) as process:
        driven = log_of(process, game, **options)
    assert driven == log_of(served.player(slug, together=1), game, **options)


@pytest.mark.foreign
@pytest.mark.skipif(not REFERENCE, reason="no reference program (GYM_LMC_REFERENCE)")
@pytest.mark.parametrize(("slug", "game"), [("demo-gpt2", "tc"), ("demo-ngram", "wp"), ("demo-ngram", "tc")])
def test_the_reference_gets_the_same(slug, game):
    done = subprocess.run(
        [REFERENCE, "run", " ".join((*PROGRAM, slug)), game],
        input=TEXT.encode(),
        capture_output=True,
        env={**os.environ, "LC_ALL": "C.UTF-8"},
        check=True,
        timeout=120,
        cwd=Path(__file__).parents[2],
    )
    assert done.stdout.decode() == log_of(served.player(slug, together=1), game)


def test_company_changes_no_more_than_the_last_digits():
    alone, together = (
        [json.loads(line) for line in log_of(served.player("demo-gpt2", together=n), "wp").splitlines()]
        for n in (1, 8)
    )
    for one, other in zip(alone, together, strict=True):
        for a, b in zip(one["wordPredictions"], other["wordPredictions"], strict=True):
            assert (a["target"], a.get("rank")) == (b["target"], b.get("rank"))
            assert a.get("score", 0) == pytest.approx(b.get("score", 0), abs=1e-4)
