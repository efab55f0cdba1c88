"""The four questions and their scores, on files small enough to work out by hand."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmgym.propara import ProParaError, evaluate
from lmgym.propara.grid import read_grids
from lmgym.propara.stem import stem
from lmgym.propara.summary import Conversion, Move, is_input, is_output, summarise
from lmgym.propara.terms import location_overlap, normalise_phrase, participant_overlap
from tests.lmgym.propara.worlds import LIGHT, shipped, submissions, tsv


def summary(*rows: str):
    return summarise(read_grids(tsv(*rows), "f")[1])


def test_the_four_answers_about_light():
    found = summarise(read_grids(LIGHT, "f")[7])
    assert found.inputs == ("gas",)
    assert found.outputs == ("light OR rays",)
    assert found.conversions == (Conversion("gas", "light OR rays", "star", 2),)
    assert found.moves == (
        Move("light OR rays", "star", "space", 3),
        Move("light OR rays", "space", "soil", 4),
    )


def test_a_prediction_worked_out_by_hand():
    """One of two moves is predicted, from a wrong location. The pair scores (1 + 0 + 1) / 3, which is divided
    by one prediction for precision, and by two answers for recall.
    """
    predictions = LIGHT.replace("MOVE\tstar\tspace", "NONE\tstar\tstar").replace("MOVE\tspace", "MOVE\tstar")
    report = evaluate(LIGHT, predictions)
    assert report.processes[0].scores["moves"] == pytest.approx((2 / 3, 1 / 3))
    assert report.questions["moves"].precision == 0.667
    assert (report.precision, report.recall) == ((1 + 1 + 1 + 0.667) / 4, (1 + 1 + 1 + 0.333) / 4)
    missed = [pair for pair in report.processes[0].pairs("moves") if pair.score == 0]
    assert [pair.reason for pair in missed] == ["different steps: 3 and 4"]


@pytest.mark.parametrize(
    ("actions", "goes_in", "comes_out"),
    [
        ("NONE DESTROY", True, False),
        ("MOVE DESTROY NONE", True, False),
        ("DESTROY MOVE", False, False),
        ("CREATE DESTROY", False, False),
        ("CREATE MOVE", False, True),
        ("MOVE CREATE", False, False),
        ("NONE MOVE", False, False),
        ("DESTROY MOVE DESTROY", True, False),
    ],
)
def test_inputs_and_outputs_follow_from_the_actions(actions, goes_in, comes_out):
    assert (is_input(actions.split()), is_output(actions.split())) == (goes_in, comes_out)


def test_destroyed_and_then_created_is_a_conversion_unless_at_the_last_pair_of_steps():
    rows = ["1 1 a DESTROY x -", "1 1 b NONE - -", "1 2 b CREATE - y", "1 2 a NONE - -"]
    longer = ["1 3 a NONE - -", "1 3 b NONE y y", "1 4 a NONE - -", "1 4 b NONE y y"]
    assert summary(*rows).conversions == ()
    assert summary(*rows, *longer).conversions == (Conversion("a", "b", "y AND x", 1),)


def test_created_and_then_destroyed_is_a_conversion_too():
    rows = ["1 1 a CREATE - x", "1 2 a NONE x x", "1 1 b NONE y y", "1 2 b DESTROY y -"]
    longer = ["1 3 a NONE x x", "1 3 b NONE - -", "1 4 a NONE x x", "1 4 b NONE - -"]
    assert summary(*rows, *longer).conversions == (Conversion("b", "a", "y AND x", 1),)


def test_a_participant_without_a_name_is_converted_as_any_other():
    rows = ["1 1 a DESTROY x -", "1 1 _ NONE - -", "1 2 _ CREATE - y", "1 2 a NONE - -", "1 4 a NONE - -"]
    assert summary(*rows).conversions == (Conversion("a", "", "y AND x", 1),)


def test_a_move_is_an_action_or_a_change_of_place():
    assert summary("1 1 a MOVE x x", "1 2 a NONE y y").moves == (
        Move("a", "x", "x", 1),
        Move("a", "x", "y", 2),
    )


@pytest.mark.parametrize(
    ("phrase", "normal"),
    [
        ("Branches", "branch"),
        ("a branch", "branch"),
        ("the the sun", "the sun"),
        ("THE SKIES", "sky"),
        ("sandy or wet place", "sandy or wet plac"),
        ("their display", "display"),
        ("raining cats and dogs", "raining cats and dog"),
        ("", ""),
    ],
)
def test_locations_are_normalised_as_one_word(phrase, normal):
    assert normalise_phrase(phrase) == normal


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("caresses", "caress"),
        ("ponies", "poni"),
        ("dies", "die"),
        ("agreed", "agre"),
        ("plastered", "plaster"),
        ("hopping", "hop"),
        ("falling", "fall"),
        ("filing", "file"),
        ("happy", "happi"),
        ("enjoy", "enjoy"),
        ("relational", "relat"),
        ("vietnamization", "vietnam"),
        ("geologi", "geolog"),
        ("hopefulness", "hope"),
        ("adjustment", "adjust"),
        ("adoption", "adopt"),
        ("controll", "control"),
        ("news", "news"),
        ("as", "as"),
    ],
)
def test_words_of_porters_paper_and_of_the_extensions(word, expected):
    assert stem(word) == expected


def test_a_run_of_y_of_any_length_is_scored():
    """The reference's stemmer exceeds Python's recursion limit here."""
    assert location_overlap("sea", "y" * 1_500 + " ponding") == 0.0
    answers = tsv(f"7 1 gas DESTROY {'y' * 1_500} -", "7 1 light CREATE - sea")
    report = evaluate(answers, answers.replace("sea", "lake"))
    assert not report.errors
    assert 0 < report.f1 < 1


@pytest.mark.parametrize(
    ("answer", "prediction", "score"),
    [
        ("", "", 1.0),
        ("", "-", 0.0),
        ("plant OR leaf", "leaf", 1.0),
        ("dew", "dew AND sun", 0.5),
        ("dew AND sun", "dew AND blah1 AND blah2", 0.25),
        ("sun", "sun AND the sun", 2.0),
        ("sun AND a sun", "the sun AND sun AND suns", -6.0),
        ("unk", "unk", 1.0),
    ],
)
def test_overlaps_are_the_references_even_where_they_leave_the_unit_interval(answer, prediction, score):
    assert location_overlap(answer, prediction) == score


def test_participants_are_not_normalised():
    assert (participant_overlap("ant", "Ants"), participant_overlap("a OR b", "b OR c")) == (0.0, 1.0)


def test_equal_counts_give_recall_the_precision():
    answers = tsv("1 1 a;~b DESTROY x -", "1 1 c DESTROY x -")
    process = evaluate(answers, answers).processes[0]
    assert process.scores["inputs"] == (1.0, 1.0)


def test_a_division_by_zero_is_an_error_of_its_process_and_not_a_crash():
    answers = tsv("1 1 a DESTROY Sun -", "1 1 c CREATE - the~sun", "2 1 a NONE ? ?")
    predictions = tsv("1 1 a DESTROY sun -", "1 1 c CREATE - a~sun", "2 1 a NONE ? ?")
    report = evaluate(answers, predictions)
    assert (report.f1, report.precision, report.recall, report.questions) == (None, None, None, {})
    assert {pid: error.code for pid, error in report.errors.items()} == {1: "division-by-zero"}
    assert report.processes[1].scores["moves"] == (1.0, 1.0)
    assert report.corrected.f1 == 1.0
    assert "no-score" in {flag.code for flag in report.warnings}


def test_the_shipped_answers_have_all_kinds_of_events():
    report = evaluate(shipped("answers"), shipped("careful"), shipped("sentences"))
    assert report.n_answers >= 12
    actions = {row.split("\t")[3] for row in shipped("answers").splitlines()}
    assert actions == {"NONE", "CREATE", "MOVE", "DESTROY"}
    assert all(len(one.sentences) == one.answer_grid.steps for one in report.processes)
    assert report.f1 > evaluate(shipped("answers"), shipped("hasty")).f1
    assert evaluate(shipped("answers"), shipped("answers")).warnings == []


@given(submissions())
def test_the_corrected_metric_stays_between_0_and_1(texts):
    found = evaluate(*texts).corrected
    for value in (
        found.precision,
        found.recall,
        found.f1,
        *[x for one in found.questions.values() for x in one],
    ):
        assert 0 <= value <= 1


@given(submissions())
def test_answers_against_themselves_are_1_or_a_warning_names_why(texts):
    report = evaluate(texts[0], texts[0])
    assert report.corrected.f1 == 1.0
    named = {flag.code for flag in report.warnings}
    assert report.f1 == 1.0 or named & {"no-score", "pair-above-one"}


@given(submissions(), st.randoms())
def test_the_order_of_rows_changes_nothing_without_a_warning(texts, rng: random.Random):
    shuffled = []
    for text in texts:
        rows = text.splitlines(keepends=True)
        rng.shuffle(rows)
        shuffled.append("".join(rows))
    first, second = evaluate(*texts), evaluate(*shuffled)
    assert first.corrected == second.corrected
    if not any(flag.code == "order-decides" for one in (first, second) for flag in one.warnings):
        assert first.errors.keys() == second.errors.keys()
        assert first.f1 is None or (first.precision, first.recall) == pytest.approx(
            (second.precision, second.recall), abs=2e-3
        )


def test_an_empty_seventh_column_is_taken():
    wide = LIGHT.replace("\n", "\t\n")
    assert evaluate(wide, wide).f1 == evaluate(LIGHT, wide).f1 == 1.0


def test_equal_files_whose_terms_overlap_twice_score_above_1():
    """One move is to two locations, the other to one of them under two names."""
    text = tsv("1 1 a MOVE x sea~AND~the~sea", "1 1 b;~a MOVE x the~sea")
    assert evaluate(text, text).processes[0].scores["moves"].precision > 1


@pytest.mark.parametrize("end", ["\r\n", "\r"])
def test_line_ends_of_other_systems_change_nothing(end):
    texts = shipped("answers"), shipped("hasty")
    assert evaluate(*(text.replace("\n", end) for text in texts)).as_dict() == evaluate(*texts).as_dict()


def test_files_that_cannot_be_scored_raise_with_the_references_words_and_all_problems():
    with pytest.raises(ProParaError) as raised:
        evaluate(LIGHT, LIGHT.replace("MOVE", "WALK") + "\n", predictions_file="mine.tsv")
    assert str(raised.value) == (
        "Corrupted action file mine.tsv on line 9 (not enough values to unpack (expected 2, got 1))"
    )
    assert [(one.line, one.code) for one in raised.value.problems] == [
        (7, "action"),
        (8, "action"),
        (9, "blank-line"),
    ]
