"""Sheets as people type them: signs for nothing, marks in sentences, remarks, merged cells, row names."""

from __future__ import annotations

import pytest

from lmgym.suites.intake import parse_upload
from lmgym.suites.intake.parsing import ParseOptions, ParseResult


def read(text: str, **answers: str) -> ParseResult:
    return parse_upload(text.encode(), "x.csv", ParseOptions(**answers))


def texts(result: ParseResult) -> list[tuple[str, ...]]:
    assert result.document is not None, result.problems
    return [sentence.contents for sentence in result.document.sentences]


# --- signs for an empty region ---

SIGNS = ["-", "--", "–", "—", "_", "∅", "NA", "n/a", "#N/A", "(empty)"]


def optional(sign: str) -> str:
    """Return a wide sheet whose second region is a sign in half of the rows."""
    return (
        "item,condition,Subject,Modifier,Verb\n"
        f"1,bare,The cat,{sign},sleeps.\n1,long,The cat,near the dogs,sleeps.\n"
        f"2,bare,The owl,{sign},hoots.\n2,long,The owl,near the barn,hoots.\n"
    )


@pytest.mark.parametrize("sign", SIGNS)
def test_a_sign_for_an_empty_region_is_asked_and_empty_by_default(sign):
    asked = read(optional(sign))
    assert asked.asks == ("empty",)
    assert asked.choices[0].proposed == "text"
    assert f"2 cells without text, such as “{sign}”" in asked.problems[0].message
    assert texts(read(optional(sign), empty="text"))[0] == ("The cat", "", "sleeps.")
    assert texts(read(optional(sign), empty="keep"))[0] == ("The cat", sign, "sleeps.")


@pytest.mark.parametrize("sign", ["-", "NA"])
def test_a_sign_for_an_empty_region_of_a_long_table_is_asked(sign):
    rows = (
        ",".join(row)
        for row in [
            ("item_number", "condition_name", "region_number", "region_name", "content"),
            ("1", "bare", "1", "Subject", "The cat"),
            ("1", "bare", "2", "Modifier", sign),
            ("1", "long", "1", "Subject", "The cat"),
            ("1", "long", "2", "Modifier", "near the dogs"),
        ]
    )
    text = "\n".join(rows)
    assert read(text).asks == ("empty",)
    assert texts(read(text, empty="text")) == [("The cat", ""), ("The cat", "near the dogs")]
    assert texts(read(text, empty="keep"))[0] == ("The cat", sign)


def test_a_long_table_with_missing_rows_and_signs_asks_one_question():
    text = "item,condition,region_name,content\n1,a,S,The cat\n1,a,M,-\n1,a,V,sleeps\n1,b,S,The cat\n1,b,V,sleep\n"
    asked = read(text)
    assert [choice.option for choice in asked.choices] == ["empty"]
    assert texts(read(text, empty="text")) == [("The cat", "", "sleeps"), ("The cat", "", "sleep")]


@pytest.mark.parametrize("sign", ["-", "#N/A"])
def test_a_sign_in_place_of_a_sentence_is_asked(sign):
    wide = f"item,condition,sentence\n1,a,The cat sleeps.\n1,b,{sign}\n2,a,The owl hoots.\n2,b,The owl hoot.\n"
    pairs = f"good,bad\nThe cat sleeps.,{sign}\nThe owl hoots.,The owl hoot.\n"
    for text in (wide, pairs):
        assert read(text).asks == ("empty",)
        assert texts(read(text, empty="out")) == [("The owl hoots.",), ("The owl hoot.",)]


def test_a_guarded_dash_of_an_exported_table_is_text():
    assert texts(read(optional("'-")))[0] == ("The cat", "-", "sleeps.")


def test_a_column_of_signs_alone_is_asked_about():
    text = optional("NA").replace("near the dogs", "NA").replace("near the barn", "NA")
    (doubted,) = [column for column in read(text).columns if column.doubt]
    assert (doubted.header, doubted.role, doubted.doubt) == ("Modifier", "data", "no text")
