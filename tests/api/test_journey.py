"""Author, freeze, run and read a suite through the API alone, and related operations."""

from __future__ import annotations

import json

from django.core.files.uploadedfile import SimpleUploadedFile

from gym.jobs.testing import run_pending
from models_registry.models import RegisteredModel
from suites.models import Suite
from tests.factories import make_model, make_suite
from tests.lmgym.suites.documents import AGREEMENT, suite_bytes, suite_json


def ok(response, status=200):
    assert response.status_code == status, response.content
    return response.json() if response.content else None


def test_a_suite_is_authored_frozen_run_and_read(send, people):
    make_model(people.staff, slug="m")
    document = suite_json(name="journey", items=2)
    body = {"document": document, "title": "A journey", "tags": ["Agreement"], "licence": "MIT"}
    created = send("post", "suites/", body)
    suite = ok(created, 201)
    assert created["Location"].endswith("/api/v1/suites/journey/")
    assert (suite["tags"], suite["licence"], suite["visibility"]) == (["agreement"], "MIT", "private")

    cells = [[1, "match", 2, "plays", "sings"]]
    edits = [{"id": "e1", "ops": [{"op": "set_cells", "cells": cells}]}]
    ok(send("patch", "suites/journey/draft/cells/", {"version": 0, "edits": edits}))
    assert {row["code"] for row in ok(send("get", "suites/journey/lint/"))["findings"]}
    revision = ok(send("post", "suites/journey/freeze/", {"note": "first"}), 201)
    assert (revision["number"], revision["state"], len(revision["sha256"])) == (1, "frozen", 64)
    ok(send("get", "suites/journey/draft/"), 404)

    run = ok(send("post", "runs/", {"suite": "journey", "model": "m"}), 201)
    assert (run["state"], run["progress"]["done"]) == ("queued", 0)
    run_pending()
    run = ok(send("get", f"runs/{run['id']}/"))
    assert (run["state"], run["predictions"][0]["ties"]) == ("done", 2)
    address = f"runs/{run['id']}/results/"
    assert ok(send("get", address))["items"][0]["conditions"][0]["regions"][1]["content"] == "sings"
    assert ok(send("get", f"{address}predictions/"))["results"][0]["n"] == 2
    items = ok(send("get", f"{address}items/"))["results"]
    assert items[0] == {
        "item": 1,
        "outcomes": [{"prediction": "Prediction 1", "outcome": "tie", "margin": 0.0, "too_close": False}],
    }
    regions = ok(send("get", f"{address}regions/?limit=3"))
    assert (len(regions["results"]), regions["next"] is not None) == (3, True)
    assert regions["results"][0]["regions"][0]["surprisal"] == 20.0
    tokens = ok(send("get", f"{address}tokens/"))["results"]
    assert tokens[0]["tokens"][0]["token"] == "The"
    [board] = ok(send("get", "leaderboard/"))["results"]
    assert (board["model"], board["score"]["rate"], list(board["suites"])) == (["m"], 0.0, ["journey"])

    ok(send("post", "suites/journey/draft/"), 201)
    ok(send("put", "suites/journey/draft/", {"document": document}, **{"If-Match": "*"}))
    difference = ok(send("get", "suites/journey/diff/1/2/"))
    assert [(row["old"], row["new"]) for row in difference["cells"]] == [("sings", "plays")]
    ok(send("delete", "suites/journey/draft/"), 204)
    assert [row["number"] for row in ok(send("get", "suites/journey/"))["revisions"]] == [1]
    assert send("delete", "suites/journey/").status_code == 400
    ok(send("delete", f"runs/{run['id']}/"), 204)
    ok(send("delete", "suites/journey/"), 204)


def test_an_export_is_what_the_page_gives(client, send, people):
    make_suite(people.alice, name="frozen")
    for form in ("json", "csv"):
        response = send("get", f"suites/frozen/revisions/1/export/{form}/")
        assert response.status_code == 200
        assert response.content == client.get(f"/suites/frozen/r1/{form}/").content


def test_results_are_tables_too(client, send, world):
    key = world.runs["public"].key
    for kind, page in (("regions", "regions"), ("tokens", "tokens"), ("items", "outcomes")):
        address = f"runs/{key}/results/{kind}/"
        by_format = send("get", f"{address}?format=csv")
        by_accept = send("get", address, Accept="text/csv")
        assert by_format.content == by_accept.content
        assert by_format.content.startswith(b"run,suite,revision,suite_sha256,model,")
        assert by_format["Content-Type"] == "text/csv; charset=utf-8"
        assert by_format.content == client.get(f"/runs/{key}/download/{page}.csv/").getvalue()
        lines = [json.loads(line) for line in send("get", f"{address}?format=ndjson").content.splitlines()]
        assert len(lines) == by_format.content.count(b"\r\n") - 1
        assert lines[0]["suite"] == "public-suite"


def test_a_suite_is_made_of_any_file_text_or_design(client, send, people):
    client.force_login(people.alice)
    csv = "item_number,condition_name,region_number,region_name,content\n1,a,1,One,The\n1,b,1,One,A\n"
    assert (
        ok(send("post", "suites/", {"text": csv, "filename": "x.csv", "title": "From CSV"}), 201)["n_items"]
        == 1
    )
    sheet = "item\tcondition\tSubject\tVerb\n1\tmatch\tShe\truns\n1\tmismatch\tShe\trun\n"
    assert ok(send("post", "suites/", {"text": sheet, "title": "Sheet"}), 201)["n_sentences"] == 2
    assert ok(send("post", "suites/", {"template": "agreement", "title": "Design"}), 201)["n_items"] > 0
    client.force_login(people.alice)
    file = SimpleUploadedFile("suite.json", suite_bytes(name="filed"))
    assert ok(client.post("/api/v1/suites/", {"file": file, "visibility": "public"}), 201)["slug"] == "filed"
    for body in ({}, {"template": "agreement", "text": "x"}, {"title": "x"}):
        assert "Send one of" in send("post", "suites/", body).json()["detail"]


def test_a_bad_document_is_a_400_with_every_place(send, people):
    document = suite_json()
    del document["items"][1]["conditions"][0]["condition_name"]
    document["region_meta"] = 7
    response = send("post", "suites/", {"document": document})
    assert (response.status_code, response.json()["code"]) == (400, "unreadable")
    places = [trouble["where"] for trouble in response.json()["errors"]]
    assert "$.document.region_meta" in places
    assert any(place.startswith("$.document.items[1].conditions[0]") for place in places)
    assert not Suite.objects.exists()


def test_a_model_is_registered_edited_and_approved(send, people):
    bad = {"slug": "m", "name": "M", "backend": "uniform", "config": {"vocabulary_size": 1, "x": 2}}
    response = send("post", "models/", bad)
    assert response.status_code == 400
    assert {"$.config.vocabulary_size", "$.config"} == {row["where"] for row in response.json()["errors"]}
    model = ok(send("post", "models/", bad | {"config": {"vocabulary_size": 16}, "licence": "MIT"}), 201)
    assert (model["status"], model["licence"]) == ("unchecked", "MIT")
    run_pending()
    assert ok(send("get", "models/m/"))["status"] == "ready"
    assert ok(send("patch", "models/m/", {"corpus": "none", "perplexity": 16.0}))["perplexity"] == 16.0
    assert (
        send("post", "models/", bad | {"config": {"vocabulary_size": 16}}).json()["errors"][0]["where"]
        == "$.slug"
    )

    hub = {"slug": "g", "name": "G", "backend": "causal", "config": {"source": "hub", "repo": "a/b"}}
    assert ok(send("post", "models/", hub), 201)["status"] == "unapproved"
    assert send("post", "models/g/approve/").status_code == 403
    assert ok(send("post", "models/g/approve/", who="staff"), 202)["status"] == "unchecked"
    assert RegisteredModel.objects.get(slug="g").check_job is not None


def test_a_batch_says_what_became_of_each_cell(send, people, world):
    make_model(people.alice, slug="broken", status="broken", status_reason="No file")
    body = {"suites": ["public-suite", "private-suite", "nothing"], "models": ["open-model", "broken"]}
    body["policy"] = {"eos": True}  # no run has this policy yet
    refused = send("post", "runs/batch/", body | {"all_or_nothing": True})
    assert (refused.status_code, refused.json()["code"]) == (409, "refused")
    assert send("get", "runs/?state=queued").json()["results"] == []
    batch = ok(send("post", "runs/batch/", body), 201)
    assert (batch["queued"], batch["refused"]) == (2, 4)
    by_cell = {(cell["suite"], cell["model"]): cell for cell in batch["cells"]}
    assert by_cell["public-suite", "open-model"]["run"]
    assert "No file" in by_cell["public-suite", "broken"]["error"]
    assert by_cell["nothing", "open-model"]["error"] == "There is no such suite."
    assert len(send("get", "runs/?state=queued").json()["results"]) == 2
    once_more = ok(send("post", "runs/batch/", body), 201)
    there = {cell["run"] for cell in once_more["cells"] if cell["existing"]}
    assert (once_more["queued"], there) == (0, {cell["run"] for cell in batch["cells"]} - {None})
    assert ok(send("post", "runs/batch/", body | {"again": True}), 201)["queued"] == 2


def test_a_run_is_cancelled_and_tried_again(send, world):
    run = ok(send("post", "runs/", {"suite": "public-suite", "model": "open-model", "again": True}), 201)
    address = f"runs/{run['id']}/"
    assert ok(send("post", f"{address}cancel/"))["state"] == "cancelled"
    assert ok(send("post", f"{address}cancel/"))["state"] == "cancelled"  # repeated: no further effect
    assert ok(send("post", f"{address}retry/"))["state"] == "queued"
    assert "not finished" in send("delete", address).json()["detail"]


def test_results_computed_elsewhere_are_looked_at_kept_and_taken_back(client, people, world, send):
    client.force_login(people.alice)
    rows = "".join(f"ours,public-suite,{item},True\n" for item in range(3))
    data = f"model,suite,item,correct\n{rows}".encode()

    def form():
        return {"file": SimpleUploadedFile("o.csv", data)}

    plan = ok(client.post("/api/v1/uploads/plan/", form()))
    assert [(run["suite"], run["model"]) for run in plan["runs"]] == [("public-suite", "ours")]
    upload = ok(client.post("/api/v1/uploads/", form() | {"visibility": "public"}), 201)
    [key] = upload["runs"]
    run = ok(send("get", f"runs/{key}/", who=""))
    assert (run["source"], run["predictions"][0]["rate"]) == ("uploaded", 1.0)
    assert ok(send("get", f"runs/{key}/results/regions/"))["results"] == []
    assert len(ok(send("get", f"runs/{key}/results/items/"))["results"]) == 3
    ok(send("delete", f"uploads/{upload['id']}/"), 204)
    assert send("get", f"runs/{key}/").status_code == 410
    bad = client.post("/api/v1/uploads/", {"file": SimpleUploadedFile("o.csv", b"nothing\n")})
    assert (bad.status_code, bad.json()["code"]) == (400, "unreadable")


def accept(send):
    [invitation] = ok(send("get", "invitations/", who="dora"))["results"]
    ok(send("post", f"invitations/{invitation['id']}/accept/", who="dora"))


def test_people_of_a_suite_come_and_go(send, people):
    make_suite(people.alice, name="public suite")
    people_of = "suites/public-suite/people/"
    assert ok(send("post", people_of, {"username": "dora", "role": "view"}), 201)["role"] == "view"
    again = send("post", people_of, {"username": "dora", "role": "view"})
    assert "already" in again.json()["detail"]
    assert ok(send("patch", f"{people_of}dora/", {"role": "edit"}))["role"] == "edit"
    accept(send)
    assert [row["username"] for row in ok(send("get", people_of, who="dora"))["results"]] == ["dora"]
    assert ok(send("patch", f"{people_of}dora/", {"role": "owner"}))["role"] == "owner"
    accept(send)
    assert ok(send("get", "suites/public-suite/"))["owner"] == "dora"
    ok(send("delete", f"{people_of}alice/", who="alice"), 204)
    assert send("get", people_of, who="alice").status_code == 403


def test_visibility_changes_and_addresses_with_it(send, people):
    make_suite(people.alice, name="public suite")
    unlisted = ok(send("patch", "suites/public-suite/", {"visibility": "unlisted"}))
    assert unlisted["slug"] != "public-suite"
    public = ok(send("patch", f"suites/{unlisted['slug']}/", {"visibility": "public"}))
    assert public["slug"] == "public-suite"


def test_a_formula_is_explained(send, people):
    names = {"regions": ["Subject", "Verb"], "conditions": ["match", "mismatch"]}
    explained = ok(send("post", "formulas/explain/", {"formula": AGREEMENT, **names}))
    assert (explained["ok"], explained["chance"]["value"]) == (True, 0.5)
    assert "Verb" in explained["prose"]
    assert "".join(piece["text"] for piece in explained["pieces"]) == AGREEMENT
    bad = ok(send("post", "formulas/explain/", {"formula": "(2;%a%) >", **names}))
    assert (bad["ok"], bad["errors"][0]["position"]) == (False, 9)


def test_who_am_i(send, client, people, bearer):
    me = ok(client.get("/api/v1/me/", headers=bearer("alice", "read")))
    assert (me["username"], me["token"]["scopes"]) == ("alice", ["read"])
    assert ok(send("get", "me/"))["token"] is None
