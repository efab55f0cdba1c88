"""Editing a draft by PATCH: stored rows equal the result of the same edits on a document, repeated edits are
harmless, and nobody's text is overwritten.
"""

from __future__ import annotations

import json
from dataclasses import replace
from uuid import uuid4

import pytest
from django.urls import reverse
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lmgym.suites.editing import clean_text
from lmgym.suites.formats import SentenceDoc, SuiteDocument
from suites import drafts, services
from suites.models import DraftEdit
from suites.quotas import bytes_of
from suites.selectors import document_of
from tests.factories import make_suite
from tests.lmgym.suites.edits import an_edit, apply, predictions_of, start
from tests.once import once_a_module


def edit(*ops, key: str = ""):
    return {"id": key or str(uuid4()), "ops": list(ops)}


def cell(item, condition, region, old, new):
    return {"op": "set_cells", "cells": [[item, condition, region, old, new]]}


def patch(client, suite, version, *edits):
    return client.patch(
        reverse("api-draft-cells", args=[suite.slug]),
        json.dumps({"version": version, "edits": edits}),
        content_type="application/json",
    )


def make_draft(owner, document=None):
    return services.import_suite(document or start(), actor=owner)


def contents(suite, item, condition):
    return suite.draft.sentences.get(item=item, condition=condition).contents


def large_suite(owner, items=300):
    sentences = tuple(
        SentenceDoc(item, name, ("a", "b", "c", "d"))
        for item in range(1, items + 1)
        for name in ("w", "x", "y", "z")
    )
    document = SuiteDocument("large", "sum", {}, ("A", "B", "C", "D"), ("w", "x", "y", "z"), sentences)
    return make_draft(owner, document)


built, people, large = once_a_module(lambda people: large_suite(people.alice))


@pytest.fixture
def suite(client, people):
    """alice's draft, edited by alice; bob may edit too."""
    suite = make_draft(people.alice)
    suite.collaborations.create(user=people.bob, role="edit")
    client.force_login(people.alice)
    return suite


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_rows_after_edits_equal_the_document_after_the_same_edits(people, data):
    document = start()
    suite = make_draft(people.alice, document)
    for _ in range(data.draw(st.integers(1, 4))):
        ops = data.draw(an_edit(document))
        version = suite.draft.edits
        outcome = drafts.apply_edits(suite, version, [edit(*ops)], actor=people.alice)
        assert (outcome.conflicts, outcome.version) == ([], version + 1)
        document = apply(document, ops)
        assert document_of(suite.draft) == document
        assert suite.draft.size == bytes_of(document)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_of_two_simultaneous_edits_every_text_is_stored_or_reported(people, data):
    """Whatever two users do from one version: every edit without a conflict is in the draft, and nothing else
    is overwritten."""
    suite = make_draft(people.alice)
    document = start()
    theirs, mine = data.draw(an_edit(document)), data.draw(an_edit(document))
    drafts.apply_edits(suite, 0, [edit(*theirs)], actor=people.staff)
    after = apply(document, theirs)
    outcome = drafts.apply_edits(suite, 0, [edit(*mine, key="mine")], actor=people.alice)
    now = document_of(suite.draft)
    if any(one["what"] == "edit" for one in outcome.conflicts):
        assert (outcome.applied, now) == ([], after)
        assert not {"set_cells"}.issuperset(op["op"] for op in [*theirs, *mine])
        return
    assert outcome.applied == ["mine"]
    reported = {(one["item"], one["condition"], one["region"]): one["yours"] for one in outcome.conflicts}
    for op in mine:
        for item, condition, region, old, new in op.get("cells", []):
            stored = now.table()[item, condition].contents[region - 1]
            if (item, condition, region) in reported:
                assert stored == after.table()[item, condition].contents[region - 1] != old
            else:
                assert stored == clean_text(new)


def test_a_draft_is_read_in_pages(client, suite):
    head = client.get(reverse("api-draft", args=[suite.slug]))
    draft = head.json()
    assert (draft["version"], draft["suite"], draft["items"], draft["n_rows"]) == (
        0,
        suite.slug,
        [1, 2, 3],
        6,
    )
    assert (draft["metric"], draft["join"], draft["ignored"]) == ("sum", "space", [])
    assert draft["predictions"] == predictions_of(start())
    first = client.get(reverse("api-draft-cells", args=[suite.slug]), {"limit": 2})
    second = client.get(first.json()["next"])
    assert [(row["item"], row["condition"]) for row in second.json()["results"]] == [
        (2, "match"),
        (2, "mismatch"),
    ]
    assert second.json()["results"][0]["contents"] == ["The boys", "run", "all day."]
    assert head["ETag"] == first["ETag"] == second["ETag"] == '"r1v0"'


def test_pages_of_two_versions_have_different_etags(client, suite):
    first = client.get(reverse("api-draft-cells", args=[suite.slug]), {"limit": 2})
    patch(client, suite, 0, edit(cell(1, "match", 2, "plays", "sings")))
    assert client.get(first.json()["next"])["ETag"] == '"r1v1"'


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


def test_edits_of_different_cells_do_not_conflict(client, people, suite):
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
    body = answer.json()
    assert (body["code"], body["version"], body["applied"]) == ("edit-conflict", 2, ["mine"])
    assert body["conflicts"] == [
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
    ]
    assert contents(suite, 1, "match")[:2] == ["She", "sings"]


def test_a_conflict_whose_response_was_lost_is_reported_again(client, people, suite):
    drafts.apply_edits(suite, 0, [edit(cell(1, "match", 2, "plays", "sings"))], actor=people.bob)
    mine = edit(cell(1, "match", 2, "plays", "runs"))
    first = patch(client, suite, 0, mine)
    again = patch(client, suite, 0, mine)
    assert (again.status_code, again.json()) == (409, first.json())


MOVES = [
    {"op": "insert_items", "at": 0, "items": [{"number": 9, "rows": {}}]},
    {"op": "delete_items", "items": [3]},
    {"op": "move_item", "item": 3, "to": 0},
    {"op": "renumber_item", "item": 3, "to": 9},
    {"op": "insert_condition", "at": 0, "name": "other", "rows": {}},
    {"op": "delete_condition", "name": "mismatch"},
    {"op": "move_condition", "name": "mismatch", "to": 0},
    {"op": "rename_condition", "name": "mismatch", "to": "other"},
    {"op": "insert_region", "at": 1, "name": "Pre"},
    {"op": "delete_region", "region": 3},
    {"op": "move_region", "region": 3, "to": 1},
    {"op": "rename_region", "region": 3, "to": "End"},
]


@pytest.mark.parametrize("move", MOVES, ids=lambda op: op["op"])
def test_edits_made_on_another_structure_are_refused(client, people, suite, move):
    drafts.apply_edits(suite, 0, [edit(move)], actor=people.bob)
    before = document_of(suite.draft)
    predictions = {"op": "set_predictions", "old": predictions_of(before), "predictions": []}
    sent = [
        edit(cell(1, "match", 2, "plays", "sings"), key="a"),
        edit(predictions, key="b"),
        edit(MOVES[0], key="c"),
    ]
    answer = patch(client, suite, 0, *sent)
    assert (answer.status_code, answer.json()["version"], answer.json()["applied"]) == (409, 1, [])
    assert [(c["edit"], c["what"], c["by"]) for c in answer.json()["conflicts"]] == [
        (key, "edit", "bob") for key in "abc"
    ]
    assert document_of(suite.draft) == before
    assert client.get(reverse("api-draft", args=[suite.slug])).json()["structure"] == 1


def test_cells_and_formulas_of_others_do_not_change_the_structure(client, people, suite):
    texts = edit(cell(1, "match", 2, "plays", "sings"))
    formulas = edit({"op": "set_predictions", "old": predictions_of(start()), "predictions": []})
    drafts.apply_edits(suite, 0, [texts, formulas], actor=people.bob)
    move = edit({"op": "insert_region", "at": 1, "name": "Pre"})
    assert patch(client, suite, 0, edit(cell(2, "match", 2, "run", "ran")), move).json() == {"version": 4}
    assert contents(suite, 1, "match") == ["", "The woman", "sings", "all day."]


def test_edits_on_ones_own_new_structure_are_applied_however_they_are_sent(client, suite):
    move = edit({"op": "insert_region", "at": 1, "name": "Pre"})
    typed = edit(cell(1, "match", 1, "", "Well,"))
    assert patch(client, suite, 0, move, typed).json() == {"version": 2}
    more = edit(cell(1, "match", 3, "plays", "sings"))
    assert patch(client, suite, 0, move, typed, more).json() == {"version": 3}  # the first response was lost
    assert patch(client, suite, 3, edit(cell(1, "match", 4, "all day.", "now"))).json() == {"version": 4}
    assert contents(suite, 1, "match") == ["Well,", "The woman", "sings", "now"]


def test_a_repeated_request_adds_no_edit_made_on_an_older_structure(client, people, suite):
    first = edit(cell(1, "match", 2, "plays", "sings"))
    patch(client, suite, 0, first)
    drafts.apply_edits(suite, 1, [edit({"op": "insert_region", "at": 1, "name": "Pre"})], actor=people.bob)
    answer = patch(client, suite, 0, first, edit(cell(2, "match", 2, "run", "ran"), key="late"))
    assert [one["edit"] for one in answer.json()["conflicts"]] == ["late"]
    assert contents(suite, 2, "match")[1] == "The boys"


def test_a_version_of_the_future_is_refused(client, suite):
    assert patch(client, suite, 7, edit(cell(1, "match", 2, "plays", "sings"))).status_code == 409
    assert contents(suite, 1, "match")[1] == "plays"


def test_edits_after_a_refused_one_are_refused_too(client, suite):
    taken = {"op": "insert_items", "at": 0, "items": [{"number": 1, "rows": {"match": ["a", "b", "c"]}}]}
    mine = edit(cell(1, "match", 1, "The woman", "z"), key="two")
    answer = patch(client, suite, 0, edit(taken, key="one"), mine).json()
    assert [(c["edit"], c["what"]) for c in answer["conflicts"]] == [("one", "edit"), ("two", "edit")]
    assert answer["conflicts"][0]["message"] == "Item 1 already exists."
    assert (answer["applied"], answer["version"]) == ([], 0)
    assert contents(suite, 1, "match")[0] == "The woman"


def test_formulas_changed_by_two_people_are_not_overwritten(client, people, suite):
    old = predictions_of(start())
    bobs = [{**old[0], "name": "bob's"}]
    alices = [{**old[0], "name": "alice's"}]
    drafts.apply_edits(
        suite, 0, [edit({"op": "set_predictions", "old": old, "predictions": bobs})], actor=people.bob
    )
    mine = edit({"op": "set_predictions", "old": old, "predictions": alices}, key="mine")
    (conflict,) = patch(client, suite, 0, mine).json()["conflicts"]
    message = "The predictions changed since this edit was made."
    assert conflict == {"edit": "mine", "what": "edit", "message": message, "by": "bob"}
    assert predictions_of(document_of(suite.draft)) == bobs


def test_a_replaced_draft_takes_no_older_edits(client, people, suite):
    services.replace_draft(suite, start(5), actor=people.bob)
    answer = patch(client, suite, 0, edit(cell(1, "match", 2, "plays", "sings")))
    assert answer.status_code == 409
    assert (answer.json()["conflicts"][0]["what"], answer.json()["conflicts"][0]["by"]) == ("edit", "bob")
    assert contents(suite, 1, "match")[1] == "plays"


def test_versions_grow_over_all_drafts_of_a_suite(client, people, suite):
    patch(client, suite, 0, edit(cell(1, "match", 2, "plays", "sings")))
    services.freeze(suite, actor=people.alice)
    gone = patch(client, suite, 1, edit(cell(1, "match", 2, "sings", "sang")))
    assert gone.status_code == 409
    assert "frozen or discarded" in gone.json()["conflicts"][0]["message"]
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
def test_malformed_requests_are_refused(client, suite, body):
    answer = client.patch(
        reverse("api-draft-cells", args=[suite.slug]), body, content_type="application/json"
    )
    assert answer.status_code == 400
    assert answer.json()["detail"]


def test_a_request_that_is_too_large_gets_413_with_a_message(client, suite):
    answer = patch(client, suite, 0, edit(cell(1, "match", 1, "The woman", "x" * 6_100_000)))
    assert answer.status_code == 413
    assert "too large" in answer.json()["detail"]


@pytest.mark.parametrize(
    "op",
    [
        {"op": "set_cells", "cells": [[10**18, "match", 1, "", "x"]]},
        {"op": "set_cells", "cells": [[1, "match", 10**18, "", "x"]]},
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


@pytest.mark.parametrize(
    ("delete", "insert"),
    [
        (
            {"op": "delete_items", "items": [1]},
            {
                "op": "insert_items",
                "at": 0,
                "items": [
                    {
                        "number": 1,
                        "rows": {
                            "match": ["The woman", "plays", "all day."],
                            "mismatch": ["The woman", "play", "all day."],
                        },
                    }
                ],
            },
        ),
        (
            {"op": "delete_condition", "name": "match"},
            {
                "op": "insert_condition",
                "at": 0,
                "name": "match",
                "rows": {
                    "1": ["The woman", "plays", "all day."],
                    "2": ["The boys", "run", "all day."],
                    "3": ["My old friend", "sings", "all day."],
                },
            },
        ),
        (
            {"op": "delete_region", "region": 2},
            {
                "op": "insert_region",
                "at": 2,
                "name": "Verb",
                "texts": [
                    [item, name, verbs[name == "mismatch"]]
                    for item, verbs in ((1, ("plays", "play")), (2, ("run", "runs")), (3, ("sings", "sing")))
                    for name in ("match", "mismatch")
                ],
            },
        ),
    ],
    ids=lambda op: op["op"],
)
def test_undoing_a_deletion_restores_the_data_of_the_rows(client, people, delete, insert):
    document = start()
    rows = tuple(replace(row, extra={**row.extra, "data": {"list": "A"}}) for row in document.sentences)
    document = replace(document, sentences=rows)
    suite = make_draft(people.alice, document)
    client.force_login(people.alice)
    assert patch(client, suite, 0, edit(delete), edit(insert)).json() == {"version": 2}
    assert document_of(suite.draft) == document


def test_control_characters_never_reach_the_database(client, suite):
    assert patch(client, suite, 0, edit(cell(1, "match", 1, "The woman", "a\x07b\x0bc"))).status_code == 200
    assert contents(suite, 1, "match")[0] == "abc"
    for text in ("\x00", "\ud800"):  # no text has them, and the page sends none
        assert patch(client, suite, 1, edit(cell(1, "match", 1, "abc", text))).status_code == 400


def test_a_cell_of_a_large_suite_touches_one_row(people, large, django_assert_max_num_queries):
    with django_assert_max_num_queries(25) as caught:
        drafts.apply_edits(large, 0, [edit(cell(200, "x", 2, "b", "new"))], actor=people.alice)
    written = [q["sql"] for q in caught if "UPDATE" in q["sql"] and "suites_sentence" in q["sql"]]
    assert len(written) == 1
    assert written[0].startswith("1 times")
    read = [q["sql"] for q in caught if q["sql"].startswith("SELECT") and "suites_sentence" in q["sql"]]
    assert all("IN (200)" in sql for sql in read)


@pytest.mark.parametrize(
    ("op", "most"),
    [
        ({"op": "insert_items", "at": 150, "items": [{"number": 9000, "rows": {}}]}, 4),
        ({"op": "delete_items", "items": [150]}, 4),
        ({"op": "move_item", "item": 1, "to": 299}, 4),
        ({"op": "renumber_item", "item": 150, "to": 9000}, 4),
        ({"op": "rename_region", "region": 2, "to": "BB"}, 0),
    ],
)
def test_an_op_on_items_of_a_large_suite_takes_few_statements(
    people, large, django_assert_max_num_queries, op, most
):
    expected = apply(document_of(large.draft), [op])
    with django_assert_max_num_queries(40) as caught:
        drafts.apply_edits(large, 0, [edit(op)], actor=people.alice)
    written = [
        q["sql"] for q in caught if not q["sql"].startswith("SELECT") and "suites_sentence" in q["sql"]
    ]
    assert len(written) <= most, [sql[:80] for sql in written]
    assert document_of(large.draft) == expected


def test_only_editors_may_send_edits(client, people):
    suite = make_suite(people.alice, frozen=False, visibility="public")
    suite.collaborations.create(user=people.bob, role="view")
    for person, status in ((None, 401), (people.charlie, 403), (people.bob, 403), (people.staff, 200)):
        if person is not None:
            client.force_login(person)
        assert patch(client, suite, 0, edit()).status_code == status
