"""Items of Linger. No database."""

from __future__ import annotations

import pytest

from lmgym.suites.intake import parse_upload
from lmgym.suites.intake.parsing import ParseOptions
from lmgym.suites.intake.sheets import read_sheet

OWLS = """
# owls 1 amb
While the owl watched the mouse
near the barn hid.
? Did the owl watch? Y

# owls 1 unamb
While the owl watched, the mouse near the barn hid.
? Did the owl watch? Y
? Was it late?
"""
FILLERS = "# filler 1 -\nThe ship sank.\n# practice 1 -\nThe bell rang.\n"


def texts(result):
    assert result.document, [str(problem) for problem in result.problems]
    return [(one.item, one.condition, one.text) for one in result.document.sentences]


def test_headers_give_item_and_condition_and_lines_are_joined():
    result = parse_upload(OWLS.encode(), "owls.txt")
    assert texts(result) == [
        (1, "amb", "While the owl watched the mouse near the barn hid."),
        (1, "unamb", "While the owl watched, the mouse near the barn hid."),
    ]
    assert read_sheet(OWLS).document.sentences == result.document.sentences


def test_questions_are_item_data():
    data = parse_upload(OWLS.encode(), "owls.txt").document.sentences[1].extra["data"]
    assert data == {"experiment": "owls", "question": "Did the owl watch?; Was it late?", "answer": "Y; "}


def test_fillers_and_practice_trials_are_asked_about():
    asked = parse_upload((OWLS + FILLERS).encode(), "owls.txt")
    assert asked.asks == ("fillers",)
    result = parse_upload((OWLS + FILLERS).encode(), "owls.txt", ParseOptions(fillers="out"))
    assert [condition for _, condition, _ in texts(result)] == ["amb", "unamb"]


def test_of_several_experiments_the_chosen_one_is_read():
    cats = OWLS.replace("owls", "cats").replace("amb", "gap")
    asked = parse_upload((OWLS + cats).encode(), "both.txt")
    assert asked.asks == ("fillers",)
    (choice,) = asked.choices
    assert choice.proposed == ""
    assert dict(choice.answers)["2"] == "Only the 1 item with “gap”, “ungap”"
    result = parse_upload((OWLS + cats).encode(), "both.txt", ParseOptions(fillers="2"))
    assert [condition for _, condition, _ in texts(result)] == ["gap", "ungap"]


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("# owls 1 a\nThe owl hoots.\n# owls b\nThe cat naps.\n", "row 3"),
        ("# owls 1 a\nThe owl hoots.\n# owls 1 b\n# owls 2 a\nThe cat naps.\n", "row 3"),
    ],
)
def test_a_bad_header_and_an_item_without_a_sentence_are_named_by_their_row(text, where):
    assert [problem.where for problem in parse_upload(text.encode(), "a.txt").problems] == [where]


def test_a_table_below_a_comment_is_no_linger_file():
    table = "# made in May\nitem\tcondition\tS\n1\ta\tThe owl hoots.\n1\tb\tThe owl hoot.\n"
    assert len(texts(parse_upload(table.encode(), "a.tsv"))) == 2


def test_a_comment_like_a_header_above_a_table_or_a_list_is_no_item():
    table = "# Experiment 1 stimuli\nitem,condition,S\n1,a,The owl hoots.\n1,b,The owl hoot.\n"
    assert len(texts(parse_upload(table.encode(), "a.csv"))) == 2
    listed = "# Experiment 1 items\nThe owl hoots.\nThe owl hoot.\nThe cat naps.\nThe cat nap.\n"
    result = parse_upload(listed.encode(), "a.txt", ParseOptions(layout="good_bad"))
    assert len(texts(result)) == 4
