"""The way that reads well-formed files process by process, beside the one that reads them in full."""

from __future__ import annotations

import io
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gym.propara import evaluate
from gym.propara.blocks import Unusual, blocks
from gym.propara.errors import ProcessFailure, ProParaError
from gym.propara.grid import read_grids
from gym.propara.matching import QUESTIONS
from gym.propara.quick import scores
from gym.propara.stream import grid_of
from tests.propara.worlds import LIGHT, shipped, submissions, tsv


def quickly(answers: str, predictions: str) -> list[tuple] | None:
    """Pairs of precision and recall by process and question; None where the quick way gives up."""
    streams = [io.StringIO(text, newline=None) for text in (answers, predictions)]
    try:
        return [tuple(one) for one in scores(*streams)]
    except (Unusual, ProcessFailure):
        return None


def in_full(answers: str, predictions: str) -> list[tuple]:
    """The same through grids and summaries; raises ProParaError."""
    return [
        tuple(tuple(one.scores[name]) for name in QUESTIONS) if one.scores else ()
        for one in evaluate(answers, predictions).processes
    ]


def mutated(text: str, rng: random.Random) -> str:
    """A few rows with another place, action or step; some swapped, doubled, dropped; sometimes a cell too many."""
    rows = text.splitlines(keepends=True)
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(len(rows))
        cells = rows[at].rstrip("\n").split("\t")
        if len(cells) < 6:
            continue
        match rng.randrange(7):
            case 0:
                cells[4] = cells[5] = rng.choice(["sea", "the sea", "?", "-", "", "null", "sun AND sea"])
            case 1:
                cells[5] = rng.choice(["sea", "?", "-", "", "unk"])
            case 2:
                cells[3] = rng.choice(["NONE", "MOVE", "CREATE", "DESTROY", "move"])
            case 3:
                cells[1] = rng.choice(["1", "2", "01", "x"])
            case 4:
                cells.append(rng.choice(["", "more"]))
            case 5:
                cells.pop()
            case _:
                other = rng.randrange(len(rows))
                rows[at], rows[other] = rows[other], rows[at]
                continue
        rows[at] = "\t".join(cells) + "\n"
    return "".join(rows)


@given(submissions())
def test_it_gives_the_same_numbers(texts):
    found = quickly(*texts)
    if found is not None:
        assert found == in_full(*texts)
    assert quickly(texts[0], texts[0]) in (None, in_full(texts[0], texts[0]))


@given(st.randoms(use_true_random=False), st.booleans())
def test_it_gives_up_or_gives_the_same_numbers_for_what_is_odd(rng: random.Random, alike: bool):
    answers = shipped("answers")
    predictions = answers if alike else shipped("hasty")
    for _ in range(2):
        predictions = mutated(predictions, rng)
    found = quickly(answers, predictions)
    if found is not None:
        assert found == in_full(answers, predictions)
    try:
        read_grids(predictions, "p")
    except ProParaError:
        assert found is None


def test_it_takes_the_shipped_files():
    for name in ("answers", "hasty"):
        found = quickly(shipped("answers"), shipped(name))
        assert found is not None
        assert found == in_full(shipped("answers"), shipped(name))


def test_an_empty_seventh_column_is_taken():
    wide = LIGHT.replace("\n", "\t\n")
    assert quickly(wide, wide) == quickly(LIGHT, wide) == [((1.0, 1.0),) * 4]
    empty = tsv("1 1 a NONE _ _", "1 2 a NONE _ _")
    assert quickly(empty, empty) == [((1.0, 1.0),) * 4]


@pytest.mark.parametrize(
    "predictions",
    [
        "",
        "\n",
        LIGHT + "\n",
        LIGHT + LIGHT.replace("7\t", "8\t") + LIGHT,
        LIGHT.replace("MOVE\tstar", "NONE\tstar", 1),
        LIGHT.replace("7\t", "8\t"),
        LIGHT.replace("light; rays", "light"),
        LIGHT.replace("7\t3\tgas\tNONE\t-\t-", "7\t3\tgas\tNONE\t-") + "7\t5\tgas\tNONE\t-\t-\t-\n",
        # a row without its last cell and a row with one too many: in line again if they are taken together
        tsv("7 1 gas NONE x") + tsv("7 x 2 gas NONE x x"),
    ],
    ids=[
        "empty",
        "blank",
        "blank line",
        "twice",
        "NONE that moves",
        "process",
        "participant",
        "cells",
        "shift",
    ],
)
def test_it_leaves_what_the_reference_might_refuse(predictions):
    assert quickly(LIGHT, predictions) is None


def test_equal_files_whose_terms_overlap_twice_are_compared():
    """Where one move is to two places, the other to one of them under two names, pairs score above 1."""
    text = tsv("1 1 a MOVE x sea~AND~the~sea", "1 1 b;~a MOVE x the~sea")
    assert quickly(text, text) == in_full(text, text)
    assert quickly(text, text)[0][3][0] > 1


@pytest.mark.parametrize("size", [1, 7, 40, 400])
def test_where_a_chunk_ends_changes_nothing(size, monkeypatch):
    monkeypatch.setattr("gym.propara.blocks._CHUNK", size)
    by_step = "".join(sorted(LIGHT.splitlines(keepends=True), key=lambda row: row.split("\t")[1]))
    for text in (shipped("hasty"), LIGHT, LIGHT.rstrip("\n"), LIGHT.replace("\n", "\r\n"), by_step):
        with io.StringIO(text, newline=None) as stream:
            grids = [grid_of(process, block, set()) for process, block in blocks(stream)]
        assert {grid.process_id: grid for grid in grids} == read_grids(text, "f")
