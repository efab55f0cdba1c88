"""Sheets as people type them: signs for nothing, marks in sentences, remarks, merged cells, row names."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmgym.suites.formats import SentenceDoc, SuiteDocument, write_wide_tsv
from lmgym.suites.formats.write import WRITERS
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
    wide = (
        f"item,condition,sentence\n1,a,The cat sleeps.\n1,b,{sign}\n2,a,The owl hoots.\n2,b,The owl hoot.\n"
    )
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


# --- marks of words and judgements ---


def sentences(*cells: str) -> str:
    """Return a wide sheet of whole sentences, two conditions per item."""
    rows = (f"{k // 2 + 1},{'ab'[k % 2]},{cell}\n" for k, cell in enumerate(cells))
    return "item,condition,sentence\n" + "".join(rows)


@pytest.mark.parametrize("marked", ["*{}*", "**{}**", "_{}_", "__{}__", "[{}]"])
def test_marked_words_of_sentences_are_asked_and_a_region_by_default(marked):
    verbs = [marked.format(verb) for verb in ("sleeps", "sleep", "hoots", "hoot")]
    text = sentences(*(f"The cat {verb} well at night." for verb in verbs))
    asked = read(text)
    assert asked.asks == ("marks",)
    assert asked.choices[0].proposed == "cut"
    cut = read(text, marks="cut")
    assert cut.document.region_names == ("Before", "Critical", "Spillover", "After")
    assert texts(cut)[0] == ("The cat", "sleeps", "well", "at night.")
    assert texts(read(text, marks="remove"))[0] == ("The cat sleeps well at night.",)
    assert texts(read(text, marks="keep"))[0] == (f"The cat {verbs[0]} well at night.",)


def test_a_marked_phrase_and_punctuation_next_to_a_mark_are_cut_whole():
    text = sentences("The cat [has slept].", "*The cat [have slept].", "An owl *hoots*.", "An owl *hoot*!")
    assert texts(read(text, marks="cut")) == [
        ("The cat", "has slept."),
        ("The cat", "have slept."),
        ("An owl", "hoots."),
        ("An owl", "hoot!"),
    ]


def test_marked_words_of_minimal_pairs_are_asked():
    text = (
        "good,bad\nThe cat *sleeps* well.,The cat *sleep* well.\nThe owl *hoots* well.,The owl *hoot* well.\n"
    )
    assert read(text).asks == ("marks",)
    assert texts(read(text, marks="cut"))[1] == ("The cat", "sleep", "well.")


@pytest.mark.parametrize(
    "text",
    [
        "He don't [sic] go.",
        "It is [MASK1].",
        "[NP the dog] ran.",
        "What the f***!",
        "The A* search is good.*",
    ],
)
def test_signs_that_mark_no_word_are_text(text):
    assert read(f"good,bad\nThe cat sleeps.,{text}\nThe owl hoots.,The owl hoot.\n").asks == ()


def test_words_in_brackets_are_kept_unless_every_sentence_has_them():
    asked = read("good,bad\nHe [always] goes.,He [always] go.\nThe owl hoots.,The owl hoot.\n")
    assert asked.asks == ("marks",)
    assert asked.choices[-1].proposed == "keep"
    assert "which is “He always goes.” without them" in asked.choices[-1].label


def test_a_marked_phrase_that_occurs_twice_is_not_a_place_to_cut():
    asked = read(
        "good,bad\nThe big cat saw *the big cat*.,The big cat see *the big cat*.\n"
        "The owl *hoots*.,The owl *hoot*.\n".replace("The big", "the big")
    )
    assert "cut" not in dict(asked.choices[-1].answers)


@pytest.mark.parametrize(
    ("cell", "plain"),
    [
        ("*sleep", "sleep"),
        ("*sleep*", "sleep"),
        ("_sleep_", "sleep"),
        ("??sleep", "sleep"),
    ],
)
def test_marks_in_regions_are_asked_in_wide_and_long_tables(cell, plain):
    wide = f"item,condition,Subject,Verb\n1,a,The cat,sleeps\n1,b,The cat,{cell}\n"
    long = "item,condition,region_number,region_name,content\n" + "".join(
        f"1,{condition},1,Subject,The cat\n1,{condition},2,Verb,{verb}\n"
        for condition, verb in (("a", "sleeps"), ("b", cell))
    )
    for text in (wide, long):
        asked = read(text)
        assert asked.asks == ("marks",)
        assert [value for value, _ in asked.choices[0].answers] == ["remove", "keep"]
        assert texts(read(text, marks="remove"))[1] == ("The cat", plain)
        assert texts(read(text, marks="keep"))[1] == ("The cat", cell)


def test_sentences_are_not_cut_if_some_have_no_marked_word():
    text = sentences("The cat *sleeps* well.", "The cat sleep well.", "An owl *hoots*.", "An owl hoot.")
    assert [value for value, _ in read(text).choices[0].answers] == ["remove", "keep"]


@pytest.mark.parametrize(
    "text",
    ["He wrote f*ck and snake_case_name.", "It costs 3 * 4 euros.", "He said [...] no.", "What? Yes.",
     "The [MASK] sleeps.", "The ___ sleeps."],
)  # fmt: skip
def test_signs_inside_words_and_placeholders_are_no_marks(text):
    assert read(sentences(text, text + " Really.", text, text + " Really.")).asks == ()


# --- remarks and merged cells ---

TABLE = "item,condition,Subject,Verb\n1,a,The cat,sleeps\n1,b,The cat,sleep\n2,a,The owl,hoots\n2,b,The owl,hoot\n"
LONG = (
    "item,condition,region_number,region_name,content\n"
    "1,a,1,S,The cat\n1,a,2,V,sleeps\n1,b,1,S,The cat\n1,b,2,V,sleep\n"
)


@pytest.mark.parametrize("table", [TABLE, LONG])
@pytest.mark.parametrize(
    "remark",
    ["Source: Smith 2010", "Source: Smith 2010,,,", ",Total: 4", "* after Smith,,", "\n,,,\nN = 4,,,"],
)
def test_a_remark_below_the_table_is_asked_and_left_out(table, remark):
    asked = read(f"{table}{remark}\n")
    assert asked.asks == ("incomplete",)
    assert "looks like a remark, not a sentence: “" in asked.problems[0].message
    assert asked.choices[0].proposed == "out"
    done = read(f"{table}{remark}\n", incomplete="out")
    assert texts(done) == texts(read(table))
    assert any(line.startswith("Not read: row ") for line in done.understood)


def test_a_sum_below_the_table_is_a_remark():
    asked = read(f"{TABLE}Total,2,,\n")
    assert asked.asks == ("incomplete",)
    assert texts(read(f"{TABLE}Total,2,,\n", incomplete="out")) == texts(read(TABLE))


def test_remarks_are_left_out_too_where_merged_cells_are_filled():
    assert texts(read(f"{TABLE}Source: Smith\n", incomplete="fill")) == texts(read(TABLE))


def test_a_remark_in_a_column_of_text_is_asked():
    assert read(f"{TABLE},,Source: Smith 2010,\n").asks == ("incomplete",)


def test_several_remarks_are_one_question():
    asked = read(f"{TABLE}\nNotes\nItem 2 is new\n")
    assert asked.problems[0].message == "rows 7, 8 look like remarks, not sentences, such as “Notes”"
    assert len(asked.problems) == 1


def test_a_remark_below_minimal_pairs_is_asked_about():
    text = "id,good,bad\n1,The cat sleeps.,The cat sleep.\n2,The owl hoots.,The owl hoot.\nSource: Smith\n"
    assert read(text).asks == ("empty",)
    assert len(texts(read(text, empty="out"))) == 4


def test_a_remark_does_not_change_the_proposed_roles():
    text = "Nr,Typ,Satz\n1,gut,The cat sleeps.\n1,bad,The cat sleep.\n2,gut,The owl hoots.\n2,bad,The owl hoot.\n"
    assert read(f"{text}Source: Smith\n").proposed_columns == read(text).proposed_columns


def test_an_empty_sentence_under_a_known_condition_is_no_remark():
    text = "item,condition,Subject,Verb\n1,a,The cat,sleeps\n,b,,\n2,a,The owl,hoots\n,b,The owl,hoot\n"
    assert read(text).asks == ()


@pytest.mark.parametrize(
    "text",
    [
        "condition,item,S,V\na,1,The cat,sleeps\n,2,The owl,hoots\nb,1,The cat,sleep\n,2,The owl,hoot\n",
        "item,condition,S,V\n1,a,The cat,sleeps\n2,,The owl,hoots\n1,b,The cat,sleep\n2,,The owl,hoot\n",
    ],
)
@pytest.mark.parametrize("remark", ["", "Source: Smith\n"])
def test_merged_cells_of_the_condition_are_asked_and_filled(text, remark):
    asked = read(text + remark)
    assert asked.asks == ("incomplete",)
    assert asked.problems[0].message == "rows 3, 5 have no condition"
    assert asked.choices[0].proposed == "fill"
    document = read(text + remark, incomplete="fill").document
    assert [(s.item, s.condition, s.contents[1]) for s in document.sentences] == [
        (1, "a", "sleeps"),
        (1, "b", "sleep"),
        (2, "a", "hoots"),
        (2, "b", "hoot"),
    ]


@pytest.mark.parametrize(
    "fillers", ["101,,The nurse,smiles\n102,,The cook,sings\n", "F,,The nurse,smiles\nF,,The cook,sings\n"]
)
@pytest.mark.parametrize("comes_first", [True, False])
def test_fillers_without_a_condition_are_left_to_the_question_about_fillers(fillers, comes_first):
    header, rows = TABLE.split("\n", 1)
    text = f"{header}\n{fillers}{rows}" if comes_first else TABLE + fillers
    asked = read(text)
    assert asked.asks == ("fillers",)
    assert asked.choices[0].proposed == "out"
    assert texts(read(text, fillers="out")) == texts(read(TABLE))


def test_merged_cells_of_factors_are_filled():
    text = (
        "item,number,match,S,V\n1,sg,yes,The cat,sleeps\n,,no,The cat,sleep\n,pl,yes,The cats,sleep\n"
        ",,no,The cats,sleeps\n2,sg,yes,The owl,hoots\n,,no,The owl,hoot\n,pl,yes,The owls,hoot\n,,no,The owls,hoots\n"
    )
    columns = {"A": "item", "B": "condition", "C": "condition", "D": "text", "E": "text"}
    done = parse_upload(text.encode(), "x.csv", ParseOptions(columns=columns, incomplete="fill"))
    assert done.document.conditions == ("sg_yes", "sg_no", "pl_yes", "pl_no")


def test_an_empty_condition_that_cannot_be_filled_is_refused_with_its_cell():
    text = TABLE.replace("1,b,", "1,,")
    (problem,) = read(text).problems
    assert (problem.where, problem.message) == ("row 3, column B (condition)", "the condition is empty")
    assert "which the item has already" in problem.hint


# --- row names of R ---


def with_row_names(text: str, separator: str = ",") -> str:
    """Return a table as R's write.table writes it: row numbers without a heading, strings in quotation marks."""
    head, *rows = [line.split(",") for line in text.splitlines()]
    numbered = [head, *([str(n), *row] for n, row in enumerate(rows, start=1))]
    return "\n".join(separator.join(f'"{cell}"' for cell in row) for row in numbered)


@pytest.mark.parametrize("separator", [",", "\t", ";"])
def test_row_names_of_r_are_asked_about_and_no_region(separator):
    text = with_row_names(TABLE, separator)
    asked = read(text)
    assert asked.asks == ("columns",)
    assert [(column.header, column.role) for column in asked.columns] == [
        ("", "data"),
        ("item", "item"),
        ("condition", "condition"),
        ("Subject", "text"),
        ("Verb", "text"),
    ]
    done = parse_upload(text.encode(), "x.csv", ParseOptions(columns=asked.proposed_columns))
    assert texts(done) == texts(read(TABLE))


@pytest.mark.parametrize(
    "table", [LONG, "good,bad\nThe cat sleeps.,The cat sleep.\nThe owl hoots.,The owl hoot.\n"]
)
def test_row_names_of_r_are_no_text_of_long_tables_and_pairs(table):
    assert texts(read(with_row_names(table))) == texts(read(table))


def test_a_last_column_without_a_heading_beside_row_numbers_does_not_shift_the_headings():
    asked = read("trial,item,condition,S\n1,1,a,The cat,sleeps\n2,1,b,The cat,sleep\n")
    assert [column.header for column in asked.columns] == ["trial", "item", "condition", "S"]


@pytest.mark.parametrize(
    "text",
    [
        "item,condition,S\n1,a,The cat,sleeps\n1,b,The cat,sleep\n",
        "item,condition,V\nr1,1,a,sleeps\nr2,1,b,sleep\n",
    ],
)
def test_a_heading_that_every_row_lacks_is_one_problem_with_both_remedies(text):
    (problem,) = read(text).problems
    assert (problem.where, problem.message) == (
        "row 1",
        "the header has 3 headings, but every row has 4 cells",
    )
    assert "Name the last column" in problem.hint
    assert "row names" in problem.hint


# --- tables that LM Gym writes ---

TROUBLE = [
    *("item", "Cond", "condition", "list", "4", "content", "text", "region", "region_name", "Nr", "Bedingung", "id"),
    *("data_x", "region: x", "region: region: x", "good", "bad", "sentence_good", "sentence_bad", "prefix", "V", "S"),
    *("Context1", "Context2", "Target1", "Target2", "expected", "target", "sentence", "number", "type"),
]  # fmt: skip
CELLS = [
    "The cat",
    "sleeps",
    "the dogs",
    "4",
    "3.5",
    "a_1",
    "B",
    "yes",
    "no",
    "The cat sleeps.",
    "singular",
    "x.wav",
]


@given(st.data())
def test_exported_tables_are_read_back_whatever_the_regions_are_called(data):
    names = data.draw(st.lists(st.sampled_from(TROUBLE), min_size=1, max_size=5))
    row = st.tuples(*(st.sampled_from(CELLS) for _ in names))
    sentences = [
        SentenceDoc(item, condition, data.draw(row), None, {})
        for item in (1, 2, 3)
        for condition in ("sing", "plur")
    ]
    document = SuiteDocument("x", "sum", {}, tuple(names), ("sing", "plur"), tuple(sentences))
    for form, suffix in (("csv", "csv"), ("tsv", "tsv"), ("csv-excel", "csv"), ("xlsx", "xlsx")):
        written = WRITERS[form](document)
        result = parse_upload(written if isinstance(written, bytes) else written.encode(), f"x.{suffix}")
        assert (form, result.asks, result.problems) == (form, (), [])
        assert result.document.region_names == document.region_names
        assert [one.contents for one in result.document.sentences] == [one.contents for one in sentences]


def test_only_regions_that_would_be_misread_are_marked_in_exported_tables():
    regions = ("Subject", "list", "Verb")
    row = SentenceDoc(1, "a", ("The cat", "of them", "sleeps"), None, {})
    written = write_wide_tsv(SuiteDocument("x", "sum", {}, regions, ("a",), (row,)))
    assert written.splitlines()[0] == "item\tcondition\tSubject\tregion: list\tVerb"


def test_a_suite_without_sentences_is_written_as_a_table():
    assert write_wide_tsv(SuiteDocument("x", "sum", {}, ("item", "V"), ("a",), ())).startswith(
        "item\tcondition\tregion: item\tV"
    )


# --- messages ---


def test_notices_of_a_file_are_sentences_without_the_word_file():
    understood = read(TABLE).understood
    assert understood == ["A table has no predictions and no metric; the metric is “sum”."]


def test_notices_keep_their_place():
    text = "item,condition,region_number,content,note\n1,a,1,The cat,x\n1,b,1,The owl,y\n"
    assert "Line 1: unknown column kept as extra data: note." in read(text).understood


def test_a_row_without_an_item_is_not_an_item_without_a_name():
    text = TABLE.replace("\n1,a,", "\n,x,", 1)
    problems = [str(problem) for problem in read(text).problems]
    assert problems
    assert not any("tem  " in problem for problem in problems)


def test_a_better_condition_of_a_single_one_is_said_to_have_no_effect():
    text = "item,condition,sentence\n1,a,The cat sleeps.\n2,a,The owl hoots.\n"
    assert "No prediction is made: the table has a single condition." in read(text, prediction="a").understood
