"""`manage.py lmc run model:SLUG` and `lmc serve --model SLUG`, with the demo's models."""

from __future__ import annotations

import io
import json

import pytest

from gym.lmchallenge.management.commands.lmc import main
from lmgym.lmchallenge.cli.streams import Streams
from tests.walk import checked_demo_model

pytestmark = pytest.mark.django_db
LINES = b"The boy is tired.\nThe dancers sing.\n"


def lmc(given: bytes, *argv: str) -> tuple[int, str, str]:
    out, err = io.BytesIO(), io.StringIO()
    code = main(list(argv), "manage.py lmc", Streams(io.BytesIO(given), out, err))
    return code, out.getvalue().decode(), err.getvalue()


def test_a_model_of_the_site_plays_next_word():
    checked_demo_model("demo-gpt2")
    code, log, err = lmc(LINES, "run", "model:demo-gpt2", "wp")
    assert code == 0, err
    rows = [json.loads(line)["wordPredictions"] for line in log.splitlines()]
    assert [[entry["target"] for entry in row] for row in rows] == [
        ["The", "boy", "is", "tired", "."],
        ["The", "dancers", "sing", "."],
    ]
    assert all(row[0]["rank"] == 1 for row in rows)  # every sentence of the grammar starts with it


def test_what_is_served_is_what_is_played():
    checked_demo_model("demo-ngram")
    code, served, err = lmc(b"predict\tThe \n", "serve", "--model", "demo-ngram")
    assert code == 0, err
    parts = served.strip().split("\t")
    scores = [float(score) for score in parts[1::2]]
    assert len(parts) % 2 == 0
    assert scores == sorted(scores, reverse=True)
    code, log, _ = lmc(b"The boy is tired.\n", "run", "model:demo-ngram", "wp")
    entry = json.loads(log)["wordPredictions"][1]
    if "rank" in entry:
        assert parts[0::2][entry["rank"] - 1] == "boy"
    else:
        assert "boy" not in parts[0::2]


def test_a_model_that_is_not_there_is_named():
    code, log, err = lmc(LINES, "run", "model:nobody", "wp")
    assert (code, log) == (2, "")
    assert "There is no model 'nobody'" in err


def test_what_needs_no_site_is_not_offered_twice(capsys):
    assert lmc(b"", "stats")[:2] == (2, "")
    assert "stats does not need a site. Use lmgym lmc stats." in capsys.readouterr().err
