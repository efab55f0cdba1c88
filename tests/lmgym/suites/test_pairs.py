"""Minimal pairs in the spellings that people publish: one row per item, one column per condition. No database."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmgym.files.workbooks import write_xlsx
from lmgym.suites.formats import read_json, write_json
from lmgym.suites.intake import NotUnderstood, parse_upload, read_any
from lmgym.suites.intake.parsing import ParseOptions

GOOD, BAD = ("The owl hoots.", "The owls hoot."), ("The owl hoot.", "The owls hoots.")
ROWS = list(zip(GOOD, BAD, strict=True))


def table(head: str, *rows: str, separator: str = ",") -> bytes:
    return "\n".join([head, *rows]).replace("|", separator).encode()


def lines(good: str, bad: str, **more) -> bytes:
    return "\n".join(json.dumps({good: one, bad: two, **more}) for one, two in ROWS).encode()


def read(data: bytes, name: str, **options):
    return parse_upload(data, name, ParseOptions(**options))


def sentences(result) -> list[tuple[int, str, str]]:
    assert result.document, result.problems
    return [(one.item, one.condition, one.text) for one in result.document.sentences]


EXPECTED = [(1, "good", GOOD[0]), (1, "bad", BAD[0]), (2, "good", GOOD[1]), (2, "bad", BAD[1])]
PAIRS = [f"{good}|{bad}|x y" for good, bad in ROWS]


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (table("sentence_good|sentence_bad|field", *PAIRS), "a.csv"),
        (table("good_sentence|bad_sentence|field", *PAIRS, separator=";"), "a.csv"),
        (table("field|bad|good", *(f"x y|{bad}|{good}" for good, bad in ROWS), separator="\t"), "a.tsv"),
        (lines("sentence_good", "sentence_bad", field="x y"), "a.jsonl"),
        (lines("good_sentence", "bad_sentence", field="x y"), "a.json"),
        (json.dumps([{"good": one, "bad": two, "field": "x y"} for one, two in ROWS]).encode(), "a.json"),
        (
            write_xlsx([("s", [["Good sentence", "Bad sentence", "field"], *[[*row, "x y"] for row in ROWS]])]).read(),
            "a.xlsx",
        ),
    ],
)  # fmt: skip
def test_known_spellings_are_read_without_a_question_whatever_the_container(data, name):
    result = read(data, name)
    found = {(item, condition.lower(), text) for item, condition, text in sentences(result)}
    assert found == set(EXPECTED)
    (prediction,) = result.document.predictions
    assert prediction.formula.lower() == "(*;%good%) < (*;%bad%)"
    assert result.document.extra["items"]["2"] == {"field": "x y"}
    assert any("lower total surprisal" in line for line in result.understood)
    assert any("item data: field" in line for line in result.understood)
    assert read_json(write_json(result.document).encode()) == result.document


@pytest.mark.parametrize(
    ("good", "bad"),
    [
        ("Grammatical", "Ungrammatical"),
        ("acceptable", "unacceptable"),
        ("correct", "incorrect"),
        ("sen", "wrong_sen"),
        ("source_sentence", "target_sentence"),
    ],
)
def test_the_headings_say_which_sentence_is_good_in_either_order(good, bad):
    for first, second in ((good, bad), (bad, good)):
        rows = [row if first == good else row[::-1] for row in ROWS]
        result = read(table(f"{first}|{second}", *map("|".join, rows)), "a.csv")
        conditions = (good.removesuffix("_sentence"), bad.removesuffix("_sentence"))
        assert result.document.predictions[0].formula == "(*;%{}%) < (*;%{}%)".format(*conditions)
        by_condition = dict(sentence[1:] for sentence in sentences(result)[:2])
        assert by_condition == dict(zip(conditions, ROWS[0], strict=True))


UNCLEAR = table("nr|one|other|note", "7|The owl hoots.|The owl hoot.|x", "9|The owls hoot.|The owls hoots.|y")
ROLES = {"A": "item", "B": "condition_text", "C": "condition_text", "D": "data"}


def test_unclear_headings_are_asked_and_the_order_decides_nothing():
    asked = read(UNCLEAR, "a.csv")
    assert asked.asks == ("prediction", "columns")
    assert asked.proposed_columns == ROLES
    assert not asked.document
    (choice,) = asked.choices
    assert [value for value, _ in choice.answers] == ["one", "other", "-"]
    assert choice.proposed == ""
    again = read(UNCLEAR, "a.csv", columns=ROLES)
    assert again.asks == ("prediction",)
    done = read(UNCLEAR, "a.csv", columns=ROLES, prediction="other")
    assert done.document.predictions[0].formula == "(*;%other%) < (*;%one%)"
    assert sentences(done)[2:] == [(9, "one", "The owls hoot."), (9, "other", "The owls hoots.")]
    assert read(UNCLEAR, "a.csv", columns=ROLES, prediction="-").document.predictions == ()
    assert read(UNCLEAR, "a.csv", columns=ROLES, prediction="third").asks == ("prediction",)


def test_three_conditions_give_two_predictions_and_can_be_renamed():
    data = table("a|b|c", "The owl hoots.|The owl hoot.|The owl hooting.")
    roles = dict.fromkeys("ABC", "condition_text")
    done = read(data, "a.csv", columns=roles, prediction="right", conditions={"a": "right"})
    assert [one.formula for one in done.document.predictions] == [
        "(*;%right%) < (*;%b%)",
        "(*;%right%) < (*;%c%)",
    ]
    assert done.document.conditions == ("right", "b", "c")


def test_a_column_that_may_be_another_sentence_is_asked_about():
    data = table("good|bad|context", *(f"{good}|{bad}|It was late at night." for good, bad in ROWS))
    asked = read(data, "a.csv")
    assert (asked.kind, asked.asks) == ("pairs", ("columns",))
    assert [column.header for column in asked.columns if column.doubt] == ["context"]
    done = read(data, "a.csv", columns=asked.proposed_columns)
    assert sentences(done) == EXPECTED
    assert done.document.extra["items"]["1"] == {"context": "It was late at night."}


@pytest.mark.parametrize("cell", ["", "∅", "NA"])
def test_cells_without_a_sentence_are_asked(cell):
    data = table("good|bad|cue", f"{GOOD[0]}|{cell}|∅", f"{GOOD[1]}|{BAD[1]}|b")
    asked = read(data, "a.csv")
    assert asked.asks == ("empty",)
    assert asked.problems[0].where == "row 2, column B (bad)"
    assert sentences(read(data, "a.csv", empty="out")) == EXPECTED[2:]
    texts = read(data, "a.csv", empty="text")
    assert sentences(texts)[1] == (1, "bad", "")
    assert texts.document.extra["items"]["1"] == {"cue": "∅"}


def test_numbers_of_items_are_taken_from_their_column_if_each_row_has_its_own():
    own = table("ID|good|bad", f"4|{GOOD[0]}|{BAD[0]}", f"8|{GOOD[1]}|{BAD[1]}")
    assert [item for item, *_ in sentences(read(own, "a.csv"))] == [4, 4, 8, 8]
    shared = read(table("ID|good|bad", f"4|{GOOD[0]}|{BAD[0]}", f"4|{GOOD[1]}|{BAD[1]}"), "a.csv")
    assert sentences(shared) == EXPECTED
    assert shared.document.extra["items"]["2"] == {"ID": "4"}
    assert any("has repeated values" in line for line in shared.understood)


def test_objects_keep_the_types_of_their_data_and_name_the_suite():
    data = lines("sentence_good", "sentence_bad", UID="agr", simple=True, conditions=3, none=None)
    document = read(data, "a.jsonl").document
    assert document.name == "agr"
    assert document.extra["items"]["1"] == {"UID": "agr", "simple": True, "none": None, "pair_conditions": 3}
    assert document.items == (1, 2)


@pytest.mark.parametrize(
    ("data", "where", "says"),
    [
        (b'{"sentence_good": "a"}\n', "row 1", "sentence_bad"),
        (b'{"good": "a b", "bad": "a"}\n{"good": "a', "line 2", "not valid JSON"),
        (b'{"good": "a b", "bad": "a"}\n[1]\n', "line 2", "is not an object"),
        (b'[{"good": "a b", "bad": "a c"}, 3]', "entry 2", "is not an object"),
        (b'{"good": "a b", "bad": "a c"}\n{"good": "a b", "bad": ["x"]}\n', "row 2, column B (bad)", "is not text"),
    ],
)  # fmt: skip
def test_broken_pairs_are_named_with_their_place(data, where, says):
    result = read(data, "a.jsonl")
    assert [(one.where, says in one.message) for one in result.problems] == [(where, True)]


def test_pairs_of_numbers_are_no_sentences():
    assert read(table("item|correct|incorrect", "1|12|3", "2|11|4"), "a.csv").kind == "sheet"


def test_the_library_reads_pairs_and_says_what_it_understood():
    document = read_any(table("good|bad", *map("|".join, ROWS)), "owls.csv")
    assert document.name == "owls"
    assert any("lower total surprisal" in notice.message for notice in document.notices)
    with pytest.raises(NotUnderstood) as error:
        read_any(UNCLEAR, "a.csv")
    assert "prediction" in error.value.result.asks


def test_text_that_conditions_share_can_be_regions_before_and_after():
    rows = ("It is late.|The owl|The owls|hoots now.", "It is hot.|A cat|Cats|naps now.")
    columns = {"A": "text", "B": "condition_text", "C": "condition_text", "D": "text"}
    result = read(table("context|good|bad|end", *rows), "a.csv", columns=columns)
    assert result.document.region_names == ("context", "Varying text", "end")
    assert sentences(result)[1] == (1, "bad", "It is late. The owls hoots now.")
    assert result.document.predictions[0].formula == "(*;%good%) < (*;%bad%)"
    assert "Text that all conditions share: context, end." in result.understood


@pytest.mark.parametrize(
    "wrap", [lambda rows: {"data": rows}, lambda rows: {"rows": [{"row": one} for one in rows]}]
)
def test_a_list_inside_an_object_is_read(wrap):
    rows = [{"sentence_good": one, "sentence_bad": two} for one, two in ROWS]
    assert sentences(read(json.dumps(wrap(rows)).encode(), "a.json")) == EXPECTED


@pytest.mark.parametrize("text", ['{"name": "x", "examples": "none"}', '{"a": 1}', '{"a": [1, 2]}'])
def test_other_objects_are_no_sheets(text):
    result = read(text.encode(), "a.json")
    assert (result.kind, result.asks) == ("file", ())
    assert "meta" in result.problems[0].message


@given(st.lists(st.tuples(st.text(max_size=12), st.text(max_size=12)), min_size=1, max_size=5))
def test_whatever_the_pairs_are_each_row_is_an_item_or_there_is_a_problem(pairs):
    data = "\n".join(json.dumps({"sentence_good": one, "sentence_bad": two}) for one, two in pairs).encode()
    result = read(data, "a.jsonl", empty="text")
    assert (result.document is None) == bool(result.problems)
    if result.document:
        assert len(result.document.items) == len(pairs)
