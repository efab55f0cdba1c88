"""Importing a suite through the service and the page."""

from __future__ import annotations

import json

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from lmgym.suites.formats import read_suite, write_json
from suites import services
from suites.models import Suite
from suites.selectors import document_of
from tests.lmgym.suites.documents import suite_bytes, suite_json


def upload(client, data: bytes, name: str = "suite.json", **fields):
    return client.post(
        reverse("suite-import"),
        {"file": SimpleUploadedFile(name, data), "visibility": "private", "join_policy": "space", **fields},
    )


def test_an_imported_suite_is_a_draft_that_only_its_owner_sees(client, people):
    client.force_login(people.alice)
    response = upload(client, suite_bytes(name="fgd_object"))
    suite = Suite.objects.get()
    assert response.status_code == 302
    assert response.url == suite.get_absolute_url() == "/suites/fgd_object/"
    assert (suite.draft.number, suite.latest_frozen, suite.owner) == (1, None, people.alice)
    client.force_login(people.charlie)
    assert client.get(suite.get_absolute_url()).status_code == 404


def test_pasted_text_is_as_good_as_a_file(client, people):
    client.force_login(people.alice)
    client.post(
        reverse("suite-import"),
        {
            "text": suite_bytes().decode(),
            "visibility": "public",
            "join_policy": "natural",
            "tags": "Agreement, number",
        },
    )
    suite = Suite.objects.get()
    assert suite.draft.join_policy == "natural"
    assert [tag.name for tag in suite.tags.all()] == ["agreement", "number"]


def test_a_pasted_table_is_named_after_the_title(client, people):
    client.force_login(people.alice)
    rows = "item\tcondition\tNP\tV\n1\ta\tThe boy\truns\n1\tb\tThe boy\trun\n"
    fields = {"text": rows, "title": "Agreement: 1st try", "visibility": "private", "join_policy": "space"}
    page = client.post(reverse("suite-import"), fields, follow=True).content.decode()
    suite = Suite.objects.get()
    assert (suite.slug, suite.draft.name, suite.title) == (
        "agreement-1st-try", "agreement-1st-try", "Agreement: 1st try",
    )  # fmt: skip
    assert "Untitled suite" not in page


def test_what_goes_in_comes_out(people):
    given = suite_json(author="A. Linguist", odd={"kept": [1, 2]})
    given["meta"] |= {"comment": "kept too", "reference": "Somebody 2020", "author": "A. Linguist"}
    given["items"][0]["conditions"][0]["regions"][0] |= {
        "content": " The woman",
        "metric_value": {"sum": 1.5},
    }
    document = read_suite(json.dumps(given).encode())
    suite = services.import_suite(document, actor=people.alice)
    assert document_of(suite.draft) == document
    assert json.loads(write_json(document_of(suite.draft))) == given


def test_a_second_suite_of_the_same_name_gets_its_own_address(people):
    document = read_suite(suite_bytes(name="npi any"))
    slugs = [services.import_suite(document, actor=people.alice).slug for _ in range(3)]
    assert slugs == ["npi-any", "npi-any-2", "npi-any-3"]


def test_a_name_that_is_a_page_of_the_site_is_changed(people):
    assert (
        services.import_suite(read_suite(suite_bytes(name="import")), actor=people.alice).slug
        == "import-suite"
    )


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "empty"),
        (b"{", "line 1"),
        (b"[]", "$"),
        (b'{"meta": NaN}', "NaN"),
        (b"\xff\xfe\x00", ""),
        (b"\x89PNG\r\n", ""),
        (b"[" * 100_000, ""),
        (suite_bytes(formulas=("(9;%match%) > (2;%match%)",)), "$.predictions[0]"),
        (suite_bytes(formulas=("(2;%misssmatch%) > (2;%match%)",)), "mismatch"),
        (suite_bytes(formulas=("__import__('os')",)), "$.predictions[0]"),
    ],
)
def test_a_bad_file_is_a_400_that_says_where_and_keeps_nothing(client, people, data, says):
    client.force_login(people.alice)
    response = upload(client, data)
    assert response.status_code == 400
    assert Suite.objects.count() == 0
    assert says in response.content.decode()


def test_a_file_over_the_limit_is_refused_before_it_is_read(client, people):
    client.force_login(people.alice)
    response = upload(client, b"x" * 5_000_001)
    assert response.status_code == 400
    assert "larger than 5 MB" in response.content.decode()


def test_a_stranger_must_sign_in_first(client, db):
    assert upload(client, suite_bytes()).url.startswith(reverse("login"))
