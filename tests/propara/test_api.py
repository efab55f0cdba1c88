"""ProPara in the REST API: scoring in one call, all problems at once, everything that pages show."""

from __future__ import annotations

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from gym.accounts.tokens import create_token
from gym.propara.models import AnswerSet, Submission
from lmgym.propara import evaluate
from tests.lmgym.propara.worlds import LIGHT, shipped
from tests.propara.worlds import LATE, SENTENCES, hand_in, make_set, make_shipped, make_version


def file(text: str, name: str = "p.tsv") -> SimpleUploadedFile:
    return SimpleUploadedFile(name, text.encode())


@pytest.fixture
def bob(client, people):
    """A client that sends bob's API token."""
    _, plain = create_token(actor=people.bob, name="x", scopes=["read", "write", "run"])
    client.defaults["HTTP_AUTHORIZATION"] = f"Bearer {plain}"
    return client


def test_one_call_uploads_and_scores(bob, people):
    version = make_shipped(people.alice)
    body = {"answer_set": "shipped", "file": file(shipped("hasty")), "system": "Hasty"}
    answer = bob.post(reverse("api-propara-submissions"), body)
    assert answer.status_code == 201
    data = answer.json()
    report = evaluate(version.answers, shipped("hasty"))
    assert (data["state"], data["reference"]["f1"]) == ("scored", report.f1)
    assert data["corrected"]["f1"] == report.corrected.f1
    assert bob.get(answer["Location"]).json() == data


def test_repairs_wait_unless_they_are_agreed_to_beforehand(bob, people):
    make_set(people.alice)
    address = reverse("api-propara-submissions")
    waiting = bob.post(address, {"answer_set": "light", "file": file("\n" + LATE)}).json()
    assert (waiting["state"], waiting["reference"], len(waiting["repairs"])) == ("waiting", None, 1)
    report = bob.get(reverse("api-propara-report", args=[waiting["id"]]))
    assert (report.status_code, report.json()["code"]) == (409, "no-results")
    assert "It is waiting for its owner to agree to the repairs." in report.json()["detail"]
    agreed = bob.post(reverse("api-propara-agree", args=[waiting["id"]])).json()
    assert agreed["state"] == "scored"
    body = {"answer_set": "light", "file": file("\n" + LATE), "agree_to_repairs": "true"}
    assert bob.post(address, body).json()["state"] == "scored"


def test_a_bad_file_is_a_problem_with_every_place(bob, people):
    make_set(people.alice)
    text = LATE.replace("DESTROY", "VANISH") + "7\t5\n"
    answer = bob.post(reverse("api-propara-submissions"), {"answer_set": "light", "file": file(text)})
    assert (answer.status_code, answer["Content-Type"]) == (400, "application/problem+json")
    assert [one["where"] for one in answer.json()["errors"]] == [
        "p.tsv, line 3, column 4",
        "p.tsv, line 9, column 2",
    ]
    assert [(one["where"], one["n"], one["lines"]) for one in answer.json()["problem_groups"]] == [
        ("p.tsv, line 3, column 4", 1, [3]),
        ("p.tsv, line 9, column 2", 1, [9]),
    ]
    assert not Submission.objects.exists()


def test_scoring_without_keeping(bob, people):
    make_set(people.alice)
    address = reverse("api-propara-evaluate")
    for target in ({"answer_set": "light"}, {"answers": file(LIGHT)}):
        data = bob.post(address, {"file": file(LATE), **target}).json()
        assert data["report"]["reference"]["f1"] == evaluate(LIGHT, LATE).f1
    data = bob.post(address, {"file": file(LATE + "\n"), "answer_set": "light"}).json()
    assert (data["scored"], data["report"], len(data["repairs"])) == (False, None, 1)
    assert bob.post(address, {"file": file(LATE)}).status_code == 400
    assert not Submission.objects.exists()


def test_scoring_without_keeping_can_say_all_about_each_process(bob, people):
    version = make_version(people.alice)
    address = reverse("api-propara-evaluate")
    kept = hand_in(version, people.bob)
    wanted = bob.get(reverse("api-propara-process", args=[kept.key, 7])).json()
    kept.delete()
    for target in (
        {"answer_set": "light"},
        {"answers": file(LIGHT), "sentences": file(SENTENCES)},
    ):
        data = bob.post(address, {"file": file(LATE), "details": "true", **target}).json()
        assert data["processes"] == [wanted]
    assert wanted["sentences"][0] == "Gas gathers in a star."
    assert wanted["answer"]["conversions"]
    assert any(pair["parts"] for pair in wanted["questions"]["moves"]["pairs"])
    assert bob.post(address, {"file": file(LATE), "answer_set": "light"}).json()["processes"] == []


def test_sentences_sent_along_are_read_with_their_answers(bob, people):
    make_set(people.alice)
    address = reverse("api-propara-evaluate")
    wrong = {"answers": file(LIGHT), "sentences": file("7\tx\n7\t1.0\tGas.\n")}
    answer = bob.post(address, {"file": file(LATE), **wrong})
    assert answer.status_code == 400
    assert [one["where"] for one in answer.json()["errors"]] == [
        "sentences, line 1, column 2",
        "sentences, line 2, column 2",
    ]
    both = {"answer_set": "light", "sentences": file(SENTENCES)}
    assert bob.post(address, {"file": file(LATE), **both}).status_code == 400


@pytest.mark.parametrize("text", ["sea\\ud800", "sea\\u0000"])
def test_half_a_surrogate_pair_in_a_grid_is_refused(bob, people, text):
    make_set(people.alice)
    grid = '[{"process_id": 7, "participants": {"gas": ["TEXT", "x", "x", "x", "x"]}}]'.replace("TEXT", text)
    answer = bob.post(reverse("api-propara-evaluate"), {"file": file(grid, "p.json"), "answer_set": "light"})
    assert answer.status_code == 400
    assert "unpaired surrogate" in answer.json()["errors"][0]["message"]


def test_an_answer_set_is_made_changed_and_gets_versions(bob):
    body = {"title": "Light", "answers": file(LIGHT), "sentences": file(SENTENCES)}
    made = bob.post(reverse("api-propara-sets"), body)
    assert (made.status_code, made.json()["slug"]) == (201, "light")
    more = bob.post(
        reverse("api-propara-versions", args=["light"]), {"answers": file(LIGHT), "note": "again"}
    )
    assert (more.status_code, more.json()["number"]) == (201, 2)
    changed = bob.patch(
        reverse("api-propara-set", args=["light"]), {"visibility": "public"}, content_type="application/json"
    )
    assert (changed.json()["visibility"], changed.json()["versions"]) == ("public", [2, 1])
    assert bob.delete(reverse("api-propara-set", args=["light"])).status_code == 204
    assert not AnswerSet.objects.exists()


def test_reports_processes_and_comparisons(client, people):
    version = make_shipped(people.alice)
    first, second = (
        hand_in(version, people.alice, shipped(name), system=name) for name in ("careful", "hasty")
    )
    report = client.get(reverse("api-propara-report", args=[second.key])).json()
    assert report["report"]["reference"]["f1"] == second.f1
    rows = client.get(reverse("api-propara-processes", args=[second.key])).json()["results"]
    assert [row["process_id"] for row in rows] == version.process_ids
    table = client.get(reverse("api-propara-processes", args=[second.key]), {"format": "csv"})
    assert table.content.decode().startswith("process_id,precision,recall,f1")
    process = client.get(reverse("api-propara-process", args=[second.key, 1])).json()
    pair = process["questions"]["moves"]["pairs"][0]
    assert {"answer", "prediction", "score", "reason", "parts"} <= pair.keys()
    assert process["questions"]["conversions"]["missed"][0]["step"] == 5
    keys = {"first": first.key, "second": second.key}
    found = client.get(reverse("api-propara-compare"), keys).json()
    overall = found["comparisons"][0]
    assert overall["difference"] == second.f1 - first.f1
    assert overall["n"] == found["n"] == 14


def test_lists_take_as_many_queries_for_many_as_for_few(client, people, django_assert_max_num_queries):
    version = make_version(people.alice)
    for _ in range(12):
        hand_in(version, people.bob)
    with django_assert_max_num_queries(10):
        assert len(client.get(reverse("api-propara-submissions")).json()["results"]) == 12
    with django_assert_max_num_queries(10):
        client.get(reverse("api-propara-sets"))
