"""The draft of a suite that has a frozen revision can be read only by the suite's owner, its collaborators
and staff.

Nobody else can detect it: its number is a 404 at every address that takes a revision number, and lists omit
it.
"""

from __future__ import annotations

import pytest
from django.core.exceptions import PermissionDenied
from django.urls import reverse

from lmgym.suites.formats import read_suite
from suites import services
from suites.selectors import revisions_for
from tests.factories import make_model, make_suite
from tests.lmgym.suites.documents import suite_bytes

SUITE = "meadow"
INSIDERS = ("alice", "bob", "dora", "staff")
API = "/api/v1/suites/meadow/revisions/2/"
PAGES = (
    "/suites/meadow/r2/",
    "/suites/meadow/r2/items/",
    "/suites/meadow/r2/json/",
    "/suites/meadow/r2/tsv/",
    "/suites/meadow/diff/1/2/",
    "/suites/meadow/diff/2/1/",
    "/figures/suite-models.csv?suite=meadow&r=2",
    API,
    "/api/v1/suites/meadow/revisions/2/export/csv/",
    "/api/v1/suites/meadow/diff/1/2/",
    "/api/v1/suites/meadow/lint/?revision=2",
)


def make(people, visibility="public", frozen=True):
    """Create a suite with two items frozen as r1 and five in a draft; if not `frozen`, only a draft with two
    items."""
    suite = make_suite(people.alice, name=SUITE, items=2, visibility=visibility, frozen=frozen)
    if frozen:
        services.replace_draft(suite, read_suite(suite_bytes(name=SUITE, items=5)), actor=people.alice)
    for user, role in ((people.bob, "edit"), (people.dora, "view")):
        suite.collaborations.create(user=user, role=role)
    return suite


def sign_in(client, people, who):
    client.logout()
    if who != "nobody":
        client.force_login(getattr(people, who))


@pytest.mark.parametrize(
    ("visibility", "who", "pages"),
    [
        *(("public", who, PAGES) for who in ("nobody", "charlie", "dora")),
        ("unlisted", "charlie", PAGES),
        *(("public", who, (PAGES[0], API)) for who in INSIDERS if who != "dora"),
    ],
)
def test_a_draft_beside_a_frozen_revision_is_for_the_people_of_the_suite(
    client, people, visibility, who, pages
):
    suite = make(people, visibility)
    sign_in(client, people, who)
    expected = 200 if who in INSIDERS else 404
    for page in pages:
        address = page.replace(SUITE, suite.slug)
        assert client.get(address).status_code == expected, address


@pytest.mark.parametrize("who", ["nobody", "charlie", "dora"])
def test_a_suite_that_was_never_frozen_shows_its_draft_to_whoever_may_see_it(client, people, who):
    make(people, frozen=False)
    sign_in(client, people, who)
    for page in (
        "/suites/meadow/",
        "/suites/meadow/r1/",
        "/suites/meadow/r1/items/",
        "/suites/meadow/r1/csv/",
    ):
        assert client.get(page).status_code == 200, page
    assert client.get("/api/v1/suites/meadow/revisions/1/").json()["state"] == "draft"


@pytest.mark.parametrize(
    ("who", "numbers", "items"), [("charlie", [1], 2), ("dora", [2, 1], 5), ("alice", [2, 1], 5)]
)
def test_lists_and_counts_are_of_what_one_may_read(client, people, who, numbers, items):
    make(people)
    sign_in(client, people, who)
    card = client.get("/api/v1/suites/meadow/").json()
    assert [row["number"] for row in card["revisions"]] == numbers
    assert (card["n_items"], card["n_sentences"]) == (items, 2 * items)
    assert client.get("/api/v1/suites/").json()["results"][0]["n_items"] == items
    assert client.get("/api/v1/suites/meadow/lint/").json()["revision"] == numbers[0]
    [listed] = client.get("/suites/").context["page"]
    assert (listed.n_items, listed.last_revision) == (items, numbers[0])
    page = client.get("/suites/meadow/")
    assert page.context["revision"].number == 1  # the newest frozen one
    assert [row.number for row in page.context["revisions"]] == numbers


@pytest.mark.parametrize(("who", "numbers"), [("charlie", [1]), ("dora", [2, 1])])
def test_a_draft_is_copied_by_those_who_read_it(client, people, who, numbers):
    suite = make(people)
    sign_in(client, people, who)
    choices = client.get("/suites/meadow/copy/").context["form"].fields["revision"].queryset
    assert [row.number for row in choices] == numbers
    if 2 not in numbers:
        with pytest.raises(PermissionDenied):
            services.copy_suite(suite.draft, actor=people.charlie, title="x", visibility="private")


def test_a_stranger_starts_nothing_on_a_draft(client, people):
    suite = make(people)
    make_model(people.alice, slug="m")
    body = {"suite": SUITE, "revision": 2, "model": "m"}
    for who, knows in (("charlie", False), ("dora", True)):
        sign_in(client, people, who)
        sent = client.post("/api/v1/runs/", body, content_type="application/json")
        assert sent.status_code == 400
        assert (
            "or you may not see it" not in sent.content.decode()
        ) == knows  # whether there is such a revision
    sign_in(client, people, "charlie")
    start = reverse("run-start", args=[suite.slug, suite.draft.number])
    assert (client.get(start).status_code, client.post(start).status_code) == (404, 404)


def test_a_private_suite_shows_a_stranger_neither(people):
    suite = make(people, "private")
    assert not revisions_for(people.charlie, suite).exists()
    assert not revisions_for(people.nobody, suite).exists()
    assert [row.number for row in revisions_for(people.dora, suite)] == [2, 1]
