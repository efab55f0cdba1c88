"""Registered models through the API."""

from __future__ import annotations

import pytest

from tests.factories import make_model


def slugs(page) -> list[str]:
    return [model["slug"] for model in page["results"]]


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


def test_a_model_says_what_it_is_and_how_it_is(get, people):
    make_model(
        people.alice,
        slug="m",
        status="broken",
        status_reason="There is no file.",
        corpus="none",
        parameters=7,
    )
    found = get("models/m/")
    assert {key: found[key] for key in ("slug", "name", "owner", "backend", "status", "status_reason")} == {
        "slug": "m",
        "name": "M",
        "owner": "alice",
        "backend": "uniform",
        "status": "broken",
        "status_reason": "There is no file.",
    }
    assert (found["parameters"], found["vocabulary_size"], found["corpus"]) == (7, None, "none")
    assert found["config"] is None
    assert get("models/m/", "alice")["config"] == {"vocabulary_size": 1024, "unit": "word"}
