"""Collections through the API: create, change, publish, export, and refusals."""

from __future__ import annotations

import io
import zipfile

import pytest

from gym.collections.models import Collection
from gym.jobs.testing import run_pending
from suites import services
from suites.models import Suite
from tests.api.worlds import make_world
from tests.factories import make_model, make_suite
from tests.once import once_a_module

built, people, world = once_a_module(make_world)


def ok(response, status=200):
    assert response.status_code == status, response.content
    return response.json() if response.content else None


@pytest.fixture
def suites(people):
    return [make_suite(people.alice, name=name) for name in ("first", "second", "third")]


def listed(answer):
    return [(row["suite"], row["revision"]) for row in answer["suites"]]


def test_a_collection_is_made_filled_run_published_and_exported(client, send, people, suites):
    make_model(people.staff, slug="m")
    body = {
        "slug": "paper",
        "title": "A paper's set",
        "suites": [{"suite": "first"}, {"suite": "second", "revision": 1}],
    }
    made = send("post", "collections/", body)
    answer = ok(made, 201)
    assert made["Location"].endswith("/api/v1/collections/paper/")
    assert (listed(answer), answer["published_at"], answer["owner"]) == (
        [("first", 1), ("second", 1)],
        None,
        "alice",
    )
    assert send("get", "collections/paper/", who="charlie").status_code == 404

    ok(send("post", "collections/paper/suites/", {"suite": "third"}), 201)
    again = ok(send("post", "collections/paper/suites/", {"suite": "third", "revision": 1}), 201)
    assert listed(again) == [("first", 1), ("second", 1), ("third", 1)]
    ok(send("delete", "collections/paper/suites/second/1/"), 204)
    changed = send("patch", "collections/paper/", {"title": "Two suites"})
    assert (ok(changed)["title"], ok(changed)["n_suites"]) == ("Two suites", 2)

    queued = ok(send("post", "leaderboard/run-missing/", {"collection": "paper", "models": ["m"]}), 201)
    assert (len(queued["runs"]), queued["left"], queued["stopped"]) == (2, 0, "")
    once_more = ok(send("post", "leaderboard/run-missing/", {"collection": "paper", "models": ["m"]}), 201)
    assert (once_more["runs"], once_more["waiting"]) == ([], 2)
    run_pending()

    published = ok(send("post", "collections/paper/publish/", {}))
    assert published["published_at"] is not None
    assert len(published["sha256"]) == 64
    board = ok(send("get", "collections/paper/files/json/", who=""))
    assert "m" in str(board)
    table = send("get", "collections/paper/files/csv/?rule=all", who="").content.decode()
    assert table.startswith("rule,")
    assert "\r\nall," in table
    assert "@misc" in send("get", "collections/paper/files/bib/", who="").content.decode()
    waiting = send("get", "collections/paper/files/zip/", who="")
    assert (ok(waiting, 202)["state"], ok(waiting, 202)["total"]) == ("queued", 2)
    assert waiting["Retry-After"] == "2"
    run_pending()
    packed = send("get", "collections/paper/files/zip/", who="")
    with zipfile.ZipFile(io.BytesIO(packed.getvalue())) as archive:
        assert "suites/first-r1.json" in archive.namelist()
    assert packed.headers["Content-Type"] == "application/zip"
    client.logout()
    assert (
        client.get("/collections/paper/download/bib/").content
        == send("get", "collections/paper/files/bib/", who="").content
    )


def test_a_published_collection_stays_as_it_is(send, suites):
    ok(send("post", "collections/", {"slug": "paper", "title": "P", "suites": [{"suite": "first"}]}), 201)
    ok(send("post", "collections/paper/publish/", {}))
    for method, address, body in (
        ("patch", "collections/paper/", {"title": "other"}),
        ("delete", "collections/paper/", None),
        ("post", "collections/paper/suites/", {"suite": "second"}),
        ("delete", "collections/paper/suites/first/1/", None),
        ("post", "collections/paper/publish/", {}),
    ):
        assert send(method, address, body).status_code == 403, address
    assert listed(ok(send("get", "collections/paper/"))) == [("first", 1)]


def test_what_is_wrong_is_named_with_its_place(send, people, suites):
    draft = make_suite(people.alice, name="draft", frozen=False)
    make_suite(people.bob, name="hidden", visibility="private")
    body = {
        "slug": "x",
        "title": "X",
        "suites": [
            {"suite": "first"},
            {"suite": draft.slug},
            {"suite": "hidden"},
            {"suite": "first", "revision": 9},
        ],
    }
    refused = send("post", "collections/", body)
    assert refused.status_code == 400
    assert [row["where"] for row in refused.json()["errors"]] == ["$.suites[1]", "$.suites[2]", "$.suites[3]"]
    for wrong, where in (
        ({"slug": "new", "title": "X"}, "$.slug"),
        ({"slug": "x y", "title": "X"}, "$.slug"),
        ({"slug": "x"}, "$.title"),
        ({"slug": "x", "title": "X", "suite": []}, "$.suite"),
        (
            {"slug": "x", "title": "X", "suites": [{"suite": "first", "revision": "1"}]},
            "$.suites[0].revision",
        ),
    ):
        answer = send("post", "collections/", wrong)
        assert (answer.status_code, answer.json()["errors"][0]["where"]) == (400, where), answer.content
    ok(send("post", "collections/", {"slug": "x", "title": "X"}), 201)
    taken = send("post", "collections/", {"slug": "x", "title": "X"})
    assert (taken.status_code, taken.json()["errors"][0]["where"]) == (400, "$.slug")
    assert "empty" in send("post", "collections/x/publish/", {}).json()["detail"]
    assert Collection.objects.count() == 1
    wrong = send("post", "leaderboard/run-missing/", {"models": ["nobody"]})
    assert (wrong.status_code, wrong.json()["errors"][0]["where"]) == (400, "$.models")


def test_lists_are_filtered_and_sorted(send, people, suites):
    for slug in ("b", "a"):
        ok(
            send(
                "post", "collections/", {"slug": slug, "title": slug.upper(), "suites": [{"suite": "first"}]}
            ),
            201,
        )
    ok(send("post", "collections/a/publish/", {}))
    assert [row["slug"] for row in ok(send("get", "collections/"))["results"]] == ["a", "b"]
    assert [row["slug"] for row in ok(send("get", "collections/?state=draft"))["results"]] == ["b"]
    assert [row["slug"] for row in ok(send("get", "collections/?sort=-title"))["results"]] == ["b", "a"]
    assert [row["slug"] for row in ok(send("get", "collections/", who="charlie"))["results"]] == ["a"]
    assert ok(send("get", "collections/?owner=bob"))["results"] == []
    assert [row["slug"] for row in ok(send("get", "collections/?state=published&q=a"))["results"]] == ["a"]
    assert send("get", "collections/?state=null").status_code == 400


def test_a_suite_that_is_not_public_keeps_a_collection_unpublished(send, people, suites):
    ok(send("post", "collections/", {"slug": "x", "title": "X", "suites": [{"suite": "first"}]}), 201)
    services.set_visibility(suites[0], "private", actor=people.alice)
    refused = send("post", "collections/x/publish/", {})
    assert (refused.status_code, "first" in refused.json()["detail"]) == (400, True)


def test_publishing_makes_the_named_suites_public_and_no_others(send, people, suites):
    entries = [{"suite": slug} for slug in ("first", "second")]
    ok(send("post", "collections/", {"slug": "x", "title": "X", "suites": entries}), 201)
    for suite in suites[:2]:
        services.set_visibility(suite, "private", actor=people.alice)
    unknown = send("post", "collections/x/publish/", {"make_public": ["first", "third"]})
    [error] = unknown.json()["errors"]
    assert (error["where"], error["message"]) == (
        "$.make_public[1]",
        "This collection has no suite “third”.",
    )
    refused = send("post", "collections/x/publish/", {"make_public": ["first"]})
    assert (refused.status_code, "second" in refused.json()["detail"]) == (400, True)
    suites[0].refresh_from_db()
    assert suites[0].visibility == "private"
    ok(send("post", "collections/x/publish/", {"make_public": ["first", "second"]}))
    assert [suite.visibility for suite in Suite.objects.filter(slug__in=["first", "second"])] == [
        "public"
    ] * 2


def test_publishing_makes_no_suite_of_another_account_public(send, people, suites):
    theirs = make_suite(people.bob, name="theirs")
    entries = [{"suite": slug} for slug in ("first", "theirs")]
    ok(send("post", "collections/", {"slug": "x", "title": "X", "suites": entries}), 201)
    services.set_visibility(theirs, "private", actor=people.bob)
    refused = send("post", "collections/x/publish/", {"make_public": ["theirs"]})
    assert refused.status_code == 400
    theirs.refresh_from_db()
    assert theirs.visibility == "private"


@pytest.mark.parametrize(
    ("address", "page"),
    [
        ("exports/scores/csv/?suite=public-suite", "/exports/scores.csv?suite=public-suite"),
        ("exports/regions/csv/?model=open-model&all=true", "/exports/regions.csv?model=open-model&all=1"),
        ("exports/outcomes/csv/?run=RUN", "/exports/outcomes.csv?run=RUN"),
        ("runs/RUN/evaluated/", "/exports/runs/RUN/evaluated.json"),
        ("suites/public-suite/revisions/1/export/blimp/", "/exports/suites/public-suite/r1/blimp.jsonl"),
        ("suites/public-suite/revisions/1/export/lm-eval/", "/exports/suites/public-suite/r1/lm-eval.zip"),
        ("suites/public-suite/revisions/1/export/bib/", "/exports/suites/public-suite/r1/bib"),
    ],
)
def test_a_token_downloads_what_the_page_offers(client, world, bearer, people, address, page):
    key = world.runs["public"].key
    client.logout()
    answer = client.get(f"/api/v1/{address.replace('RUN', key)}", headers=bearer("alice", "read"))
    client.force_login(people.alice)
    expected = client.get(page.replace("RUN", key))
    assert (answer.status_code, answer["Content-Type"]) == (expected.status_code, expected["Content-Type"])
    assert answer.getvalue() == expected.getvalue()


def test_what_a_format_cannot_say_is_a_409(send, people):
    formula = "(2;%match%) + (3;%match%) < (2;%mismatch%) + (3;%mismatch%)"
    make_suite(people.alice, name="odd", formulas=(formula, "(1;%match%) > 3"))
    answer = send("get", "suites/odd/revisions/1/export/blimp/")
    assert (answer.status_code, answer.json()["code"]) == (409, "not-expressible"), answer.content


def test_changing_the_title_leaves_suites_that_one_cannot_see_just_now(send, people, suites):
    ok(
        send(
            "post", "collections/", {"slug": "mix", "title": "Mix", "suites": [{"suite": "first"}]}, who="bob"
        ),
        201,
    )
    services.set_visibility(suites[0], "private", actor=people.alice)
    assert listed(ok(send("patch", "collections/mix/", {"title": "Mixed"}, who="bob"))) == []
    services.set_visibility(suites[0], "public", actor=people.alice)
    assert listed(ok(send("get", "collections/mix/", who="bob"))) == [("first", 1)]
