"""Sentences cut at their critical word. No database."""

from __future__ import annotations

import pytest

from lmgym import load_suite
from lmgym.suites.intake import parse_upload
from lmgym.suites.intake.parsing import ParseOptions

ROWS = (
    ("1", "sg", "The owl by the barns hoots at dusk."),
    ("1", "pl", "The owls by the barns hoot at dusk."),
    ("2", "sg", "The cat naps."),
    ("2", "pl", "The cats nap."),
)


def sheet(*cells: str, heading: str = "critical_position") -> bytes:
    lines = ["\t".join((*row, cell)) for row, cell in zip(ROWS, cells, strict=True)]
    return "\n".join([f"item\tcondition\tsentence\t{heading}", *lines, ""]).encode()


def read(data: bytes, role: str = "critical", **options):
    columns = {"A": "item", "B": "condition", "C": "text", "D": role}
    return parse_upload(data, "a.tsv", ParseOptions(columns=columns, **options))


def contents(result):
    assert result.document, [str(problem) for problem in result.problems]
    return [one.contents for one in result.document.sentences]


CUT = [
    ("The owl by the barns", "hoots", "at", "dusk."), ("The owls by the barns", "hoot", "at", "dusk."),
    ("The cat", "naps.", "", ""), ("The cats", "nap.", "", ""),
]  # fmt: skip


@pytest.mark.parametrize(
    ("cells", "role"),
    [
        (("6", "6", "3", "3"), "critical"),
        (("5", "5", "2", "2"), "critical_from_0"),
        (("hoots", "hoot", "naps", "nap"), "critical"),
    ],
)
def test_the_critical_word_is_a_region_of_its_own(cells, role):
    result = read(sheet(*cells), role)
    assert contents(result) == CUT
    assert result.document.region_names == ("Before", "Critical", "Spillover", "After")
    assert any("Critical words: “hoots” (item 1)" in line for line in result.understood)


def test_words_are_numbered_from_the_critical_one():
    result = read(sheet("6", "6", "3", "3"), cut="words")
    assert result.document.region_names[3:7] == ("Word -2", "Word -1", "Critical", "Word +1")
    assert contents(result)[0][5:] == ("hoots", "at", "dusk.")
    assert contents(result)[2] == ("", "", "", "The", "cat", "naps.", "", "")


def test_regions_that_no_sentence_has_are_left_out():
    result = read(sheet("dusk", "dusk", "naps", "nap"))
    assert result.document.region_names == ("Before", "Critical")


@pytest.mark.parametrize(("cells", "proposed"), [("6633", "critical"), ("6603", "critical_from_0")])
def test_a_column_of_positions_is_asked_about_and_0_means_counting_from_0(cells, proposed):
    asked = parse_upload(sheet(*cells), "a.tsv")
    assert asked.asks == ("columns",)
    assert asked.proposed_columns["D"] == proposed


@pytest.mark.parametrize(
    ("cells", "role", "says"),
    [
        (("6", "6", "0", "3"), "critical", "choose the role “number of the critical word (0 is the first)”"),
        (("6", "6", "3", "3"), "critical_from_0", "number 4, but the sentence has 3 words"),
        (("the", "hoot", "naps", "nap"), "critical", "“the” is 2 times in the sentence"),
        (("barn", "hoot", "naps", "nap"), "critical", "“barn” is not in the sentence"),
        (("", "hoot", "naps", "nap"), "critical", "the critical word is missing"),
        (("six", "6", "3", "3"), "critical_from_0", "“six” is not a number"),
        (("", "6", "3", "3"), "critical_from_0", "the critical word is missing"),
    ],
)
def test_a_word_that_cannot_be_found_is_named_by_its_cell(cells, role, says):
    result = read(sheet(*cells), role)
    assert result.document is None
    assert says in str(result.problems[0])
    assert "column D (critical_position)" in result.problems[0].where


def test_pairs_may_have_a_critical_word_too():
    data = b"good\tbad\tplace\nThe owl hoots.\tThe owl hoot.\t3\nThe cats nap.\tThe cats naps.\t3\n"
    columns = {"A": "condition_text", "B": "condition_text", "C": "critical"}
    result = parse_upload(data, "a.tsv", ParseOptions(columns=columns))
    assert contents(result)[:2] == [("The owl", "hoots."), ("The owl", "hoot.")]


def test_the_library_takes_the_same_role(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_bytes(sheet("6", "6", "3", "3"))
    columns = {"A": "item", "B": "condition", "C": "text", "D": "critical"}
    assert load_suite(path, columns=columns).region_names[1] == "Critical"
