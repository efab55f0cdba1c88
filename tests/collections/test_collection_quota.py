"""Quotas per account on the number of collections and on their bytes."""

from __future__ import annotations

import pytest
from django.urls import reverse

from gym.collections.models import Collection, CollectionEntry
from gym.collections.quotas import COLLECTIONS
from suites.models import SuiteRevision
from tests.collections.test_collections import collection, ticked
from tests.factories import make_revision

JSON = {"content_type": "application/json"}


@pytest.fixture
def made(client, people):
    client.force_login(people.alice)
    return collection(people, make_revision(people.alice), publish=False)


@pytest.mark.parametrize("way", ["page", "api"])
def test_one_more_is_refused(client, made, settings, way):
    settings.GYM_QUOTA_COLLECTIONS = (1, 0)
    if way == "page":
        answer = client.post(reverse("collection-new"), ticked(SuiteRevision.objects.get()))
    else:
        answer = client.post("/api/v1/collections/", {"title": "Ours", "slug": "ours"}, **JSON)
    assert answer.status_code == 400
    assert "You have 1 collection; the limit is 1" in answer.content.decode()
    assert (Collection.objects.count(), CollectionEntry.objects.count()) == (1, 1)


@pytest.mark.parametrize("way", ["page", "api", "entry"])
def test_a_collection_does_not_grow_past_the_bytes(client, made, people, settings, way):
    make_revision(people.alice, name="other")
    settings.GYM_QUOTA_COLLECTIONS = (0, COLLECTIONS.amount_of(people.alice).bytes)
    address = f"/api/v1/collections/{made.slug}/"
    if way == "page":
        agreement = SuiteRevision.objects.get(suite__slug="agreement")
        long = ticked(agreement, slug=made.slug, description="x" * 5_000)
        answer = client.post(reverse("collection-edit", args=[made.slug]), long)
    elif way == "api":
        answer = client.patch(address, {"description": "x" * 5_000}, **JSON)
    else:
        answer = client.patch(address, {"suites": [{"suite": "agreement"}, {"suite": "other"}]}, **JSON)
    assert answer.status_code == 400
    assert "the limit is" in answer.content.decode()
    made.refresh_from_db()
    assert (made.description, made.entries.count()) == ("", 1)
