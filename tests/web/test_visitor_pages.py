"""Caching of pages by the browsers of anonymous visitors."""

from __future__ import annotations

import pytest

from suites.services import set_visibility
from tests.factories import make_suite


@pytest.fixture
def suite(people):
    return make_suite(people.alice)


def test_a_page_that_did_not_change_is_not_sent_again(client, suite):
    first = client.get(f"/suites/{suite.slug}/")
    assert (first.status_code, first["Cache-Control"]) == (200, "no-cache")
    again = client.get(f"/suites/{suite.slug}/", headers={"If-None-Match": first["ETag"]})
    assert (again.status_code, again.content) == (304, b"")


def test_a_compressed_page_that_did_not_change_is_not_sent_again(client, suite):
    first = client.get(f"/suites/{suite.slug}/", headers={"Accept-Encoding": "gzip"})
    assert first["Content-Encoding"] == "gzip"
    kept = {"If-None-Match": first["ETag"], "Accept-Encoding": "gzip"}
    assert client.get(f"/suites/{suite.slug}/", headers=kept).status_code == 304


def test_a_page_that_is_private_now_is_hidden_from_who_kept_it(client, suite, people):
    tag = client.get(f"/suites/{suite.slug}/")["ETag"]
    set_visibility(suite, "private", actor=people.alice)
    answer = client.get(f"/suites/{suite.slug}/", headers={"If-None-Match": tag})
    assert answer.status_code in (404, 410)


def test_a_fragment_is_not_kept_under_the_address_of_its_page(client, suite):
    answer = client.get(f"/suites/{suite.slug}/", headers={"HX-Request": "true"})
    assert "ETag" not in answer
    assert "Cache-Control" not in answer


def test_a_page_of_an_account_is_not_kept(client, suite, people):
    client.force_login(people.alice)
    answer = client.get(f"/suites/{suite.slug}/")
    assert answer["Cache-Control"] == "private, no-store"
    assert "ETag" not in answer
