"""The past of an edited suite: every earlier state is found again, and edits are described in words."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmgym.suites.formats import SentenceDoc
from lmgym.suites.history import Past, Step, steps_of, undo_of
from tests.lmgym.suites.edits import an_edit, apply, start

SPACES = ("space", "space")


def stored(undo):
    return json.loads(json.dumps(undo))


@given(st.data())
def test_every_earlier_state_is_found_again(data):
    states, undos = [start()], []
    for _ in range(data.draw(st.integers(1, 8))):
        after = apply(states[-1], data.draw(an_edit(states[-1])))
        undos.append(stored(undo_of(states[-1], after, SPACES)))
        states.append(after)
    past = Past(states[-1], "space")
    for undo, state in zip(reversed(undos), reversed(states[:-1]), strict=True):
        past.back(undo)
        assert past.document() == state
        assert list(past.document().table()) == list(state.table())


def test_a_suite_that_was_replaced_is_found_again():
    before = start()
    after = replace(
        before,
        name="other",
        metric=("sum", "mean"),
        meta={"author": "Ada"},
        region_names=("Only",),
        conditions=("b", "a"),
        sentences=tuple(SentenceDoc(7, name, ("x",), extra={"data": {"list": "A"}}) for name in ("a", "b")),
        predictions=(),
        extra={"source": "web", "items": {"7": {"verb": "see"}}},
    )
    for old, new in ((before, after), (after, before)):
        past = Past(new, "none")
        past.back(stored(undo_of(old, new, ("natural", "none"))))
        assert (past.document(), past.join) == (old, "natural")


def test_the_undo_of_one_cell_holds_one_sentence():
    doc = start(items=50)
    after = apply(doc, [{"op": "set_cells", "cells": [[1, "match", 2, "plays", "sings"]]}])
    undo = undo_of(doc, after, SPACES)
    assert list(undo) == ["rows"]
    assert [row[:2] for row in undo["rows"]] == [[1, "match"]]


def test_the_undo_of_an_added_item_does_not_grow_with_the_suite():
    doc = start(items=5)
    op = {"op": "insert_items", "at": 5, "items": [{"number": 9, "rows": {}}]}
    assert undo_of(doc, apply(doc, [op]), SPACES) == {"order": {"ranges": [[1, 5]]}}


@pytest.mark.parametrize(
    ("op", "words"),
    [
        ({"op": "set_cells", "cells": [[3, "match", 2, "play", "plays"]]}, "changed item 3, match, region 2"),
        (
            {"op": "set_cells", "cells": [[k, "a", r, "", "x"] for k in (1, 2, 3, 9) for r in (1, 2)]},
            "changed 8 cells of items 1-3, 9",
        ),
        (
            {"op": "set_cells", "cells": [[2 * k, "a", 1, "", "x"] for k in range(20)]},
            "changed 20 cells of items 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22 and 8 more",
        ),
        ({"op": "set_cells", "cells": []}, "changed nothing"),
        ({"op": "insert_items", "at": 0, "items": [{"number": 4, "rows": {}}]}, "added item 4"),
        ({"op": "delete_items", "items": [2, 3]}, "deleted items 2-3"),
        ({"op": "move_item", "item": 2, "to": 0}, "moved item 2 to position 1"),
        ({"op": "renumber_item", "item": 2, "to": 12}, "renumbered item 2 to 12"),
        ({"op": "insert_condition", "at": 0, "name": "c"}, "added condition c"),
        ({"op": "delete_condition", "name": "c"}, "deleted condition c"),
        ({"op": "move_condition", "name": "c", "to": 1}, "moved condition c to position 2"),
        ({"op": "rename_condition", "name": "c", "to": "d"}, "renamed condition"),
        ({"op": "insert_region", "at": 2, "name": "Verb"}, "added region 2 (Verb)"),
        ({"op": "delete_region", "region": 2}, "deleted region 2"),
        ({"op": "move_region", "region": 2, "to": 1}, "moved region 2 to position 1"),
        ({"op": "rename_region", "region": 2, "to": "Verb"}, "renamed region 2"),
        ({"op": "set_factors", "factors": [{"name": "number"}]}, "changed the factors"),
        ({"op": "set_factors", "factors": []}, "removed the factors"),
        ({"op": "set_predictions", "predictions": []}, "changed the predictions"),
        ({"op": "set_scoring", "metric": "sum", "join": "none"}, "changed the scoring"),
        ({"op": "replace_draft"}, "replaced the draft with a file"),
        ({"op": "discard_draft"}, "discarded the draft"),
        ({"op": "restore", "version": 3}, "restored the state after change 3"),
        ({"op": "from a later version"}, "changed the draft"),
        ({"op": "set_cells", "cells": "malformed"}, "changed the draft"),
    ],
)
def test_an_edit_in_words(op, words):
    assert [step.words for step in steps_of([op])] == [words]


def test_texts_before_and_after_are_part_of_the_words():
    cell = {"op": "set_cells", "cells": [[3, "match", 2, "play", "plays"]]}
    assert steps_of([cell]) == [Step("changed item 3, match, region 2", "play", "plays")]
    cell["cells"][0][4] = ""
    assert steps_of([cell]) == [Step("changed item 3, match, region 2", "play", "∅")]
    scoring = {"op": "set_scoring", "metric": ["sum", "mean"], "join": "none"}
    scoring["old"] = {"metric": "sum", "join": "space"}
    assert steps_of([scoring]) == [
        Step("changed the scoring", "sum, join policy space", "sum, mean, join policy none")
    ]


def test_predictions_are_told_one_by_one():
    first, second = ({"name": name, "description": "", "formula": "(1;%a%) > 1"} for name in ("one", "two"))
    op = {"op": "set_predictions", "old": [first], "predictions": [first, second]}
    assert steps_of([op]) == [Step("added prediction 2", new="two: (1;%a%) > 1")]
    op = {"op": "set_predictions", "old": [first, second], "predictions": [second]}
    assert steps_of([op]) == [Step("deleted prediction 1", "one: (1;%a%) > 1")]
    op = {"op": "set_predictions", "old": [first], "predictions": [{**first, "name": "", "formula": "1 > 2"}]}
    assert steps_of([op]) == [
        Step("changed the name of prediction 1", "one", "∅"),
        Step("changed the formula of prediction 1", "(1;%a%) > 1", "1 > 2"),
    ]
