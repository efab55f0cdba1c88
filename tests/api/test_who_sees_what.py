"""Suites and models in the API: what a reader may see is listed and read, everything else is a 404."""

from __future__ import annotations

import re

import pytest

from suites.models import Suite
from tests.api.worlds import make_world
from tests.once import once_a_module

built, people, world = once_a_module(make_world)


def slugs(page) -> list[str]:
    """Return the slugs on a page, without the secret part of unlisted suites' slugs."""
    return [re.sub(r"-[0-9a-f]{20}$", "", row["slug"]) for row in page["results"]]


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


@pytest.mark.parametrize(
    ("who", "listed"),
    [
        ("", ["open-model"]),
        ("charlie", ["open-model"]),
        ("bob", ["open-model"]),
        ("alice", ["open-model", "secret-model"]),
        ("staff", ["open-model", "secret-model"]),
    ],
)
def test_a_private_model_is_for_its_owner_and_staff(client, people, get, world, who, listed):
    assert slugs(get("models/", who)) == listed
    assert client.get("/api/v1/models/open-model/").status_code == 200
    expected = 200 if "secret-model" in listed else 404
    assert client.get("/api/v1/models/secret-model/").status_code == expected


def test_mine_is_what_one_owns_or_works_on(get, world):
    assert slugs(get("models/?mine=true", "alice")) == ["open-model", "secret-model"]
    assert slugs(get("models/?mine=false", "alice")) == slugs(get("models/?mine=true", "charlie")) == []
    assert slugs(get("models/?mine=true", "")) == []
    assert [suite["owner"] for suite in get("suites/?mine=true", "charlie")["results"]] == []
