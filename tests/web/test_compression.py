"""Text is compressed for clients that accept it, with the same content."""

from __future__ import annotations

import gzip

import pytest
from django.http import HttpResponse

from gym.middleware import Compressed
from tests.factories import make_revision

TAKES = {"accept-encoding": "gzip, br"}


@pytest.fixture
def suite(people):
    return make_revision(people.alice, visibility="public").suite


def body(response) -> bytes:
    data = b"".join(response.streaming_content) if response.streaming else response.content
    return gzip.decompress(data) if response.get("Content-Encoding") == "gzip" else data


@pytest.mark.parametrize("address", ["/suites/{}/r1/json/", "/api/v1/suites/{}/", "/static/css/base.css"])
def test_text_is_compressed_for_who_takes_it_so(client, suite, address):
    address = address.format(suite.slug)
    plain, packed = client.get(address), client.get(address, headers=TAKES)
    assert (plain.status_code, plain.get("Content-Encoding")) == (200, None)
    assert packed["Content-Encoding"] == "gzip"
    assert "Accept-Encoding" in packed["Vary"]
    assert body(packed) == body(plain)


def test_a_page_is_compressed(client, suite):
    answer = client.get(suite.get_absolute_url(), headers=TAKES)
    assert answer["Content-Encoding"] == "gzip"
    assert suite.title in body(answer).decode()


@pytest.mark.parametrize(
    ("kind", "encoding"),
    [
        ("application/zip", None),
        ("application/vnd.apache.parquet", None),
        ("application/gzip", None),
        ("image/png", None),
        ("image/svg+xml", "gzip"),
        ("application/problem+json", "gzip"),
        ("text/csv; charset=utf-8", "gzip"),
    ],
)
def test_what_is_compressed_already_stays_as_it_is(rf, kind, encoding):
    compressed = Compressed(lambda request: HttpResponse(b"a" * 1_000, content_type=kind))
    assert compressed(rf.get("/", headers=TAKES)).get("Content-Encoding") == encoding
