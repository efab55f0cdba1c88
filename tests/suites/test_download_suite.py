"""Downloads are written by lmgym.suites.formats from the revision, and are read back as the same suite."""

from __future__ import annotations

import json

import pytest
from django.urls import reverse

from lmgym.suites.formats import read_suite, write_json, write_long_csv, write_wide_tsv
from lmgym.suites.formats.write import write_excel_csv
from lmgym.suites.intake import parse_upload
from suites import services
from suites.options import SuiteOptions
from suites.selectors import document_of
from tests.factories import make_suite
from tests.lmgym.suites.documents import suite_bytes, suite_json

FORMS = {
    "json": (write_json, ".json"),
    "json-trimmed": (lambda doc: write_json(doc, whitespace="trimmed"), "-trimmed.json"),
    "json-early": (lambda doc: write_json(doc, dialect="early"), "-early.json"),
    "csv": (write_long_csv, "-long.csv"),
    "tsv": (write_wide_tsv, "-wide.tsv"),
    "csv-excel": (write_excel_csv, "-excel.csv"),
}


@pytest.fixture
def suite(people):
    """A suite with leading spaces, an unknown key, and a cell that a spreadsheet would execute."""
    document = suite_json(odd={"kept": True})
    document["items"][0]["conditions"][0]["regions"][0]["content"] = " The woman"
    document["items"][0]["conditions"][0]["regions"][2]["content"] = "=all day."
    suite = services.import_suite(
        read_suite(json.dumps(document).encode()), SuiteOptions(visibility="public"), actor=people.alice
    )
    services.freeze(suite, actor=people.alice)
    return suite


@pytest.mark.parametrize("form", FORMS)
def test_a_download_is_what_the_writer_writes(client, suite, form):
    write, extension = FORMS[form]
    response = client.get(reverse("suite-download", args=[suite.slug, 1, form]))
    assert response.content.decode() == write(document_of(suite.latest_frozen))
    assert response["Content-Disposition"] == f'attachment; filename="agreement-r1{extension}"'


def test_the_page_links_every_form(client, suite):
    page = client.get(suite.get_absolute_url()).content.decode()
    for form in FORMS:
        assert reverse("suite-download", args=[suite.slug, 1, form]) in page


@pytest.mark.parametrize("form", ["json", "csv-excel"])
def test_a_download_reads_back_with_the_same_sentences(client, suite, form):
    content = client.get(reverse("suite-download", args=[suite.slug, 1, form])).content
    again, document = read_suite(content), document_of(suite.latest_frozen)
    assert [row.contents for row in again.sentences] == [row.contents for row in document.sentences]
    assert (again.region_names, again.conditions) == (document.region_names, document.conditions)
    if form == "json":
        assert again.sha256() == suite.latest_frozen.sha256


def test_each_revision_has_its_own(client, people, suite):
    client.force_login(people.alice)
    services.replace_draft(suite, read_suite(suite_bytes(items=5)), actor=people.alice)
    sizes = [
        len(read_suite(client.get(reverse("suite-download", args=[suite.slug, n, "json"])).content).sentences)
        for n in (1, 2)
    ]
    assert sizes == [6, 10]


@pytest.mark.parametrize(("number", "form"), [(1, "exe"), (9, "json"), (1, "JSON")])
def test_what_is_not_there_is_a_404(client, suite, number, form):
    assert client.get(reverse("suite-download", args=[suite.slug, number, form])).status_code == 404


def test_a_private_suite_is_downloaded_by_its_people_only(client, people):
    private = make_suite(people.alice, visibility="private", collaborator=people.bob)
    address = reverse("suite-download", args=[private.slug, 1, "csv"])
    for person, status in ((None, 404), ("charlie", 404), ("bob", 200), ("alice", 200), ("staff", 200)):
        if person:
            client.force_login(getattr(people, person))
        assert client.get(address).status_code == status, person


def test_a_workbook_reads_back_and_has_its_own_name(client, suite):
    answer = client.get(reverse("suite-download", args=[suite.slug, 1, "xlsx"]))
    assert answer["Content-Disposition"] == 'attachment; filename="agreement-r1.xlsx"'
    again, document = (
        parse_upload(answer.getvalue(), "agreement.xlsx").document,
        document_of(suite.latest_frozen),
    )
    assert [row.contents for row in again.sentences] == [row.contents for row in document.sentences]


def test_the_csv_for_excel_begins_with_a_byte_order_mark(client, suite):
    answer = client.get(reverse("suite-download", args=[suite.slug, 1, "csv-excel"]))
    assert answer.content.startswith(b"\xef\xbb\xbfitem,")
