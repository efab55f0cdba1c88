"""ETag and If-Match of drafts."""

from __future__ import annotations

import pytest

from suites import services
from tests.factories import make_suite
from tests.lmgym.suites.documents import suite_json


@pytest.mark.parametrize("address", ["suites/work/", "suites/"])
def test_only_the_draft_and_its_cells_have_an_etag(send, draft, address):
    assert "ETag" not in send("get", address)
    assert send("get", DRAFT)["ETag"] == send("get", CELLS)["ETag"] == '"r1v0"'


@pytest.fixture
def draft(people):
    return make_suite(people.alice, name="work", frozen=False)


DRAFT, CELLS = "suites/work/draft/", "suites/work/draft/cells/"


def edit(number: int, old: str, new: str, version: int = 0):
    cell = [1, "match", 2, old, new]
    return {
        "version": version,
        "edits": [{"id": f"e{number}", "ops": [{"op": "set_cells", "cells": [cell]}]}],
    }


def test_edits_grow_the_version_and_the_etag(send, draft):
    response = send("patch", CELLS, edit(1, "plays", "sings"))
    assert (response.status_code, response.json(), response["ETag"]) == (200, {"version": 1}, '"r1v1"')
    read = send("get", DRAFT)
    assert (read["ETag"], read.json()["version"]) == ('"r1v1"', 1)
    assert send("get", CELLS).json()["results"][0]["contents"] == ["The woman", "sings", "all day."]


def test_edits_of_an_older_version_are_fitted_in_and_conflicts_told(send, draft):
    send("patch", CELLS, edit(1, "plays", "sings"))
    response = send("patch", CELLS, edit(2, "plays", "runs"))
    problem = response.json()
    assert (response.status_code, problem["code"], response["ETag"]) == (409, "edit-conflict", '"r1v2"')
    [conflict] = problem["conflicts"]
    assert (conflict["yours"], conflict["theirs"]) == ("runs", "sings")


def test_with_if_match_nothing_is_fitted_in(send, draft):
    tag = send("get", DRAFT)["ETag"]
    assert send("patch", CELLS, edit(1, "plays", "sings"), **{"If-Match": tag}).status_code == 200
    assert send("patch", CELLS, edit(2, "sings", "runs", 1), **{"If-Match": tag}).status_code == 412


def test_a_draft_is_not_replaced_unseen(send, draft):
    body = {"document": suite_json(name="work", items=5)}
    assert send("put", DRAFT, body).status_code == 428
    assert send("put", DRAFT, body, **{"If-Match": '"r1v7"'}).status_code == 412
    response = send("put", DRAFT, body, **{"If-Match": send("get", DRAFT)["ETag"]})
    assert (response.status_code, response.json()["n_rows"]) == (200, 10)
    assert send("put", DRAFT, body, **{"If-Match": "*"}).status_code == 200


def test_freezing_and_discarding_heed_if_match(send, draft):
    tag = send("get", DRAFT)["ETag"]
    send("patch", CELLS, edit(1, "plays", "sings"))
    assert send("post", "suites/work/freeze/", {}, **{"If-Match": tag}).status_code == 412
    assert send("delete", DRAFT, **{"If-Match": tag}).status_code == 412
    assert send("post", "suites/work/freeze/", {}, **{"If-Match": '"r1v1"'}).status_code == 201


CHANGES = {
    "put": ("put", DRAFT, {"document": suite_json(name="work", items=5)}),
    "patch": ("patch", CELLS, edit(1, "plays", "sings")),
    "freeze": ("post", "suites/work/freeze/", {}),
    "discard": ("delete", DRAFT, None),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("reopened", [False, True])
def test_the_etag_of_a_draft_that_was_frozen_meanwhile_is_a_412(send, draft, people, change, reopened):
    tag = send("get", DRAFT)["ETag"]
    services.freeze(draft, actor=people.alice)
    if reopened:
        services.open_draft(draft, actor=people.alice)
    method, address, body = CHANGES[change]
    response = send(method, address, body, **{"If-Match": tag})
    assert (response.status_code, response.json()["code"]) == (412, "changed-meanwhile")
    assert draft.revisions.filter(state="draft").exists() is reopened


def test_any_tag_replaces_also_where_no_draft_is_left(send, draft, people):
    services.freeze(draft, actor=people.alice)
    response = send("put", DRAFT, CHANGES["put"][2], **{"If-Match": "*"})
    assert (response.status_code, response.json()["revision"]) == (200, 2)


def test_what_is_no_edit_is_a_400(send, draft):
    for body in (
        {"version": 0, "edits": [{"id": "replaced-1", "ops": []}]},
        {"version": -1, "edits": []},
        {},
    ):
        assert send("patch", CELLS, body).status_code == 400
