"""ETag with If-None-Match and If-Match."""

from __future__ import annotations

import pytest

from suites.models import Suite
from tests.factories import make_suite, suite_json
from tests.lmchallenge.site.worlds import make_corpus, play
from tests.propara.site.worlds import hand_in, make_version


@pytest.mark.parametrize(
    "address", ["suites/public-suite/", "models/open-model/", "suites/", "suites/public-suite/diff/1/1/"]
)
def test_what_did_not_change_is_a_304(send, world, address):
    first = send("get", address)
    again = send("get", address, **{"If-None-Match": first["ETag"]})
    assert (first.status_code, again.status_code, again.content) == (200, 304, b"")
    assert again["ETag"] == first["ETag"]


def test_what_changed_is_told_anew(send, world):
    tag = send("get", "suites/public-suite/")["ETag"]
    Suite.objects.filter(slug="public-suite").update(title="Another")
    response = send("get", "suites/public-suite/", **{"If-None-Match": tag})
    assert (response.status_code, response.json()["title"]) == (200, "Another")
    assert response["ETag"] != tag


@pytest.mark.parametrize("address", ["suites/public-suite/", "models/open-model/"])
def test_a_card_that_changed_meanwhile_is_a_412(send, world, address):
    tag = send("get", address)["ETag"]
    first = send("patch", address, {"licence": "MIT"}, **{"If-Match": tag})
    assert first.status_code == 200
    late = send("patch", address, {"licence": "X"}, **{"If-Match": tag})
    assert (late.status_code, late.json()["code"]) == (412, "changed-meanwhile")
    assert send("get", address).json()["licence"] == "MIT"
    assert send("patch", address, {"licence": "X"}, **{"If-Match": first["ETag"]}).status_code == 200


@pytest.fixture
def neighbours(people) -> dict[str, str]:
    """Addresses of alice's card of each kind in the rooms beside the suites."""
    version = make_version(people.alice, slug="light")
    submission = hand_in(version, people.alice)
    corpus = make_corpus(people.alice, slug="cats")
    return {
        "answer set": "propara/answer-sets/light/",
        "submission": f"propara/submissions/{submission.key}/",
        "corpus": "lmc/corpora/cats/",
        "game": f"lmc/games/{play(corpus, people.alice).key}/",
    }


@pytest.mark.parametrize("kind", ["answer set", "submission", "corpus", "game"])
def test_a_neighbours_card_that_changed_meanwhile_is_a_412(send, neighbours, kind):
    address = neighbours[kind]
    tag = send("get", address)["ETag"]
    first = send("patch", address, {"description": "Mine"}, **{"If-Match": tag})
    assert (first.status_code, first.json()["description"]) == (200, "Mine")
    assert first["ETag"] == send("get", address)["ETag"] != tag
    late = send("patch", address, {"description": "Late"}, **{"If-Match": tag})
    assert (late.status_code, late["Content-Type"]) == (412, "application/problem+json")
    assert (late.json()["code"], late["ETag"]) == ("changed-meanwhile", first["ETag"])
    assert send("get", address).json()["description"] == "Mine"
    fresh = send("patch", address, {"description": "Again"}, **{"If-Match": first["ETag"]})
    assert (fresh.status_code, fresh.json()["description"]) == (200, "Again")
    assert send("patch", address, {"description": "Any"}, **{"If-Match": "*"}).status_code == 200
    assert send("patch", address, {"description": "Unasked"}).status_code == 200


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
    assert (response.status_code, response.json(), response["ETag"]) == (200, {"version": 1}, '"v1"')
    read = send("get", DRAFT)
    assert (read["ETag"], read.json()["version"]) == ('"v1"', 1)
    assert send("get", CELLS).json()["results"][0]["contents"] == ["The woman", "sings", "all day."]


def test_edits_of_an_older_version_are_fitted_in_and_conflicts_told(send, draft):
    send("patch", CELLS, edit(1, "plays", "sings"))
    response = send("patch", CELLS, edit(2, "plays", "runs"))
    problem = response.json()
    assert (response.status_code, problem["code"], response["ETag"]) == (409, "edit-conflict", '"v2"')
    [conflict] = problem["conflicts"]
    assert (conflict["yours"], conflict["theirs"]) == ("runs", "sings")


def test_with_if_match_nothing_is_fitted_in(send, draft):
    tag = send("get", DRAFT)["ETag"]
    assert send("patch", CELLS, edit(1, "plays", "sings"), **{"If-Match": tag}).status_code == 200
    assert send("patch", CELLS, edit(2, "sings", "runs", 1), **{"If-Match": tag}).status_code == 412


def test_a_draft_is_not_replaced_unseen(send, draft):
    body = {"document": suite_json(name="work", items=5)}
    assert send("put", DRAFT, body).status_code == 428
    assert send("put", DRAFT, body, **{"If-Match": '"v7"'}).status_code == 412
    response = send("put", DRAFT, body, **{"If-Match": send("get", DRAFT)["ETag"]})
    assert (response.status_code, response.json()["n_rows"]) == (200, 10)
    assert send("put", DRAFT, body, **{"If-Match": "*"}).status_code == 200


def test_freezing_and_discarding_heed_if_match(send, draft):
    tag = send("get", DRAFT)["ETag"]
    send("patch", CELLS, edit(1, "plays", "sings"))
    assert send("post", "suites/work/freeze/", {}, **{"If-Match": tag}).status_code == 412
    assert send("delete", DRAFT, **{"If-Match": tag}).status_code == 412
    assert send("post", "suites/work/freeze/", {}, **{"If-Match": '"v1"'}).status_code == 201


def test_what_is_no_edit_is_a_400(send, draft):
    for body in (
        {"version": 0, "edits": [{"id": "replaced-1", "ops": []}]},
        {"version": -1, "edits": []},
        {},
    ):
        assert send("patch", CELLS, body).status_code == 400
