"""Agent tests through the API: from registering a server to comparing runs."""

from __future__ import annotations

import io
import zipfile

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from gym.agents.models import AgentServer, AgentSuite
from gym.jobs.testing import run_pending
from gym.secrets import reveal
from tests.agents.site import GOOD, make_run, make_server, make_suite

WRONG = "agent: echo\ninteractions: [{text: hello, response: {text: {keywords: goodbye}}}]\n"
SECRET = "Bearer sk-not-for-eyes"


def ok(response, status=200):
    assert response.status_code == status, response.content
    return response.json() if response.content else None


def test_an_agent_and_its_tests_go_from_nothing_to_results(client, send, people):
    made = send("post", "agent-servers/", {"kind": "embedded", "name": "Ours", "visibility": "public"})
    assert (ok(made, 201)["id"], ok(made, 201)["state"]) == ("ours", "unchecked")
    run_pending()
    agent = ok(send("get", "agent-servers/ours/", who=""))
    assert (agent["state"], "echo" in agent["agents"], agent["url"], agent["secret_headers"]) == (
        "ready",
        True,
        None,
        None,
    )

    suite = ok(send("post", "agent-suites/", {"title": "Good manners", "visibility": "public"}), 201)
    assert (suite["id"], suite["n_cases"]) == ("good-manners", 0)
    cases = "agent-suites/good-manners/cases/"
    ok(send("post", cases, {"cases": {"hello": GOOD, "deep/wrong": WRONG}}), 201)
    rows = ok(send("get", cases))["results"]
    assert [row["name"] for row in rows] == ["deep/wrong", "hello"]
    assert not any("text" in row for row in rows)  # 500 cases can be a megabyte each

    run = ok(send("post", "agent-runs/", {"suite": "good-manners", "server": "ours"}), 201)
    assert (run["state"], run["job"] is not None) == ("queued", True)
    run_pending()
    run = ok(send("get", f"agent-runs/{run['id']}/"))
    assert [(row["name"], row["outcome"]) for row in run["cases"]] == [
        ("deep/wrong", "fail"),
        ("hello", "pass"),
    ]
    result = ok(send("get", f"agent-runs/{run['id']}/results/"))["cases"][0]
    [iteration] = result["iterations"]
    assert (iteration["checks"][0]["test"], iteration["checks"][0]["outcome"]) == ("keywords", "fail")
    assert iteration["turns"][0]["user_text"] == "hello"
    page = client.get(f"/agents/runs/{run['id']}/download/junit/")
    assert send("get", f"agent-runs/{run['id']}/files/junit/").getvalue() == page.getvalue()

    changed = ok(send("patch", f"{cases}{rows[0]['id']}/", {"text": GOOD, "name": "mended"}))
    assert (changed["name"], changed["history"][0]["outcome"]) == ("mended", "fail")
    again = ok(send("post", f"agent-runs/{run['id']}/rescore/", {}), 201)
    assert again["rescored_from"] == run["id"]
    run_pending()
    again = ok(send("get", f"agent-runs/{again['id']}/"))
    assert [row["outcome"] for row in again["cases"]] == ["pass", "pass"]
    one = ok(
        send("post", "agent-runs/", {"suite": "good-manners", "server": "ours", "cases": ["hello"]}), 201
    )
    assert len(one["cases"]) == 1
    assert ok(send("post", f"agent-runs/{one['id']}/cancel/"))["state"] == "cancelled"

    (compared,) = ok(send("get", f"agent-compare/?first={run['id']}&second={again['id']}"))["comparisons"]
    total = compared["total"]  # cases are matched by name, and one is in both
    assert [total[f"{side}_{name}"] for side in ("first", "second") for name in ("passed", "n")] == [1] * 4
    assert {row["case"]: row["first_outcome"] is None for row in compared["cases"]}["mended"]

    assert "so it cannot be deleted" in send("delete", "agent-servers/ours/").json()["detail"]
    ok(send("delete", f"{cases}{rows[1]['id']}/"), 204)
    ok(send("delete", "agent-suites/good-manners/"), 204)
    ok(send("delete", "agent-servers/ours/"), 204)
    assert not AgentServer.objects.exists()


def test_an_archive_that_was_exported_is_imported_again(client, send, people):
    make_suite(people.alice, "first", {"hello": GOOD, "deep/wrong": WRONG})
    make_suite(people.alice, "second", {"old": GOOD})
    packed = send("get", "agent-suites/first/export/")
    assert packed["Content-Type"] == "application/zip"
    with zipfile.ZipFile(io.BytesIO(packed.content)) as archive:
        assert archive.read("deep/wrong.hocon").decode() == WRONG
    client.force_login(people.alice)
    file = SimpleUploadedFile("first.zip", packed.content)
    ok(client.post("/api/v1/agent-suites/second/cases/", {"file": file}), 201)
    names = {row["id"]: row["name"] for row in ok(send("get", "agent-suites/second/cases/"))["results"]}
    texts = {
        name: ok(send("get", f"agent-suites/second/cases/{number}/"))["text"]
        for number, name in names.items()
    }
    assert texts == {"hello": GOOD, "deep/wrong": WRONG, "old": GOOD}
    broken = client.post(
        "/api/v1/agent-suites/second/cases/", {"file": SimpleUploadedFile("x.zip", b"PK\3\4nothing")}
    )
    assert (broken.status_code, broken.json()["code"]) == (400, "unreadable")


def test_secrets_go_in_and_never_come_out(send, people, settings):
    settings.GYM_NET_ALLOW = ["agents.example.org"]
    body = {
        "kind": "server",
        "name": "Theirs",
        "url": "https://agents.example.org",
        "secret_headers": {"Authorization": SECRET, "X-Team": "linguists"},
    }
    answers = [send("post", "agent-servers/", body)]
    assert ok(answers[0], 201)["secret_headers"] == ["Authorization", "X-Team"]
    answers.append(
        send("patch", "agent-servers/theirs/", {"secret_headers": {"X-Team": None, "X-New": "newcomers"}})
    )
    assert ok(answers[-1])["secret_headers"] == ["Authorization", "X-New"]
    server = AgentServer.objects.get()
    assert reveal(server.secrets, "Authorization") == SECRET
    answers.append(send("patch", "agent-servers/theirs/", {"url": "https://agents.example.org/other"}))
    assert ok(answers[-1])["secret_headers"] == []  # the stored headers were for the old address

    suite = {"title": "S", "variables": {"API_KEY": SECRET}}
    answers.append(send("post", "agent-suites/", suite))
    assert ok(answers[-1], 201)["variables"] == ["API_KEY"]
    assert reveal(AgentSuite.objects.get().variables, "API_KEY") == SECRET
    answers.append(send("patch", "agent-suites/s/", {"title": "T"}))
    assert ok(answers[-1])["variables"] == ["API_KEY"]
    ok(send("patch", "agent-suites/s/", {"visibility": "public"}))
    assert ok(send("get", "agent-suites/s/", who="charlie"))["variables"] is None
    answers += [
        send("get", "agent-servers/"),
        send("get", "agent-servers/theirs/"),
        send("get", "models/theirs/"),
    ]
    assert all(SECRET not in answer.content.decode() for answer in answers)


@pytest.mark.parametrize(
    ("address", "body", "where"),
    [
        ("agent-servers/", {"kind": "server", "name": "A", "url": "not an address"}, "$.url"),
        ("agent-servers/", {"kind": "teapot", "name": "A"}, "$.kind"),
        ("agent-servers/", {"kind": "model", "name": "A"}, "$.kind"),
        ("agent-servers/", {"kind": "embedded", "name": "A", "slug": "embedded"}, "$.slug"),
        (
            "agent-servers/",
            {"kind": "embedded", "name": "A", "secret_headers": {"Host": "x"}},
            "$.secret_headers",
        ),
        (
            "agent-servers/",
            {"kind": "embedded", "name": "A", "secret_headers": {"X": "ü"}},
            "$.secret_headers",
        ),
        (
            "agent-servers/",
            {"kind": "embedded", "name": "A", "secret_headers": {"X": ""}},
            "$.secret_headers.X",
        ),
        ("agent-suites/", {"title": "New", "slug": "new"}, "$.slug"),
        ("agent-suites/", {"title": "New", "slug": "manners"}, "$.slug"),
        ("agent-suites/", {"title": "S", "judge": "nobody"}, "$.judge"),
        ("agent-suites/", {"title": "S", "judge_votes": 16}, "$.judge_votes"),
        ("agent-suites/", {"title": "S", "variables": {"1X": "x"}}, "$.variables"),
        ("agent-suites/manners/cases/", {"cases": {"a": "agent: "}}, "$.cases['a']"),
        ("agent-suites/manners/cases/", {"cases": {"../a": GOOD}}, "$"),
        ("agent-runs/", {"suite": "manners", "server": "embedded", "cases": ["nothing"]}, "$.cases[0]"),
        ("agent-runs/", {"suite": "manners", "server": "embedded", "parallel": 99}, "$.parallel"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(send, people, address, body, where):
    make_server(people.alice)
    make_suite(people.alice)
    answer = send("post", address, body)
    assert (answer.status_code, answer.json()["errors"][0]["where"]) == (400, where), answer.content
    assert (AgentServer.objects.count(), AgentSuite.objects.count()) == (1, 1)


def test_a_private_judge_is_not_named_to_others(send, people):
    hidden = make_server(people.alice, "hidden", visibility="private")
    suite = make_suite(people.alice, judge=hidden.model)
    assert ok(send("get", f"agent-suites/{suite.slug}/"))["judge"] == "hidden"
    for who in ("charlie", ""):
        assert ok(send("get", f"agent-suites/{suite.slug}/", who=who))["judge"] is None


def test_the_judge_is_asked_again_on_request(send, people):
    server = make_server(people.alice)
    text = "agent: echo\ninteractions: [{text: hello, response: {text: {gist: Mentions 'hello'}}}]"
    suite = make_suite(people.alice, cases={"c": text}, judge=server.model, judge_agent="judge")
    run = make_run(suite, server)
    for body, remembered in (({}, True), ({"ask_judge": True}, False)):
        made = ok(send("post", f"agent-runs/{run.key}/rescore/", body), 201)
        assert made["ask_judge"] is not remembered
        run_pending()
        result = ok(send("get", f"agent-runs/{made['id']}/results/"))["cases"][0]
        [check] = result["iterations"][0]["checks"]
        assert (check["outcome"], check["judge"]["cached"]) == ("pass", remembered)


def test_lists_are_filtered(send, people):
    first, second = make_server(people.alice), make_server(people.alice, "other")
    suite = make_suite(people.alice)
    runs = [make_run(suite, server).key for server in (first, second)]
    assert [row["id"] for row in ok(send("get", "agent-runs/?server=other"))["results"]] == [runs[1]]
    assert len(ok(send("get", "agent-runs/?suite=manners&owner=alice"))["results"]) == 2
    assert [row["id"] for row in ok(send("get", "agent-servers/?q=oth&state=ready"))["results"]] == ["other"]
    assert ok(send("get", "agent-suites/?q=nothing"))["results"] == []
    assert send("get", "agent-runs/?case=x").status_code == 400


def test_answers_are_scored_again_by_another_reading(send, people):
    suite = make_suite(people.alice, "readings", {"hello": GOOD})
    run = make_run(suite, make_server(people.alice))
    address = f"agent-runs/{run.key}/rescore/"
    assert ok(send("post", address, {}), 201)["options"]["reading"] == "document"
    again = ok(send("post", address, {"reading": "reference-compatible"}), 201)
    assert again["options"]["reading"] == "reference-compatible"
    for wrong in ({"reading": "aloud"}, {"rules": "document"}):
        assert send("post", address, wrong).status_code == 400
