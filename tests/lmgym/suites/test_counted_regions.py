"""Sheets with one row per region whose headings are not known: a column counts the rows of each sentence."""

from __future__ import annotations

import pytest

from lmgym.suites.intake import parse_upload
from lmgym.suites.intake.parsing import ParseOptions, ParseResult

SENTENCES = {"SRC": "The boy that saw the girl left .", "ORC": "The boy that the girl saw left ."}


def sheet(number: str = "ROI", text: str = "word", items: int = 5) -> bytes:
    rows = [f"item\tcondition\t{number}\t{text}\tlength"]
    for item in range(1, items + 1):
        for condition, sentence in SENTENCES.items():
            words = enumerate(sentence.split(), start=1)
            rows += [f"{item}\t{condition}\t{place}\t{word}\t{len(word)}" for place, word in words]
    return ("\n".join(rows) + "\n").encode()


def proposed(result: ParseResult) -> ParseOptions:
    return ParseOptions(columns={column.letter: column.role for column in result.columns})


@pytest.mark.parametrize(
    ("number", "text"), [("ROI", "word"), ("Wortposition", "Wort"), ("region", "token"), ("w", "segment")]
)
def test_the_count_is_proposed_as_the_region_number(number: str, text: str) -> None:
    asked = parse_upload(sheet(number, text), "long.tsv")
    assert asked.document is None
    assert [column.role for column in asked.columns] == ["item", "condition", "region", "content", "data"]
    assert f"(“{number}”) counts the rows of each sentence" in str(asked.problems[0])
    read = parse_upload(sheet(number, text), "long.tsv", proposed(asked)).document
    assert read is not None
    assert read.conditions == ("SRC", "ORC")
    assert {row.condition: " ".join(row.contents) for row in read.sentences} == SENTENCES


def test_sentences_that_are_counted_are_no_regions() -> None:
    rows = ["item,condition,version,sentence"]
    rows += [f"{i},{c},{v},The boy {i} {c} {v} saw the girl." for i in "1234" for c in "ab" for v in "123"]
    asked = parse_upload(("\n".join(rows) + "\n").encode(), "wide.csv")
    assert [column.role for column in asked.columns] == ["item", "condition", "condition", "text"]


def test_many_problems_of_a_strict_reader_do_not_hide_the_question() -> None:
    assert parse_upload(sheet(items=40), "long.tsv").asks == ("columns",)
