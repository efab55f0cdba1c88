"""Lines are found by their outcomes, shown as colours, and sorted by their statistics."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest

from lmgym.lmchallenge.logs import coloured, stats
from lmgym.lmchallenge.logs.decoder import read_lines
from lmgym.lmchallenge.logs.interpolation import Mix
from lmgym.lmchallenge.logs.table import read_table
from lmgym.lmchallenge.logs.text_index import (
    ERROR,
    ERRORS,
    Index,
    Words,
    index_of,
    index_of_messages,
    outcomes_of,
    pack,
    unpack,
)
from lmgym.lmchallenge.logs.version5 import log as version5_log
from lmgym.lmchallenge.logs.version5 import stats as version5
from lmgym.lmchallenge.logs.version5.pretty import mixture_of

WORDS = ["the", "The", "cat", "sat", ",", "@on", "👍", "1"]
MIX = Mix(0.4, -3.0)
KEYS = {"wp": "wordPredictions", "tc": "textCompletions", "ic": "inputCorrections"}


def an_entry(game: str, some: random.Random) -> dict[str, object]:
    target = some.choice(WORDS)
    if game == "ic":
        typed = some.choice(WORDS)
        names = list(dict.fromkeys([target, typed, *some.sample(WORDS, 3)]))
        scores = {name: [some.choice([-0.5, -1.0, -4.0]), some.choice([None, -1.0, -6.0])] for name in names}
        return {
            "target": target,
            "verbatim": typed,
            "score": scores[target],
            "candidates": [[name, *scores[name]] for name in names],
        }
    entry: dict[str, object] = {"target": f" {target}" if game == "tc" else target}
    if some.random() < 0.6:
        entry |= {"rank": some.randint(0 if game == "tc" else 1, 12), "score": -some.random()}
    return entry


def a_log(game: str, seed: int) -> list[bytes]:
    some = random.Random(seed)
    rows = [
        {
            "userId": some.choice(["ann", None]),
            KEYS[game]: [an_entry(game, some) for _ in range(some.randint(0, 6))],
        }
        for _ in range(30)
    ]
    return [json.dumps(row).encode() + b"\n" for row in rows]


def indexed(log: list[bytes], keep: str, mix: Mix | None = None) -> Index:
    """Return the index of a log after packing and unpacking, as it is read from the database."""
    words = Words()
    lines = words.record_stream(read_lines(log))
    table = read_table(lines, filters=["nospace", keep], mixes=[Mix(0, 0), mix] if mix else [])
    indexes = {name: index_of(table.by(name), words, len(table.mixes) - 1) for name in table.filters}
    return unpack(pack(indexes), keep)


@pytest.mark.parametrize("game", KEYS)
@pytest.mark.parametrize("keep", ["all", "alphaemoji"])
@pytest.mark.parametrize("seed", range(3))
def test_a_line_has_the_outcomes_of_its_colours_and_the_loss_of_its_statistics(game, keep, seed):
    log, mix = a_log(game, seed), MIX if game == "ic" else None
    index = indexed(log, keep, mix)
    drawn = [coloured.line_of(number, line, keep, mix) for number, line in read_lines(log)]
    for outcome in outcomes_of(game):
        shown = {at for at, line in enumerate(drawn) if outcome in {one.outcome for one in line.pieces}}
        if (game, outcome) == (
            "tc",
            "accepted",
        ):  # if the first character is not counted, the others are "saved"
            shown |= {at for at, line in enumerate(drawn) if "saved" in {one.outcome for one in line.pieces}}
        if (game, outcome) == ("tc", "skipped"):  # counted by text in the index, by character in the colours
            assert set(index.find_lines(outcome=outcome).tolist()) <= shown
            continue
        assert set(index.find_lines(outcome=outcome).tolist()) == shown, outcome
    errors = set().union(*(index.find_lines(outcome=one).tolist() for one in ERRORS[game]))
    assert set(index.find_lines(outcome=ERROR).tolist()) == errors
    table = read_table(read_lines(log), filters=[keep], mixes=[mix] if mix else [])
    rows = stats.statistics(table, "line", mix)
    figure = {"wp": lambda r: r["mrr"] is not None and 1 - r["mrr"], "tc": lambda r: r["kpc"],
              "ic": lambda r: r["accuracy"] is not None and 1 - r["accuracy"]}[game]  # fmt: skip
    for loss, row in zip(index.loss, rows, strict=True):
        wanted = figure(row)
        assert (np.isnan(loss) and wanted in (None, False)) or loss == pytest.approx(wanted)


def test_the_worst_line_comes_first_then_the_longer_one_and_lines_of_nothing_last():
    rows = [
        [("a", 1)],
        [],
        [("b", None)],
        [("A", None), ("c", None)],
        [("a", 2)],
    ]
    log = [
        json.dumps(
            {
                "userId": "ann" if at < 3 else "bob",
                "wordPredictions": [{"target": word, "rank": rank} for word, rank in row],
            }
        ).encode()
        for at, row in enumerate(rows)
    ]
    index = indexed(log, "all")
    assert index.find_lines(worst_first=True).tolist() == [3, 2, 4, 0, 1]
    assert index.find_lines(word="a").tolist() == [0, 3, 4]
    assert index.find_lines(word="a", outcome="missed").tolist() == [3]
    assert index.find_lines(word="c", outcome="first").tolist() == []
    assert index.find_lines(word="a", user="ann").tolist() == [0]
    assert index.find_lines(word="nowhere").tolist() == []
    assert [index.place_of(number) for number in (1, 5, 6)] == [0, 4, None]


def of_version_5(game: str, seed: int) -> list[bytes]:
    some = random.Random(seed)
    rows = []
    for message in range(12):
        at = 0
        for number in range(some.randint(1, 5)):
            target = some.choice(WORDS)
            results = {
                "wc": {"completions": [some.sample([target[at:], *WORDS], 4) for at in range(len(target))]},
                "we": {"logp": some.choice([None, -0.5, -3.0, -9.0])},
                "wr": {"verbatim": "x", "results": [[target, some.choice([-1.0, -4.0]), -some.random()],
                                                    ["x", -1.5, some.choice([None, -2.0])]]},
            }[game]  # fmt: skip
            place = {
                "user": some.choice(["ann", None]) if number == 0 else rows[-1]["user"],
                "message": message,
            }
            rows.append({**place, "token": number, "character": at, "target": target,
                         "select": some.random() < 0.8, **results})  # fmt: skip
            at += len(target) + 1
    return [json.dumps(row).encode() + b"\n" for row in rows]


@pytest.mark.parametrize("game", ["wc", "we", "wr"])
@pytest.mark.parametrize("seed", range(3))
def test_so_has_a_message_of_version_5(game, seed):
    log = of_version_5(game, seed)
    tokens = list(version5_log.read(log))
    mixture = mixture_of(tokens)
    index = index_of_messages(tokens, game, mixture)
    drawn = list(coloured.messages_of(tokens, mixture))
    assert [line.number for line in drawn] == index.numbers.tolist()
    assert int(index.rows.sum()) == len(tokens)
    for outcome in outcomes_of(game):
        found = set(index.find_lines(outcome=outcome).tolist())
        shown = {at for at, line in enumerate(drawn) if outcome in {one.outcome for one in line.pieces}}
        if outcome == "typed":  # a word completed after some letters does not count as typed
            assert found <= shown
        else:
            assert found == shown, outcome
    for place, (first, rows) in enumerate(zip(index.numbers, index.rows, strict=True)):
        counts = version5.Counts()
        for _, token in tokens[first - 1 : first - 1 + rows]:
            counts.add(token)
        sums = counts.sums()
        wrong = sum(one.outcome in ERRORS["wr"] for one in drawn[place].pieces)
        above, below = {
            "wc": (sums["characters"] - sums["completion"]["characters"], sums["characters"]),
            "we": (sums["entropy"]["sum"], sums["entropy"]["tokens"]),
            "wr": (wrong, sums["tokens"]),
        }[game]
        assert index.counted[place] == below
        assert index.loss[place] == pytest.approx(above / below) if below else np.isnan(index.loss[place])
