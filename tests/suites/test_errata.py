"""Errata of a frozen revision."""

from __future__ import annotations

from django.urls import reverse

from suites.selectors import document_of
from tests.factories import make_suite


def test_errata_are_shown_and_change_nothing_else(client, people):
    suite = make_suite(people.alice)
    revision = suite.latest_frozen
    before = document_of(revision), revision.sha256
    client.force_login(people.alice)
    client.post(reverse("suite-errata", args=[suite.slug, 1]), {"errata": "Item 2 has a typing error."})
    client.logout()
    assert "Item 2 has a typing error." in client.get(suite.get_absolute_url()).content.decode()
    assert (document_of(suite.latest_frozen), suite.latest_frozen.sha256) == before


def test_errata_can_be_taken_back(client, people):
    suite = make_suite(people.alice)
    client.force_login(people.alice)
    for text in ("Wrong.", ""):
        client.post(reverse("suite-errata", args=[suite.slug, 1]), {"errata": text})
    assert suite.latest_frozen.errata == ""
