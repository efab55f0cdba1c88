"""Edits of a document: effects and refusals of every op; no sequence of ops breaks a document."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmgym.suites.editing import EditError
from lmgym.suites.formats import read_json, write_json
from tests.lmgym.suites.edits import an_edit, apply, apply_fitting, predictions_of, start


def cells(doc, item, condition):
    return list(doc.table()[item, condition].contents)


def assert_sound(doc):
    """Assert that items have the document's conditions in its order, and sentences have all its regions."""
    by_item: dict[int, list[str]] = {}
    for sentence in doc.sentences:
        by_item.setdefault(sentence.item, []).append(sentence.condition)
        assert len(sentence.contents) == len(doc.region_names)
        assert sentence.raw is None or len(sentence.raw) == len(sentence.contents)
        assert sentence.raw != sentence.contents
        assert all(1 <= int(key) <= len(doc.region_names) for key in sentence.extra.get("regions", {}))
    assert all(names == list(doc.conditions) for names in by_item.values())
    assert list(by_item) == list(doc.items)
    assert len(set(doc.conditions)) == len(doc.conditions)
    assert all(int(key) in by_item for key in doc.extra.get("items", {}))


@given(st.data())
def test_no_sequence_of_edits_breaks_a_document(data):
    doc = start()
    for _ in range(data.draw(st.integers(1, 8))):
        ops = data.draw(an_edit(doc))
        before = replace(doc)
        after = apply(doc, ops)
        assert doc == before
        assert_sound(after)
        assert apply_fitting(doc, ops) == (after, [])
        doc = after
    if doc.sentences and all(p.formula == "" for p in doc.predictions):
        assert read_json(write_json(doc).encode()) == doc


def test_a_cell_is_written_when_it_holds_what_the_editor_saw():
    doc = start()
    after = apply(doc, [{"op": "set_cells", "cells": [[1, "match", 2, "plays", "  sings \n loudly "]]}])
    assert cells(after, 1, "match") == ["The woman", "sings loudly", "all day."]
    assert cells(doc, 1, "match")[1] == "plays"


def test_a_cell_that_somebody_changed_is_reported_and_the_others_are_written():
    op = {
        "op": "set_cells",
        "cells": [[1, "match", 2, "plaid", "sings"], [1, "match", 1, "The woman", "She"]],
    }
    after, conflicts = apply_fitting(start(), [op])
    assert [(c.item, c.region, c.old, c.yours, c.theirs) for c in conflicts] == [
        (1, 2, "plaid", "sings", "plays")
    ]
    assert cells(after, 1, "match")[:2] == ["She", "plays"]


def test_two_people_who_write_the_same_do_not_disagree():
    op = {"op": "set_cells", "cells": [[1, "match", 2, "something else", "plays"]]}
    assert apply(start(), [op]) == start()


def test_the_file_s_own_blanks_are_kept_for_the_cells_that_nobody_touched():
    doc = start()
    assert doc.table()[2, "match"].raw == ("The boys", " run ", "all day.")
    other = apply(doc, [{"op": "set_cells", "cells": [[2, "match", 1, "The boys", "Boys"]]}])
    assert other.table()[2, "match"].raw == ("Boys", " run ", "all day.")
    same = apply(doc, [{"op": "set_cells", "cells": [[2, "match", 2, "run", "ran"]]}])
    assert same.table()[2, "match"].raw is None


def test_unknown_keys_travel_with_their_region_and_item():
    doc = apply(
        start(),
        [
            {"op": "insert_region", "at": 1, "name": "Pre", "texts": [[1, "match", "Well,"]]},
            {"op": "renumber_item", "item": 1, "to": 9},
        ],
    )
    assert doc.table()[2, "match"].extra == {"regions": {"3": {"oovs": ["plays"]}}}
    assert doc.extra["items"] == {"9": {"note": "kept"}}
    assert cells(doc, 9, "match")[0] == "Well,"
    gone = apply(doc, [{"op": "delete_region", "region": 3}, {"op": "delete_items", "items": [9]}])
    assert gone.table()[2, "match"].extra == {}
    assert "items" not in gone.extra


def test_items_are_inserted_moved_and_deleted():
    doc = apply(
        start(),
        [
            {"op": "insert_items", "at": 0, "items": [{"number": 7, "rows": {"match": ["a", "b", "c"]}}]},
            {"op": "move_item", "item": 7, "to": 2},
            {"op": "delete_items", "items": [1]},
        ],
    )
    assert doc.items == (2, 7, 3)
    assert cells(doc, 7, "mismatch") == ["", "", ""]


def test_conditions_are_inserted_moved_renamed_and_deleted():
    doc = apply(
        start(),
        [
            {"op": "insert_condition", "at": 1, "name": "odd", "rows": {"1": ["x", "y", "z"]}},
            {"op": "move_condition", "name": "mismatch", "to": 0},
            {"op": "rename_condition", "name": "odd", "to": "strange"},
            {"op": "delete_condition", "name": "match"},
        ],
    )
    assert doc.conditions == ("mismatch", "strange")
    assert [s.condition for s in doc.sentences[:2]] == ["mismatch", "strange"]
    assert cells(doc, 1, "strange") == ["x", "y", "z"]


def test_regions_are_moved_renamed_and_deleted():
    doc = apply(
        start(),
        [
            {"op": "move_region", "region": 1, "to": 3},
            {"op": "rename_region", "region": 1, "to": "V"},
            {"op": "delete_region", "region": 2},
        ],
    )
    assert doc.region_names == ("V", "Subject")
    assert cells(doc, 1, "match") == ["plays", "The woman"]


def test_predictions_keep_what_the_page_does_not_know():
    doc = start()
    doc = replace(doc, predictions=(replace(doc.predictions[0], extra={"by": "me"}),))
    old = predictions_of(doc)
    new = [
        {"name": "n", "description": "", "formula": "(1;%match%) > 0"},
        {**old[0], "formula": old[0]["formula"]},
    ]
    after = apply(doc, [{"op": "set_predictions", "old": old, "predictions": new}])
    assert [p.extra for p in after.predictions] == [{}, {"by": "me"}]
    with pytest.raises(EditError, match="the predictions changed since"):
        apply(after, [{"op": "set_predictions", "old": old, "predictions": []}])


@pytest.mark.parametrize(
    ("op", "says"),
    [
        ({}, "unknown op"),
        ({"op": "drop_table"}, "unknown op"),
        ({"op": "set_cells", "cells": "x"}, "must be a list"),
        ({"op": "set_cells", "cells": [[1, "match", 2]]}, "a cell must have the form"),
        ({"op": "set_cells", "cells": [[1, "match", 9, "", "x"]]}, "no region 9"),
        ({"op": "set_cells", "cells": [[1, "nope", 1, "", "x"]]}, "no condition"),
        ({"op": "set_cells", "cells": [[99, "match", 1, "", "x"]]}, "no item 99"),
        ({"op": "set_cells", "cells": [[1, "match", 1, "The woman", "x" * 10_001]]}, "10,001 characters"),
        ({"op": "insert_items", "at": 0, "items": [{"number": 1}]}, "item 1 already"),
        ({"op": "insert_items", "at": 9, "items": []}, "from 0 to 3"),
        ({"op": "insert_items", "at": 0, "items": [{"number": 8, "rows": {"match": ["x"]}}]}, "3 texts"),
        ({"op": "insert_items", "at": 0, "items": [{"number": 8, "rows": {"z": []}}]}, "no condition"),
        ({"op": "insert_items", "at": 0, "items": [{"number": -1}]}, "not an item number"),
        (
            {"op": "insert_items", "at": 0, "items": [{"number": k} for k in range(9, 20_000)]},
            "at most 20,000",
        ),
        ({"op": "renumber_item", "item": 1, "to": 2}, "item 2 already"),
        ({"op": "rename_condition", "name": "match", "to": "mismatch"}, "already"),
        ({"op": "rename_condition", "name": "match", "to": "50 %"}, "% sign"),
        ({"op": "rename_condition", "name": "match", "to": "  "}, "needs a name"),
        ({"op": "rename_region", "region": 1, "to": ""}, "needs a name"),
        ({"op": "insert_condition", "at": 0, "name": "x", "rows": {"77": []}}, "no item 77"),
        ({"op": "delete_region", "region": True}, "whole number"),
        ({"op": "move_region", "region": 1, "to": 4}, "from 1 to 3"),
        ({"op": "set_predictions", "predictions": [{"formula": 3}]}, "must be text"),
        ({"op": "set_predictions", "predictions": [{}] * 201}, "at most 200"),
    ],
)
def test_an_op_that_does_not_fit_says_why(op, says):
    with pytest.raises(EditError, match=says):
        apply(start(), [op])


def test_a_suite_keeps_a_condition_and_a_region():
    one = apply(start(), [{"op": "delete_condition", "name": "match"}])
    with pytest.raises(EditError, match="at least one condition"):
        apply(one, [{"op": "delete_condition", "name": "mismatch"}])
    for _ in range(2):
        one = apply(one, [{"op": "delete_region", "region": 1}])
    with pytest.raises(EditError, match="at least one region"):
        apply(one, [{"op": "delete_region", "region": 1}])
