"""Suites through the API."""

from __future__ import annotations

import re

import pytest

from suites import services
from suites.models import Suite
from tests.factories import make_suite


def slugs(page) -> list[str]:
    """Return the slugs on a page, without the secret part of unlisted suites' slugs."""
    return [re.sub(r"-[0-9a-f]{20}$", "", suite["slug"]) for suite in page["results"]]


@pytest.mark.parametrize(
    ("who", "listed"),
    [
        ("", ["public-suite"]),
        ("charlie", ["public-suite"]),
        ("bob", ["private-suite", "public-suite"]),
        ("alice", ["private-suite", "public-suite", "unlisted-suite"]),
        ("staff", ["private-suite", "public-suite"]),
    ],
)
def test_a_list_holds_what_its_reader_may_see_and_nobody_elses_unlisted_suites(get, world, who, listed):
    assert slugs(get("suites/", who)) == listed


@pytest.mark.parametrize(
    ("who", "found"),
    [
        ("", ["public", "unlisted"]),
        ("charlie", ["public", "unlisted"]),
        ("bob", ["public", "unlisted", "private"]),
        ("alice", ["public", "unlisted", "private"]),
    ],
)
def test_what_is_invisible_is_a_404(client, people, world, who, found):
    if who:
        client.force_login(getattr(people, who))
    for name in ("public", "unlisted", "private"):
        status = client.get(f"/api/v1/suites/{world.revisions[name].suite.slug}/").status_code
        assert status == (200 if name in found else 404), name


def test_a_suite_says_what_it_is_and_which_revisions_there_are(get, world):
    Suite.objects.filter(slug="public-suite").update(
        description="What and why", reference="Somebody 2020", bibtex="@x{}", comment="A note", licence="MIT"
    )
    suite = get("suites/public-suite/")
    revision = world.revisions["public"]
    assert {key: suite[key] for key in suite if key not in ("created", "updated", "revisions")} == {
        "slug": "public-suite",
        "title": "public-suite",
        "owner": "alice",
        "visibility": "public",
        "tags": [],
        "language": "",
        "licence": "MIT",
        "n_items": 3,
        "n_sentences": 6,
        "n_predictions": 1,
        "author": "",
        "authors": [],
        "description": "What and why",
        "reference": "Somebody 2020",
        "bibtex": "@x{}",
        "comment": "A note",
        "without_modifier": None,
    }
    [listed] = suite["revisions"]
    assert (listed["number"], listed["state"], listed["sha256"]) == (1, "frozen", revision.sha256)


@pytest.fixture
def three(people):
    """Three public suites of 2, 5 and 3 items."""
    suites = [
        make_suite(people.alice, name="agreement", items=2),
        make_suite(people.alice, name="binding", items=5),
        make_suite(people.bob, name="islands", items=3),
    ]
    for suite, tags in zip(
        suites, (["agreement", "number"], ["binding"], ["filler-gap", "number"]), strict=True
    ):
        services.set_tags(suite, tags)
    Suite.objects.filter(slug="islands").update(
        description="wh-extraction", reference="Ross 1967", language="de"
    )


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({"q": "AGREE"}, ["agreement"]),
        ({"q": "ross 1967"}, ["islands"]),
        ({"q": "extraction"}, ["islands"]),
        ({"q": "number"}, ["agreement", "islands"]),
        ({"q": "number ross"}, ["islands"]),
        ({"q": "nothing like it"}, []),
        ({"tag": "number"}, ["agreement", "islands"]),
        ({"tag": "num"}, []),
        ({"language": "DE"}, ["islands"]),
        ({"tag": "number", "q": "agree"}, ["agreement"]),
        ({"sort": "items"}, ["agreement", "islands", "binding"]),
        ({"sort": "-items"}, ["binding", "islands", "agreement"]),
        ({"sort": "-title"}, ["islands", "binding", "agreement"]),
    ],
)
def test_search_filter_and_sort(get, three, query, found):
    assert slugs(get("suites/", **query)) == found


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ({"sort": "password"}, "valid choice"),
        ({"q": "\0"}, "Null characters"),
        ({"tagg": "number"}, "Did you mean “tag”?"),
        ({"limit": "0"}, "from 1 to 500"),
        ({"limit": "many"}, "from 1 to 500"),
        ({"cursor": "WyJ0aXRsZSJd"}, "not valid"),
    ],
)
def test_a_wrong_parameter_is_a_400_that_names_it(client, db, query, says):
    response = client.get("/api/v1/suites/", query)
    assert response.status_code == 400
    assert response["Content-Type"] == "application/problem+json"
    [trouble] = response.json()["errors"]
    assert trouble["where"] == f"?{next(iter(query))}"
    assert says in trouble["message"]


def test_a_long_list_takes_as_many_queries_as_a_short_one(client, three, django_assert_max_num_queries):
    client.get("/api/v1/suites/")  # creates the rate-limit entry
    with django_assert_max_num_queries(4):  # one for the rate limit
        assert len(client.get("/api/v1/suites/").json()["results"]) == 3
