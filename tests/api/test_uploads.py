"""Contradictory uploads are refused and leave nothing behind."""

from __future__ import annotations

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from gym.runs.models import ResultUpload
from models_registry.services import register_uploaded_model

ROWS = "model,suite,item,correct\n" + "".join(f"ours,public-suite,{item},True\n" for item in range(3))


@pytest.fixture
def upload(client, people, world):
    client.force_login(people.alice)
    register_uploaded_model(actor=people.alice, name="theirs", slug="theirs", visibility="public")

    def send(address="uploads/", **fields):
        file = SimpleUploadedFile("o.csv", ROWS.encode())
        return client.post(f"/api/v1/{address}", {"file": file, **fields})

    return send


@pytest.mark.parametrize("address", ["uploads/", "uploads/plan/"])
@pytest.mark.parametrize(
    ("fields", "where"),
    [
        ({"revision": "7"}, "$.revision"),
        ({"model": "theirs", "name": "Other"}, "$.name"),
        ({"model": "theirs", "visibility": "private"}, "$.visibility"),
        ({"name": "theirs", "visibility": "private"}, "$.visibility"),
        ({"name": "theirs"}, "$.visibility"),  # private by default
    ],
)
def test_fields_that_contradict_each_other_are_refused(upload, address, fields, where):
    answer = upload(address, **fields)
    assert (answer.status_code, answer.json()["errors"][0]["where"]) == (400, where)
    assert not ResultUpload.objects.exists()


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"suite": "public-suite", "revision": "1"},
        {"model": "theirs"},
        {"model": "theirs", "visibility": "public"},
        {"name": "theirs", "visibility": "public"},
    ],
)
def test_what_fits_together_is_kept(upload, fields):
    assert upload("uploads/plan/", **fields).status_code == 200
    assert upload(**fields).status_code == 201
