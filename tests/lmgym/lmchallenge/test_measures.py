"""Metrics measured token by token equal those of the statistics, in comparisons, breakdowns and charts."""

from __future__ import annotations

import json
import random
from dataclasses import replace

import numpy as np
import pytest

from lmgym.lmchallenge.errors import LogError, OptionError
from lmgym.lmchallenge.logs import stats
from lmgym.lmchallenge.logs.compare import compare
from lmgym.lmchallenge.logs.decoder import read_lines
from lmgym.lmchallenge.logs.extra_metrics import bits_per_character, keystroke_savings
from lmgym.lmchallenge.logs.interpolation import grid
from lmgym.lmchallenge.logs.measures import LOWER_IS_BETTER, METRICS, measure, ranks
from lmgym.lmchallenge.logs.table import Table, read_table
from lmgym.lmchallenge.logs.version5 import log as version5_log
from lmgym.lmchallenge.logs.version5 import stats as version5
from lmgym.lmchallenge.logs.version5.table import read_table as read_table_5
from lmgym.stats import corrected, holm
from tests.lmgym.lmchallenge.test_text_index import KEYS, a_log, of_version_5


def table_of(game: str, keep: str, seed: int) -> Table:
    return read_table(read_lines(a_log(game, seed)), filters=[keep], mixes=grid() if game == "ic" else [])


@pytest.mark.parametrize("game", KEYS)
@pytest.mark.parametrize("keep", ["all", "alphaemoji", "emoji"])
@pytest.mark.parametrize("seed", range(3))
def test_what_is_measured_is_what_the_reference_counts(game, keep, seed):
    table = table_of(game, keep, seed)
    (whole,) = stats.statistics(table)
    lines = stats.statistics(table, "line")
    compared = 0
    for name in METRICS[game]:
        found = measure(table, name)
        if name in whole:
            compared += 1
            assert (
                found.value == pytest.approx(whole[name]) if whole[name] is not None else found.value is None
            )
            above, below = found.by(table.line, len(table.lines))
            for at, row in enumerate(lines):
                value = above[at] / below[at] if below[at] else None
                wanted = row.get(
                    name, 0.0 if below[at] else None
                )  # the reference omits idxN_hit3 if there are no ranks
                assert value == pytest.approx(wanted) if wanted is not None else value is None
    assert compared >= 2
    if game == "wp":
        assert measure(table, "bits").value == pytest.approx(bits_per_character(table).value)
        assert (
            measure(table, "hit7").value is None
            or measure(table, "hit3").value <= measure(table, "hit7").value
        )
    if game == "tc":
        assert measure(table, "keystroke_savings").value == pytest.approx(keystroke_savings(table).value)


@pytest.mark.parametrize(("game", "block"), [("wc", "prediction"), ("we", "entropy"), ("wr", "reranking")])
@pytest.mark.parametrize("seed", range(3))
def test_so_it_is_of_version_5(game, block, seed):
    tokens = list(version5_log.read(of_version_5(game, seed)))
    counts = version5.count(tokens)
    rates, table = counts.rates(), read_table_5(tokens, game)
    for name in METRICS[game]:
        part, _, own = name.partition(".")
        wanted = rates.get(part, {}).get(own) if own else rates.get(block, {}).get(name)
        if wanted is not None:
            assert measure(table, name).value == pytest.approx(wanted), name
    if game == "we":
        bits = counts.sums()["entropy"]["sum"] / np.log(2) / counts.characters_scored
        assert measure(table, "entropy.bits").value == pytest.approx(bits)


def test_ranks_add_up_to_the_whole():
    table = table_of("wp", "all", 1)
    (whole,) = stats.statistics(table)
    found = ranks(table, most=5)
    assert (
        sum(n for _, n in found["counts"]) + found["beyond"] + found["missed"] == found["n"] == whole["words"]
    )
    assert sum(n for rank, n in found["counts"] if rank <= 3) == pytest.approx(whole["hit3"] * whole["words"])


@pytest.mark.parametrize("game", KEYS)
def test_a_comparison_by_any_metric_is_the_difference_of_the_two_figures(game):
    first = table_of(game, "all", 1)
    some = random.Random(5)
    rows = [json.loads(line) for line in a_log(game, 1)]
    for row in rows:
        for entry in row[KEYS[game]]:
            if "rank" in entry and some.random() < 0.5:
                entry["rank"] += 3
            if game == "tc" and some.random() < 0.3:
                entry.pop("rank", None)
            if game == "ic":
                entry["candidates"][-1][-1] = -0.1
    second = read_table(
        read_lines([json.dumps(row).encode() for row in rows]), filters=["all"], mixes=first.mixes
    )
    for name in METRICS[game]:
        found = compare(first, second, metric=name)
        assert (found.first_value, found.second_value) == (
            measure(first, name).value,
            measure(second, name).value,
        )
        if found.difference is not None and found.verdict in ("better", "worse"):
            gained = found.difference < 0 if name in LOWER_IS_BETTER else found.difference > 0
            assert (found.verdict == "better") == gained
        back = compare(second, first, metric=name)
        if found.difference is not None:
            assert back.difference == pytest.approx(-found.difference)
    with pytest.raises(OptionError, match="Unknown metric 'x'"):
        compare(first, second, metric="x")


def test_p_values_of_one_table_are_corrected_together_and_the_verdict_follows():
    first, second = table_of("wp", "all", 1), table_of("wp", "all", 1)
    one = compare(first, second)
    rows = [replace(one, difference=0.1, low=0.01, high=0.2, p=p) for p in (0.01, 0.03, 0.04)]
    found = corrected(rows)
    assert [row.p_corrected for row in found] == holm([0.01, 0.03, 0.04])
    assert [row.verdict for row in found] == [
        "better",
        "no significant difference",
        "no significant difference",
    ]


def both_versions(seed: int) -> tuple[list[bytes], list[bytes]]:
    """Return a wp log with empty lines, and a wc log of the same answers, which has no empty lines."""
    some = random.Random(seed)
    old, new = [], []
    for message in range(20):
        words = [some.choice(["the", "cat", "sat"]) for _ in range(some.choice([0, 2, 5]))]
        entries, at = [], 0
        for number, word in enumerate(words):
            answers = some.sample(["the", "cat", "sat", "dog", "on"], 4)
            rank = answers.index(word) + 1 if word in answers else None
            entries.append({"target": word, **({"rank": rank, "score": -rank} if rank else {})})
            place = {"user": None, "message": message, "token": number, "character": at, "target": word}
            new.append({**place, "completions": [answers]})
            at += len(word) + 1
        old.append({"wordPredictions": entries})
    return tuple([json.dumps(row).encode() + b"\n" for row in rows] for rows in (old, new))  # type: ignore[return-value]


@pytest.mark.parametrize("metric", ["hit1", "hit3", "hit5", "mrr", "hit", "idx0_hit3"])
def test_figures_that_correspond_are_equal_in_both_versions(metric):
    old, new = both_versions(3)
    first = read_table(read_lines(old), filters=["all"]).without_empty_lines()
    second = read_table_5(version5_log.read(new), "wc")
    found = compare(first, second, metric=metric)
    assert found.difference == 0
    assert found.second_value > 0
    with pytest.raises(OptionError, match="Unknown metric 'bits' for wp, wc"):
        compare(first, second, metric="bits")
    with pytest.raises((LogError, OptionError)):
        compare(first, read_table_5(version5_log.read(of_version_5("wr", 1)), "wr"))
