"""Factorial designs: reading, storage, and the effects of edits to conditions."""

from __future__ import annotations

import json

import pytest

from lmgym.suites.blueprints import BLUEPRINTS
from lmgym.suites.formats import next_version, read_suite, write_json, write_long_csv
from lmgym.suites.formats.designs import (
    DesignError,
    cell_of,
    cells,
    check_meta,
    condition_name,
    empty_cells,
    factors_in,
    in_meta,
    looks,
    named_after_levels,
    outside,
    placed,
    read_factors,
    read_lines,
    written,
)
from tests.lmgym.suites.documents import suite_bytes, suite_json
from tests.lmgym.suites.edits import apply

CROSSED = read_lines("agreement: match, mismatch\nnumber: sing, plural")
FOUR = ["match_sing", "match_plural", "mismatch_sing", "mismatch_plural"]
VERBS = [{"name": "verb", "levels": ["good", "bad"], "conditions": {"match": "good", "mismatch": "bad"}}]


def with_verbs():
    return read_suite(
        json.dumps(suite_json() | {"meta": {"name": "a", "metric": "sum", "factors": VERBS}}).encode()
    )


def test_typed_factors_cross_into_named_conditions_the_last_changing_fastest():
    assert [condition_name(cell) for cell in cells(CROSSED)] == FOUR


def test_two_factors_set_colour_and_shape_in_charts():
    design = named_after_levels(CROSSED, FOUR)
    assert looks(design, FOUR) == {
        "match_sing": (0, 0), "match_plural": (0, 1), "mismatch_sing": (1, 0), "mismatch_plural": (1, 1),
    }  # fmt: skip
    assert looks(design, [*FOUR, "filler"]) == looks(design[:1], FOUR) == looks((), FOUR) == {}


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ("number sing, plural", "write a factor as name: level, level"),
        ("number: sing", "“number” has 1 level; a factor has 2 to 20"),
        ("number: sing, sing", "has the level “sing” twice"),
        (": sing, plural", "Every factor needs a name"),
        ("number: a, b\nNumber: c, d", "would share a column in tables"),
        ("\n".join(f"f{k}: a, b" for k in range(7)), "7 factors; a design has at most 6"),
        ("a: 1,2,3,4,5,6,7,8,9,10,11\nb: 1,2,3,4,5,6,7,8,9,10", "110 conditions; a suite has at most 100"),
        (f"{'x' * 201}: a, b", "more than 200 characters"),
    ],
)
def test_factors_that_cannot_be_are_refused_in_words(lines, says):
    with pytest.raises(DesignError) as caught:
        read_lines(lines)
    assert says in caught.value.message


@pytest.mark.parametrize(
    ("factors", "says"),
    [
        ({}, "Factors must be a list"),
        ([1], "A factor must have the form {name, levels, conditions}"),
        ([{"name": "f", "levels": "ab"}], "The levels of “f” must be a list"),
        ([{"name": "f", "levels": ["a", "b"], "conditions": []}], "Conditions must have the form"),
        ([{"name": "f", "levels": ["a", "b"], "conditions": {"match": "c"}}], "“f” has no level “c”"),
        ([{"name": "f", "levels": ["a", "b"], "conditions": {"gone": "a"}}], "There is no condition “gone”"),
        (
            [{"name": "f", "levels": ["a", "b"], "conditions": {"match": "a", "mismatch": "a"}}],
            "the same levels: a",
        ),
        (
            [*VERBS, {"name": "g", "levels": ["a", "b"], "conditions": {"match": "a"}}],
            "“mismatch” has no level of “g”",
        ),
    ],
)
def test_a_written_design_must_fit_the_conditions(factors, says):
    with pytest.raises(DesignError) as caught:
        read_factors(factors, ["match", "mismatch"])
    assert says in caught.value.message


def test_conditions_called_after_levels_in_any_order_and_spelling_find_their_cells():
    design = named_after_levels(CROSSED, ["sing_match", "Mismatch-Sing", "match plural", "filler"])
    assert [cell_of(design, name) for name in ("sing_match", "Mismatch-Sing", "match plural")] == [
        ("match", "sing"),
        ("mismatch", "sing"),
        ("match", "plural"),
    ]
    assert outside(design, ["sing_match", "filler"]) == ["filler"]
    assert empty_cells(design) == [("mismatch", "plural")]


def test_a_file_keeps_its_design_and_its_hash_does_not_know_it():
    document = with_verbs()
    assert document.sha256() == read_suite(suite_bytes()).sha256()
    again = read_suite(write_json(document).encode())
    assert again == document
    assert written(factors_in(again.meta, again.conditions)) == VERBS


@pytest.mark.parametrize(
    ("value", "notices"),
    [
        (VERBS, 0),
        ([{"name": "verb", "levels": ["match", "mismatch"]}], 0),
        ("number, gender", 1),
        ([{"name": "verb", "levels": ["good", "bad"], "conditions": {"third": "good"}}], 1),
    ],
)
def test_factors_that_mean_something_else_are_kept_and_said(value, notices):
    given = suite_json() | {"meta": {"name": "a", "metric": "sum", "factors": value}}
    document = read_suite(json.dumps(given).encode())
    assert json.loads(write_json(document))["meta"]["factors"] == value
    assert len([n for n in document.notices if "factorial design" in n.message]) == notices


def test_factors_without_conditions_take_those_called_after_the_levels():
    meta = {"factors": [{"name": "verb", "levels": ["match", "mismatch"]}]}
    [factor] = factors_in(meta, ["match", "mismatch", "other"])
    assert factor.conditions == {"match": "match", "mismatch": "mismatch"}


def test_the_design_follows_the_edits_of_conditions():
    document = with_verbs()
    document = apply(document, [{"op": "rename_condition", "name": "match", "to": "agrees"}])
    [factor] = factors_in(document.meta, document.conditions)
    assert factor.conditions == {"agrees": "good", "mismatch": "bad"}
    document = apply(document, [{"op": "insert_condition", "at": 0, "name": "filler", "rows": {}}])
    document = apply(document, [{"op": "delete_condition", "name": "mismatch"}])
    design = factors_in(document.meta, document.conditions)
    assert outside(design, document.conditions) == ["filler"]
    assert empty_cells(design) == [("bad",)]
    assert document.meta["factors"] == written(design)


def test_an_edit_that_does_not_touch_the_design_leaves_the_meta_block_alone():
    given = suite_json() | {"meta": {"name": "a", "metric": "sum", "factors": "number, gender"}}
    document = read_suite(json.dumps(given).encode())
    assert apply(document, [{"op": "rename_condition", "name": "match", "to": "m"}]).meta == document.meta


def test_a_table_as_a_new_version_keeps_what_still_fits():
    older = with_verbs()
    table = apply(
        older,
        [
            {"op": "set_predictions", "predictions": []},
            {"op": "rename_condition", "name": "match", "to": "m"},
        ],
    )
    newer = next_version(
        read_suite(write_long_csv(table).encode(), "a.csv"),
        apply(older, [{"op": "set_predictions", "predictions": []}]),
    )
    assert newer.meta["factors"][0]["conditions"] == {"mismatch": "bad"}


def test_no_factors_leave_no_trace():
    assert in_meta({"author": "A", "factors": VERBS}, ()) == {"author": "A"}


@pytest.mark.parametrize("slug", ["agreement", "filler-gap", "garden-path"])
def test_the_crossed_templates_say_their_factors(slug):
    document = BLUEPRINTS[slug].document()
    design = factors_in(document.meta, document.conditions)
    assert len(design) == 2
    assert not empty_cells(design)
    assert not outside(design, document.conditions)


def test_a_design_placed_by_hand_is_what_was_placed():
    design = placed(CROSSED, {("match", "sing"): "a", ("mismatch", "plural"): "b"})
    assert cell_of(design, "b") == ("mismatch", "plural")
    assert cell_of(design, "c") is None


def test_check_meta_without_factors_says_nothing():
    check_meta({}, ["a"], None)
