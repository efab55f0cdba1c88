"""Creating a suite: from scratch, from a design, a pasted sheet, a file, or another suite."""

from __future__ import annotations

import json

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from lmgym.suites.blueprints import BLUEPRINTS
from lmgym.suites.formulas import parse
from lmgym.suites.intake.sheets import read_sheet
from lmgym.suites.lint import lint
from suites.models import Suite
from suites.selectors import document_of
from tests.factories import make_suite

WIDE = "item\tcondition\tSubject\tVerb\n1\tmatch\tThe woman\tplays\n\tmismatch\tThe woman\tplay\n"


@pytest.fixture
def signed_in(client, people):
    client.force_login(people.alice)
    return client


def begin(client, by, **fields):
    return client.post(reverse("suite-new"), {"by": by, **fields})


@pytest.mark.parametrize("by", ["guided", "template", "paste", "file", "copy", "nonsense"])
def test_every_way_has_a_page(signed_in, by):
    assert signed_in.get(reverse("suite-new"), {"by": by}).status_code == 200


def test_a_suite_from_nothing_opens_in_the_editor(signed_in, people):
    answer = begin(
        signed_in,
        "guided",
        name="Number agreement",
        conditions="match\nmismatch",
        regions="Subject, Verb, Rest",
        first="The woman | plays | all day.\nThe woman | play",
    )
    suite = Suite.objects.get()
    assert answer.url == reverse("suite-editor", args=[suite.slug])
    assert (suite.slug, suite.title, suite.visibility, suite.owner) == (
        "number-agreement",
        "Number agreement",
        "private",
        people.alice,
    )
    doc = document_of(suite.draft)
    assert (doc.conditions, doc.region_names) == (("match", "mismatch"), ("Subject", "Verb", "Rest"))
    assert [list(s.contents) for s in doc.sentences] == [
        ["The woman", "plays", "all day."],
        ["The woman", "play", ""],
    ]
    assert signed_in.get(answer.url).status_code == 200


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"conditions": "a\na"}, "appears twice"),
        ({"conditions": "50 %"}, "% sign"),
        ({"conditions": ""}, "required"),
        ({"regions": ",".join(f"r{k}" for k in range(201))}, "at most 200"),
        ({"first": "a\nb\nc"}, "3 lines, but 2 conditions"),
        ({"first": "a\n\na | b | c | d"}, "Item 2, line 1: 4 parts, but 2 regions"),
    ],
)
def test_a_guided_start_says_what_is_missing_and_keeps_what_was_typed(signed_in, fields, says):
    given = {"name": "kept name", "conditions": "a\nb", "regions": "X\nY"} | fields
    answer = begin(signed_in, "guided", **given)
    assert answer.status_code == 400
    assert says in answer.content.decode()
    assert "kept name" in answer.content.decode()
    assert not Suite.objects.exists()


@pytest.mark.parametrize("slug", sorted(BLUEPRINTS))
def test_a_design_is_a_suite_without_slips(signed_in, slug):
    begin(signed_in, "template", name="Mine", template=slug)
    doc = document_of(Suite.objects.get().draft)
    assert len(doc.items) == 4
    assert {f.code for f in lint(doc)} <= {"few-items"}
    for prediction in doc.predictions:
        assert not parse(prediction.formula).check(doc.regions, doc.conditions)
        assert prediction.name


def test_a_pasted_sheet_is_looked_at_first(signed_in):
    page = begin(signed_in, "paste", text=WIDE, name="Pasted", step="look").content.decode()
    assert read_sheet(WIDE, "Pasted").understood[0] in page
    assert "merged cells" in page
    assert "The woman\tplay" in page
    assert not Suite.objects.exists()
    begin(signed_in, "paste", text=WIDE, name="Pasted")
    doc = document_of(Suite.objects.get().draft)
    assert [s.item for s in doc.sentences] == [1, 1]
    assert Suite.objects.get().title == "Pasted"


def test_a_bad_sheet_is_kept_and_explained(signed_in):
    answer = begin(signed_in, "paste", text=WIDE + "2\tmatch\n", name="Pasted")
    page = answer.content.decode()
    assert answer.status_code == 400
    assert "row 4, column C (Subject)" in page
    assert "2\tmatch" in page
    assert not Suite.objects.exists()


PAIRS = [
    {"sentence_good": "Who sleeps?", "sentence_bad": "Who sleep?", "UID": "agr", "pairID": "0"},
    {"sentence_good": "He sleeps.", "sentence_bad": "He sleep.", "UID": "agr", "pairID": "1"},
]


@pytest.mark.parametrize(
    ("name", "data", "title", "items"),
    [
        ("mine.tsv", WIDE.replace("\n\t", "\n1\t").encode(), "mine", 1),
        ("merged.tsv", WIDE.encode(), "merged", 1),
        ("blimp.jsonl", "\n".join(map(json.dumps, PAIRS)).encode(), "agr", 2),
    ],
)
def test_a_file_becomes_a_draft(signed_in, name, data, title, items):
    answer = begin(signed_in, "file", file=SimpleUploadedFile(name, data))
    assert answer.status_code == 302, answer.content.decode()[:3000]
    suite = Suite.objects.get()
    assert suite.title == title
    assert len(document_of(suite.draft).items) == items


@pytest.mark.parametrize(
    ("name", "data", "says"),
    [
        ("bad.json", b"{", "line 1"),
        ("bad.csv", b"item,condition,V\n1,a,x\n2,b,y\n", "lacks a condition that"),
        ("bad.csv", b"item,condition,V\n1,a\n", "row 2, column C (V)"),
        ("bad.jsonl", b'{"sentence_good": "a"}\n', "sentence_bad"),
        ("book.xlsx", b"PK\x03\x04zip", "the workbook is damaged"),
    ],
)
def test_a_bad_file_says_where(signed_in, name, data, says):
    answer = begin(signed_in, "file", file=SimpleUploadedFile(name, data))
    assert answer.status_code == 400
    assert says in answer.content.decode()
    assert not Suite.objects.exists()


def test_a_copy_is_one_s_own(signed_in, people):
    source = make_suite(people.bob, name="theirs")
    begin(signed_in, "copy", suite=source.pk)
    copy = Suite.objects.get(owner=people.alice)
    assert copy.title == "theirs copy"
    assert document_of(copy.draft).sentences == document_of(source.latest_frozen).sentences


def test_a_private_suite_of_others_cannot_be_copied(signed_in, people):
    source = make_suite(people.bob, name="theirs", visibility="private")
    assert begin(signed_in, "copy", suite=source.pk).status_code == 400
    assert signed_in.post(reverse("suite-copy", args=[source.slug]), {"name": "x"}).status_code == 404


def test_an_older_revision_can_be_copied(signed_in, people):
    source = make_suite(people.alice, name="mine")
    source.tags.create(name="agreement")
    answer = signed_in.post(
        reverse("suite-copy", args=[source.slug]),
        {"name": "Mine again", "revision": source.latest_frozen.pk, "visibility": "public"},
    )
    copy = Suite.objects.get(title="Mine again")
    assert answer.url == reverse("suite-editor", args=[copy.slug])
    assert [tag.name for tag in copy.tags.all()] == ["agreement"]
    assert copy.visibility == "public"


def test_a_sheet_of_twenty_thousand_rows_can_be_pasted(signed_in):
    rows = "".join(f"{k // 4}\t{'abcd'[k % 4]}\tthe cat number {k}\tsleeps\n" for k in range(20_000))
    page = begin(signed_in, "paste", text="item\tcondition\tS\tV\n" + rows, name="Big", step="look")
    assert page.status_code == 200
    assert "5000 items × 4 conditions × 2 regions" in page.content.decode()
