"""Kinds of mistakes, the confusion matrix of actions, and damaged files."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lmgym.propara import evaluate
from lmgym.propara.digest import digest
from lmgym.propara.errors import ProcessFailure, ProParaError
from lmgym.propara.grid import read_grids
from lmgym.propara.mistakes import CODES, confusion, mistakes
from lmgym.propara.scoring import PAIR_SCORES, question_score
from lmgym.propara.summary import summarise
from lmgym.propara.uploads import parse_upload
from tests.lmgym.propara.worlds import LIGHT, shipped, submissions, tsv


def found(answers: str, predictions: str) -> list[tuple[str, int, int]]:
    grids = [read_grids(tsv(*text.split("|")), "x")[1] for text in (answers, predictions)]
    return [(one.code, one.step, one.offset) for one in mistakes(*grids)]


@pytest.mark.parametrize(
    ("answers", "predictions", "expected"),
    [
        ("1 1 a CREATE - x", "1 1 a NONE - -", [("missed-create", 1, 0)]),
        ("1 1 a NONE x x", "1 1 a DESTROY x -", [("spurious-destroy", 1, 0)]),
        ("1 1 a MOVE x y", "1 1 a DESTROY x -", [("wrong-action", 1, 0)]),
        ("1 1 a MOVE x y", "1 1 a MOVE x z", [("wrong-location", 1, 0)]),
        ("1 1 a MOVE sea pond", "1 1 a MOVE the~seas a~pond", []),
        ("1 1 a MOVE x y|1 2 a NONE y y", "1 1 a NONE x x|1 2 a MOVE x y", [("wrong-step", 1, 1)]),
        ("1 1 a NONE x x|1 2 a MOVE x y", "1 1 a MOVE x y|1 2 a NONE y y", [("wrong-step", 2, -1)]),
        (
            "1 1 a MOVE x y|1 2 a MOVE y z",
            "1 1 a MOVE x y|1 2 a NONE y y|1 3 a MOVE y z",
            [("wrong-step", 2, 1)],
        ),
    ],
)
def test_kinds(answers, predictions, expected):
    assert found(answers, predictions) == expected


def test_every_step_of_the_answers_is_counted_once():
    grids = [read_grids(shipped(name), name) for name in ("answers", "hasty")]
    table = confusion((grid, grids[1][pid]) for pid, grid in grids[0].items())
    assert sum(n for row in table.values() for n in row.values()) == shipped("answers").count("\n")
    assert sum(table["CREATE"].values()) == shipped("answers").count("\tCREATE\t")


unhurried = settings(suppress_health_check=[HealthCheck.too_slow])


@unhurried
@given(submissions())
def test_answers_themselves_have_no_mistakes_and_digests_are_json(pair):
    answers, predictions = pair
    for grid in read_grids(answers, "x").values():
        assert mistakes(grid, grid) == []
    report = digest(evaluate(answers, predictions), 10)
    assert json.loads(json.dumps(report, allow_nan=False)) == report
    for row in report["processes"]:
        assert row["mistakes"].keys() <= CODES.keys()
        assert 0 <= row["corrected_f1"] <= 1


@unhurried
@given(st.data())
def test_no_file_breaks_the_intake_and_what_it_lets_in_can_be_scored(data):
    """Replace cells of a valid file, and append copies of its lines."""
    rows = [line.split("\t") for line in LIGHT.splitlines()]
    cell = st.one_of(
        st.text(max_size=6), st.sampled_from(["-", "?", "1", "0", "-1", "MOVE", "create", "\ufeff", "9" * 30])
    )
    for _ in range(data.draw(st.integers(0, 4))):
        row = data.draw(st.sampled_from(rows))
        if row:
            row[data.draw(st.integers(0, len(row) - 1))] = data.draw(cell)
        if data.draw(st.booleans()):
            rows.append(list(data.draw(st.sampled_from(rows))))
    text = "\n".join("\t".join(row) for row in rows)
    try:
        intake = parse_upload(text.encode("utf-8", "surrogatepass"), LIGHT)
    except ProParaError as error:
        assert error.problems
    else:
        report = evaluate(LIGHT, intake.text)
        assert report.n_answers == 1


KEYS = ["process_id", "participants", "answers", "gas", "light; rays", "locations", "processes"]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4) | st.sampled_from([7, "star"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner),
    max_leaves=20,
)


@unhurried
@given(JSON)
def test_no_json_breaks_the_intake(data):
    try:
        parse_upload(json.dumps([data]).encode(), LIGHT)
    except ProParaError as error:
        assert error.problems


@unhurried
@given(submissions())
def test_looking_at_pairs_of_one_step_alone_changes_no_score(pair):
    answers, predictions = (read_grids(text, "x") for text in pair)
    for pid, grid in answers.items():
        one, other = summarise(grid), summarise(predictions[pid])
        for name in ("conversions", "moves"):
            theirs, mine, pair_score = one.items(name), other.items(name), PAIR_SCORES[name]
            if not theirs or not mine:
                continue
            try:
                best = [max(0.0, *[pair_score(answer, p) for answer in theirs]) for p in mine]
            except ProcessFailure:
                with pytest.raises(ProcessFailure):
                    question_score(theirs, mine, pair_score)
            else:
                precision = question_score(theirs, mine, pair_score).precision
                assert precision == pytest.approx(sum(best) / len(mine))
