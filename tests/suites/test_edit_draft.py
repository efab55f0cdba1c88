"""Editing a draft over PATCH: rows equal the pure edit, a repeated edit does no harm, nobody is overwritten."""

from __future__ import annotations

import json
from uuid import uuid4

import pytest
from django.urls import reverse
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from suites import drafts, services
from suites.editing import apply
from suites.formats import SentenceDoc, SuiteDocument
from suites.models import DraftEdit, SuiteCollaborator
from suites.selectors import document_of
from tests.factories import make_suite
from tests.suites.edits import an_edit, predictions_of, start


def edit(*ops, key: str = ""):
    return {"id": key or str(uuid4()), "ops": list(ops)}


def cell(item, condition, region, old, new):
    return {"op": "set_cells", "cells": [[item, condition, region, old, new]]}


def patch(client, suite, version, *edits):
    return client.patch(
        reverse("suite-draft", args=[suite.slug]),
        json.dumps({"version": version, "edits": edits}),
        content_type="application/json",
    )


def make_draft(owner, document=None):
    suite = services.import_suite(document or start(), actor=owner)
    return suite


def contents(suite, item, condition):
    return suite.draft.sentences.get(item=item, condition=condition).contents


@pytest.fixture
def suite(client, people):
    """alice's draft, edited by alice; bob may edit too."""
    suite = make_draft(people.alice)
    SuiteCollaborator.objects.create(suite=suite, user=people.bob, role="edit")
    client.force_login(people.alice)
    return suite


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_rows_after_edits_equal_the_document_after_the_same_edits(people, data):
    document = start()
    suite = make_draft(people.alice, document)
    for _ in range(data.draw(st.integers(1, 6))):
        ops = data.draw(an_edit(document))
        version = suite.draft.edits
        outcome = drafts.apply_edits(suite, version, [edit(*ops)], actor=people.alice)
        assert (outcome.conflicts, outcome.version) == ([], version + 1)
        document = apply(document, ops)
        assert document_of(suite.draft) == document


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_edits_made_on_an_older_draft_never_break_it(people, data):
    """Whatever others did meanwhile: nothing crashes, the draft stays sound, and every edit is accounted for."""
    suite = make_draft(people.alice)
    theirs, mine = start(), start()
    for _ in range(data.draw(st.integers(1, 3))):
        ops = data.draw(an_edit(theirs))
        theirs = apply(theirs, ops)
        drafts.apply_edits(
            suite, suite.draft.edits, [edit(*ops)], actor=people.bob.__class__.objects.get(username="staff")
        )
    batch = []
    for _ in range(data.draw(st.integers(1, 3))):
        ops = data.draw(an_edit(mine))
        mine = apply(mine, ops)
        batch.append(edit(*ops))
    outcome = drafts.apply_edits(suite, 0, batch, actor=people.alice)
    told = set(outcome.applied) | {conflict["edit"] for conflict in outcome.conflicts}
    assert told == {one["id"] for one in batch}
    now = document_of(suite.draft)
    names = list(now.conditions)
    for item in now.items:
        assert [s.condition for s in now.sentences if s.item == item] == names
    assert all(len(s.contents) == len(now.region_names) for s in now.sentences)
    again = drafts.apply_edits(suite, 0, batch, actor=people.alice)
    assert set(outcome.applied) <= set(again.applied)
    if not outcome.conflicts:
        assert document_of(suite.draft) == now


def test_a_draft_is_read_in_pages(client, suite):
    answer = client.get(reverse("suite-draft", args=[suite.slug]), {"offset": 2, "limit": 3}).json()
    assert answer["version"] == 0
    assert answer["suite"]["slug"] == suite.slug
    assert (answer["items"], answer["n_rows"]) == ([1, 2, 3], 6)
    assert [(row["item"], row["condition"]) for row in answer["rows"]] == [
        (2, "match"),
        (2, "mismatch"),
        (3, "match"),
    ]
    assert answer["rows"][0]["contents"] == ["The boys", "run", "all day."]
    assert (answer["metric"], answer["join"], answer["ignored"]) == ("sum", "space", [])
    assert answer["predictions"] == predictions_of(start())


def test_an_edit_makes_the_next_version(client, suite):
    answer = patch(
        client,
        suite,
        0,
        edit(cell(1, "match", 2, "plays", "sings")),
        edit(cell(1, "match", 2, "sings", "sang")),
    )
    assert (answer.status_code, answer.json()) == (200, {"version": 2})
    assert contents(suite, 1, "match")[1] == "sang"


def test_an_edit_that_is_sent_twice_is_done_once(client, suite):
    one = edit({"op": "insert_items", "at": 0, "items": [{"number": 9, "rows": {}}]})
    assert patch(client, suite, 0, one).json() == {"version": 1}
    assert patch(client, suite, 0, one).json() == {"version": 1}
    two = edit(cell(9, "match", 1, "", "new"))
    assert patch(client, suite, 0, one, two).json() == {"version": 2}
    assert contents(suite, 9, "match")[0] == "new"
    assert DraftEdit.objects.count() == 2


def test_edits_of_different_cells_go_together(client, people, suite):
    drafts.apply_edits(suite, 0, [edit(cell(2, "match", 1, "The boys", "Boys"))], actor=people.bob)
    assert patch(client, suite, 0, edit(cell(1, "match", 1, "The woman", "She"))).json() == {"version": 2}


def test_a_cell_changed_by_two_people_is_reported_with_both_texts(client, people, suite):
    drafts.apply_edits(suite, 0, [edit(cell(1, "match", 2, "plays", "sings"))], actor=people.bob)
    both = {
        "op": "set_cells",
        "cells": [[1, "match", 2, "plays", "runs"], [1, "match", 1, "The woman", "She"]],
    }
    answer = patch(client, suite, 0, edit(both, key="mine"))
    assert answer.status_code == 409
    assert answer.json() == {
        "version": 2,
        "applied": ["mine"],
        "conflicts": [
            {
                "edit": "mine",
                "op": 0,
                "what": "cell",
                "item": 1,
                "condition": "match",
                "region": 2,
                "old": "plays",
                "yours": "runs",
                "theirs": "sings",
                "by": "bob",
            }
        ],
    }
    assert contents(suite, 1, "match")[:2] == ["She", "sings"]


def test_a_conflict_whose_answer_was_lost_is_told_again(client, people, suite):
    drafts.apply_edits(suite, 0, [edit(cell(1, "match", 2, "plays", "sings"))], actor=people.bob)
    mine = edit(cell(1, "match", 2, "plays", "runs"))
    first = patch(client, suite, 0, mine)
    again = patch(client, suite, 0, mine)
    assert (again.status_code, again.json()) == (409, first.json())
    assert patch(client, suite, 2, mine).status_code == 200


def test_an_edit_follows_its_cell_when_others_moved_it(client, people, suite):
    moves = [
        {"op": "insert_region", "at": 1, "name": "Pre"},
        {"op": "rename_condition", "name": "match", "to": "ok"},
        {"op": "renumber_item", "item": 1, "to": 50},
        {"op": "move_region", "region": 4, "to": 2},
    ]
    drafts.apply_edits(suite, 0, [edit(*moves)], actor=people.bob)
    answer = patch(client, suite, 0, edit(cell(1, "match", 2, "plays", "sings")))
    assert answer.json() == {"version": 2}
    assert contents(suite, 50, "ok") == ["", "all day.", "The woman", "sings"]


def test_a_new_row_gets_the_columns_that_others_made(client, people, suite):
    moves = [{"op": "insert_region", "at": 2, "name": "Pre"}, {"op": "delete_condition", "name": "mismatch"}]
    drafts.apply_edits(suite, 0, [edit(*moves)], actor=people.bob)
    new = {"number": 8, "rows": {"match": ["a", "b", "c"], "mismatch": ["d", "e", "f"]}}
    assert patch(client, suite, 0, edit({"op": "insert_items", "at": 3, "items": [new]})).status_code == 200
    assert contents(suite, 8, "match") == ["a", "", "b", "c"]
    assert suite.draft.sentences.filter(item=8).count() == 1


def test_a_cell_whose_region_is_gone_is_given_back(client, people, suite):
    drafts.apply_edits(suite, 0, [edit({"op": "delete_region", "region": 2})], actor=people.bob)
    answer = patch(client, suite, 0, edit(cell(1, "match", 2, "plays", "sings")))
    assert answer.status_code == 409
    (conflict,) = answer.json()["conflicts"]
    assert (conflict["what"], conflict["yours"], conflict["by"]) == ("cell", "sings", "bob")
    assert conflict["theirs"] is None
    assert contents(suite, 1, "match") == ["The woman", "all day."]


def test_what_builds_on_a_refused_edit_is_refused_too(client, people, suite):
    taken = {"op": "insert_items", "at": 0, "items": [{"number": 9, "rows": {"match": ["a", "b", "c"]}}]}
    drafts.apply_edits(suite, 0, [edit(taken)], actor=people.bob)
    answer = patch(client, suite, 0, edit(taken, key="one"), edit(cell(9, "match", 1, "a", "z"), key="two"))
    conflicts = answer.json()["conflicts"]
    assert [(c["edit"], c["what"]) for c in conflicts] == [("one", "structure"), ("two", "cell")]
    assert (conflicts[1]["yours"], conflicts[1]["theirs"]) == ("z", "a")
    assert answer.json()["applied"] == []


def test_formulas_changed_by_two_people_are_reported_with_both_lists(client, people, suite):
    old = predictions_of(start())
    bobs = [{**old[0], "name": "bob's"}]
    alices = [{**old[0], "name": "alice's"}]
    drafts.apply_edits(
        suite, 0, [edit({"op": "set_predictions", "old": old, "predictions": bobs})], actor=people.bob
    )
    answer = patch(client, suite, 0, edit({"op": "set_predictions", "old": old, "predictions": alices}))
    (conflict,) = answer.json()["conflicts"]
    assert (conflict["what"], conflict["yours"], conflict["theirs"]) == ("predictions", alices, bobs)


def test_a_formula_and_an_inserted_region_go_together(client, people, suite):
    old = predictions_of(start())
    shifted = [{**old[0], "formula": "(3;%mismatch%) > (3;%match%)"}]
    bobs = edit(
        {"op": "insert_region", "at": 1, "name": "Pre"},
        {"op": "set_predictions", "old": old, "predictions": shifted},
    )
    drafts.apply_edits(suite, 0, [bobs], actor=people.bob)
    more = [*old, {"name": "", "description": "", "formula": "(1;%match%) > 0"}]
    assert (
        patch(client, suite, 0, edit({"op": "set_predictions", "old": old, "predictions": more})).status_code
        == 200
    )
    formulas = [row.formula for row in suite.draft.predictions.all()]
    assert formulas == ["(3;%mismatch%) > (3;%match%)", "(2;%match%) > 0"]


def test_a_replaced_draft_takes_no_older_edits(client, people, suite):
    services.replace_draft(suite, start(5), actor=people.bob)
    answer = patch(client, suite, 0, edit(cell(1, "match", 2, "plays", "sings")))
    assert answer.status_code == 409
    assert answer.json()["conflicts"][0]["theirs"] == "plays"
    assert contents(suite, 1, "match")[1] == "plays"


def test_versions_grow_over_all_drafts_of_a_suite(client, people, suite):
    patch(client, suite, 0, edit(cell(1, "match", 2, "plays", "sings")))
    services.freeze(suite, actor=people.alice)
    gone = patch(client, suite, 1, edit(cell(1, "match", 2, "sings", "sang")))
    assert gone.status_code == 409
    assert "no draft any more" in gone.json()["conflicts"][0]["message"]
    assert services.open_draft(suite, actor=people.alice).edits == 1
    assert patch(client, suite, 1, edit(cell(1, "match", 2, "sings", "sang"))).json() == {"version": 2}
    services.discard_draft(suite, actor=people.alice)
    services.open_draft(suite, actor=people.alice)
    stale = patch(client, suite, 2, edit(cell(1, "match", 2, "sang", "sung")))
    assert (stale.status_code, stale.json()["version"]) == (409, 3)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"{",
        b'{"version": true}',
        b'{"version": 99999999999}',
        b'{"version": 0, "edits": {}}',
        b'{"version": 0, "edits": [1]}',
        b'{"version": 0, "edits": [{"id": "", "ops": []}]}',
        b'{"version": 0, "edits": [{"id": "x"}]}',
        b"[" * 100_000,
    ],
)
def test_what_is_no_edit_is_refused(client, suite, body):
    answer = client.patch(reverse("suite-draft", args=[suite.slug]), body, content_type="application/json")
    assert answer.status_code == 400
    assert answer.json()["message"]


def test_a_request_that_is_too_large_is_refused_in_words(client, suite):
    answer = patch(client, suite, 0, edit(cell(1, "match", 1, "The woman", "x" * 6_100_000)))
    assert answer.status_code == 400
    assert "too much at once" in answer.json()["message"]


@pytest.mark.parametrize(
    "op",
    [
        {"op": "set_cells", "cells": [[10**30, "match", 1, "", "x"]]},
        {"op": "set_cells", "cells": [[1, "match", 10**30, "", "x"]]},
        {"op": "set_cells", "cells": {"a": 1}},
        {"op": "set_cells"},
        {"op": "move_region", "region": "1", "to": None},
        {"op": "insert_condition", "at": 0, "name": "x", "rows": {"one": ["a"]}},
        {"op": "insert_region", "at": 1, "name": "x", "texts": [[1]]},
        {"op": ["x"]},
        {},
    ],
)
def test_a_malformed_op_is_reported_and_changes_nothing(client, people, suite, op):
    before = document_of(suite.draft)
    for version in (0, 1):
        answer = patch(client, suite, 0, edit(op))
        assert answer.status_code == 409, answer.content
        if version == 0:  # and on an older draft too
            drafts.apply_edits(suite, 0, [edit(cell(1, "match", 3, "all day.", "now"))], actor=people.bob)
            before = document_of(suite.draft)
    assert document_of(suite.draft) == before


def test_control_characters_never_reach_the_database(client, suite):
    assert patch(client, suite, 0, edit(cell(1, "match", 1, "The woman", "a\x00b\ud800c"))).status_code == 200
    assert contents(suite, 1, "match")[0] == "abc"


def big(people, items=1250):
    sentences = tuple(
        SentenceDoc(item, name, ("a", "b", "c", "d"))
        for item in range(1, items + 1)
        for name in ("w", "x", "y", "z")
    )
    document = SuiteDocument("big", "sum", {}, ("A", "B", "C", "D"), ("w", "x", "y", "z"), sentences)
    return make_draft(people.alice, document)


def test_a_cell_of_a_large_suite_touches_one_row(people, django_assert_max_num_queries):
    suite = big(people)
    with django_assert_max_num_queries(25) as caught:
        drafts.apply_edits(suite, 0, [edit(cell(700, "x", 2, "b", "new"))], actor=people.alice)
    written = [q["sql"] for q in caught if "UPDATE" in q["sql"] and "suites_sentence" in q["sql"]]
    assert len(written) == 1
    assert written[0].startswith("1 times")
    read = [q["sql"] for q in caught if q["sql"].startswith("SELECT") and "suites_sentence" in q["sql"]]
    assert all("IN (700)" in sql for sql in read)


@pytest.mark.parametrize(
    ("op", "most"),
    [
        ({"op": "insert_items", "at": 600, "items": [{"number": 9000, "rows": {}}]}, 4),
        ({"op": "delete_items", "items": [600]}, 4),
        ({"op": "move_item", "item": 1, "to": 1249}, 4),
        ({"op": "renumber_item", "item": 600, "to": 9000}, 4),
        ({"op": "rename_region", "region": 2, "to": "BB"}, 0),
    ],
)
def test_an_op_on_items_of_a_large_suite_takes_few_statements(
    people, django_assert_max_num_queries, op, most
):
    suite = big(people)
    expected = apply(document_of(suite.draft), [op])
    with django_assert_max_num_queries(40) as caught:
        drafts.apply_edits(suite, 0, [edit(op)], actor=people.alice)
    written = [
        q["sql"] for q in caught if not q["sql"].startswith("SELECT") and "suites_sentence" in q["sql"]
    ]
    assert len(written) <= most, [sql[:80] for sql in written]
    assert document_of(suite.draft) == expected


def test_only_people_who_may_edit_send_edits(client, people):
    suite = make_suite(people.alice, frozen=False, visibility="public")
    SuiteCollaborator.objects.create(suite=suite, user=people.bob, role="view")
    for person, status in ((None, 401), (people.charlie, 403), (people.bob, 403), (people.staff, 200)):
        if person is not None:
            client.force_login(person)
        assert patch(client, suite, 0, edit()).status_code == status
