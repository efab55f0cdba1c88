"""Differences between two documents."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from lmgym.suites.diff import diff, word_pieces
from lmgym.suites.formats import PredictionDoc
from tests.lmgym.suites.edits import an_edit, apply, predictions_of, start


def after(*ops):
    return diff(start(), apply(start(), ops))


@given(st.data())
def test_a_difference_is_found_exactly_when_the_science_differs(data):
    old = start()
    new = apply(old, data.draw(an_edit(old)))
    assert not diff(old, old)
    assert not diff(new, new)
    if old.sha256() != new.sha256():
        assert diff(old, new)


def test_cells_are_named_by_item_condition_and_region():
    found = after({"op": "set_cells", "cells": [[1, "match", 3, "all day.", "all night long."]]})
    (cell,) = found.cells
    assert (cell.item, cell.condition, cell.region) == (1, "match", "Rest")
    assert cell.pieces == [("all", "same"), ("day.", "old"), ("night long.", "new")]
    assert (found.predictions, found.about, found.regions) == ([], [], [])


def test_a_renamed_region_is_no_heap_of_changed_cells():
    found = after({"op": "rename_region", "region": 2, "to": "V"})
    assert [(c.what, c.old, c.new, c.kind) for c in found.regions] == [("region 2", "Verb", "V", "changed")]
    assert found.cells == []


def test_an_inserted_region_leaves_the_others_alone():
    found = after({"op": "insert_region", "at": 1, "name": "Pre", "texts": [[1, "match", "Well,"]]})
    assert [(c.what, c.old, c.new, c.kind) for c in found.regions] == [("region 1", None, "Pre", "added")]
    assert [(c.item, c.region, c.old, c.new) for c in found.cells] == [(1, "Pre", "", "Well,")]


def test_a_moved_region_is_an_order_and_no_change():
    found = after({"op": "move_region", "region": 1, "to": 3})
    assert (found.cells, found.regions, found.reordered) == ([], [], ["regions"])


def test_conditions_and_items_come_go_and_move():
    found = after(
        {"op": "rename_condition", "name": "match", "to": "ok"},
        {"op": "delete_items", "items": [1]},
        {"op": "insert_items", "at": 0, "items": [{"number": 9}]},
        {"op": "move_item", "item": 2, "to": 2},
    )
    assert [(c.old, c.new) for c in found.conditions] == [("match", "ok")]
    assert (found.items_added, found.items_removed, found.reordered) == ([9], [1], ["items"])
    assert found.cells == []


def test_predictions_are_added_removed_and_changed():
    old = predictions_of(start())
    more = [{**old[0], "name": "named"}, {"name": "", "description": "", "formula": "(1;%match%) > 0"}]
    found = after({"op": "set_predictions", "old": old, "predictions": more})
    assert [(p.number, p.kind) for p in found.predictions] == [(1, "changed"), (2, "added")]
    gone = after({"op": "set_predictions", "old": old, "predictions": []})
    assert [(p.number, p.kind) for p in gone.predictions] == [(1, "removed")]


def test_a_removed_prediction_has_the_number_that_it_had():
    four = tuple(PredictionDoc(f"(1;%match%) > {n}") for n in range(4))
    found = diff(replace(start(), predictions=four), replace(start(), predictions=(four[1], four[3])))
    assert [(p.number, p.kind) for p in found.predictions] == [(1, "removed"), (3, "removed")]


def test_a_design_that_changed_is_told_in_words():
    old, new = (
        replace(
            start(),
            meta={
                "factors": [
                    {
                        "name": name,
                        "levels": levels,
                        "conditions": dict(zip(start().conditions, levels, strict=True)),
                    }
                    for name, levels in design.items()
                ]
            },
        )
        for design in ({"verb": ["good", "bad"]}, {"verb": ["good", "worse"], "number": ["sing", "plural"]})
    )
    assert [(c.what, c.old, c.new) for c in diff(old, new).about] == [
        ("factor verb", "good (match), bad (mismatch)", "good (match), worse (mismatch)"),
        ("factor number", None, "sing (match), plural (mismatch)"),
    ]


def test_other_values_of_a_file_are_told_without_brackets_and_quotes():
    old = replace(
        start(), meta={"sources": [{"by": "A", "year": 2019, "checked": True}, {"by": "B"}], "note": None}
    )
    new = replace(start(), meta={"sources": ["A", "B"], "note": {"by": ["A", "B"]}})
    assert [(c.what, c.old, c.new) for c in diff(old, new).about] == [
        ("sources", "by: A, year: 2019, checked: yes; by: B", "A, B"),
        ("note", "none", "by: A, B"),
    ]


def test_what_the_suite_says_about_itself():
    found = diff(start(), replace(start(), name="other", metric=("sum", "mean"), meta={"author": "me"}))
    assert [(c.what, c.old, c.new) for c in found.about] == [
        ("name", "agreement", "other"),
        ("metric", "sum", "sum, mean"),
        ("author", None, "me"),
    ]


def test_a_prediction_that_changed_names_the_parts():
    old = PredictionDoc("(1;%match%) > 0", "one", "Why.")
    found = diff(
        replace(start(), predictions=(old,)),
        replace(start(), predictions=(replace(old, name="two", description=""),)),
    )
    (change,) = found.predictions
    assert [(p.what, p.old, p.new) for p in change.parts] == [
        ("name", "one", "two"),
        ("description", "Why.", None),
    ]


def with_data(rows, items):
    """Return the suite with data of all sentences and of items."""
    document = start()
    sentences = tuple(replace(row, extra={"data": rows}) for row in document.sentences)
    return replace(document, sentences=sentences, extra={"items": items})


def test_item_data_is_told_by_item_and_in_words():
    old = with_data({"list": "A", "freq": 3}, {"1": {"verb": "see"}})
    new = with_data({"list": "A", "freq": 4, "ok": True}, {"1": {"verb": "hear"}, "3": {"verb": "go"}})
    found = diff(old, new)
    assert found.data_in_words == [
        ("verb", "changed in item 1; added to item 3"),
        ("freq", "changed in items 1-3"),
        ("ok", "added to items 1-3"),
    ]
    assert [(c.item, c.condition, c.name, c.old, c.new) for c in found.data[:3]] == [
        (1, "", "verb", "see", "hear"),
        (1, "match", "freq", "3", "4"),
        (1, "match", "ok", None, "yes"),
    ]
    gone = diff(new, apply(new, [{"op": "delete_items", "items": [1]}]))
    assert gone.data == []


def test_data_follows_a_renamed_condition():
    old = with_data({"list": "A"}, {})
    new = apply(old, [{"op": "rename_condition", "name": "match", "to": "m"}])
    assert diff(old, new).data == []


def test_words_of_both_texts_in_one_line():
    assert word_pieces("", "a b") == [("a b", "new")]
    assert word_pieces("oui !", "oui\u00a0!") == [("oui !", "old"), ("oui\u00a0!", "new")]
    assert word_pieces("a b", "") == [("a b", "old")]
    long = "a " * 200 + "b"
    assert word_pieces(long, f"{long} c") == [(long, "old"), (f"{long} c", "new")]
    assert word_pieces("a b c", "a x c") == [("a", "same"), ("b", "old"), ("x", "new"), ("c", "same")]
