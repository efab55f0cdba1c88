"""Import of tables whose columns or encoding are ambiguous, and of files of existing suites."""

from __future__ import annotations

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from suites.models import Suite
from tests.factories import make_suite
from tests.lmgym.suites.documents import suite_bytes

pytestmark = pytest.mark.django_db


def file(name, data):
    return SimpleUploadedFile(name, data)


GERMAN = "Nr.;Fassung;Nomen\n1;Einzahl;die Tür\n1;Mehrzahl;die Türen\n"
ANSWERS = {"columns": {"A": "item", "B": "condition", "C": "text"}}


def test_what_a_table_leaves_open_is_named_and_answered_by_parameters(client, people):
    client.force_login(people.alice)
    body = {"text": GERMAN, "filename": "türen.csv"}
    refused = client.post("/api/v1/suites/", body, content_type="application/json")
    assert refused.status_code == 400
    assert refused.json()["asks"] == ["columns"]
    made = client.post("/api/v1/suites/", body | ANSWERS, content_type="application/json")
    assert made.status_code == 201, made.content
    assert Suite.objects.get().draft.condition_names == ["Einzahl", "Mehrzahl"]


def test_columns_that_may_be_no_regions_are_refused_with_a_proposal_that_can_be_sent_back(client, people):
    client.force_login(people.alice)
    text = "item,condition,list,Subject,Verb\n1,a,1,The cat,sleeps\n1,b,2,The cat,sleep\n"
    refused = client.post("/api/v1/suites/", {"text": text}, content_type="application/json")
    assert refused.status_code == 400
    problem = refused.json()
    assert problem["asks"] == ["columns"]
    assert "C “list” (numbers)" in problem["errors"][0]["message"]
    body = {"text": text, "columns": problem["columns"]}
    made = client.post("/api/v1/suites/", body, content_type="application/json")
    assert made.status_code == 201, made.content
    draft = Suite.objects.get().draft
    assert draft.region_names == ["Subject", "Verb"]
    assert draft.sentences.first().extra == {"data": {"list": "1"}}


def test_pairs_ask_which_sentence_is_better_and_take_the_answer(client, people):
    client.force_login(people.alice)
    text = "one,other\nThe cat sleeps.,The cat sleep.\nThe owls hoot.,The owls hoots.\n"
    refused = client.post("/api/v1/suites/", {"text": text}, content_type="application/json").json()
    assert refused["asks"] == ["prediction", "columns"]
    assert list(refused["choices"]["prediction"]) == ["one", "other", "-"]
    body = {"text": text, "columns": refused["columns"], "prediction": "one"}
    made = client.post("/api/v1/suites/", body, content_type="application/json")
    assert made.status_code == 201, made.content
    (prediction,) = Suite.objects.get().draft.predictions.all()
    assert prediction.formula == "(*;%one%) < (*;%other%)"


def test_answers_about_a_whole_sheet_are_parameters(client, people):
    client.force_login(people.alice)
    text = "Owls\n\nx\ty\tz\n1\ta\tThe cat/sleeps.\n1\tb\tThe cat/sleep.\n"
    body = {"text": text, "header": "3", "cut": "/", "columns": ANSWERS["columns"]}
    made = client.post("/api/v1/suites/", body, content_type="application/json")
    assert made.status_code == 201, made.content
    assert Suite.objects.get().draft.region_names == ["Region 1", "Region 2"]
    bad = client.post("/api/v1/suites/", body | {"header": "third"}, content_type="application/json")
    assert bad.status_code == 400


def test_a_form_with_a_file_says_the_same(client, people):
    client.force_login(people.alice)
    sent = {
        "file": file("türen.csv", GERMAN.encode("windows-1252")),
        "encoding": "windows-1252",
        "columns.A": "item",
        "columns.B": "condition",
        "columns.C": "text",
        "conditions.Mehrzahl": "plural",
    }
    made = client.post("/api/v1/suites/", sent)
    assert made.status_code == 201, made.content
    draft = Suite.objects.get().draft
    assert draft.condition_names == ["Einzahl", "plural"]
    assert draft.sentences.first().contents == ["die Tür"]
    refused = client.post("/api/v1/suites/", sent | {"file": file("x.csv", b"a"), "rows.A": "item"})
    assert "rows.A" in refused.content.decode()


def test_a_single_suite_that_is_there_is_offered_unless_a_new_one_is_wanted(client, people):
    there = make_suite(people.bob, name="there", items=5)
    client.force_login(people.alice)
    refused = client.post("/api/v1/suites/", {"file": file("t.json", suite_bytes(name="t", items=5))})
    assert (refused.status_code, refused.json()["code"]) == (409, "exists")
    assert (refused.json()["suite"], refused.json()["revision"]) == (there.slug, 1)
    text = {"text": suite_bytes(name="t", items=5).decode()}
    assert client.post("/api/v1/suites/", text, content_type="application/json").status_code == 409
    made = client.post("/api/v1/suites/", text | {"again": True}, content_type="application/json")
    assert (made.status_code, made.json()["slug"]) == (201, "t")
    for _ in range(2):  # a suite started from a template is never a duplicate
        begun = {"template": "agreement"}
        assert client.post("/api/v1/suites/", begun, content_type="application/json").status_code == 201
