"""Layouts of stimulus sheets that people have: titles, labels, lists, fillers, short rows, slashes, columns of words.

No database.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmgym.files.workbooks import write_xlsx
from lmgym.suites.intake import parse_upload
from lmgym.suites.intake.parsing import ParseOptions
from lmgym.suites.intake.questions import answers_to, questions


def sheet(*rows: str, separator: str = "\t") -> bytes:
    return "".join(f"{row.replace('|', separator)}\n" for row in rows).encode()


def read(data: bytes, name: str = "a.tsv", **options):
    return parse_upload(data, name, ParseOptions(**options))


def texts(result) -> list[tuple[int, str, str]]:
    assert result.document, [str(problem) for problem in result.problems]
    return [(one.item, one.condition, " / ".join(one.contents)) for one in result.document.sentences]


HEAD = "Item|Condition|Subject|Verb"
OWLS = ("1|sing|The owl|hoots", "1|plur|The owls|hoot", "2|sing|The cat|naps", "2|plur|The cats|nap")
FOUR = [
    (1, "sing", "The owl / hoots"), (1, "plur", "The owls / hoot"),
    (2, "sing", "The cat / naps"), (2, "plur", "The cats / nap"),
]  # fmt: skip


def said(result, part: str) -> bool:
    return any(part in line for line in result.understood)


# --- the header ---


@pytest.mark.parametrize("above", [("Owls, cats and number",), ("Owls", "", "by N. N., 2026"), ("Owls|||",)])
@pytest.mark.parametrize("separator", ["\t", ",", ";"])
def test_the_header_is_found_below_titles(above, separator):
    result = read(sheet(*above, HEAD, *OWLS, separator=separator))
    assert texts(result) == FOUR
    assert said(result, f"Row {len(above) + 1} names the columns")


def test_an_unknown_header_is_the_first_row_of_full_width():
    result = read(sheet("Number agreement", "Stimulus|Fassung|Nomen|Verb", *OWLS))
    assert result.asks == ("columns",)
    assert [column.header for column in result.columns] == ["Stimulus", "Fassung", "Nomen", "Verb"]
    done = read(
        sheet("Number agreement", "Stimulus|Fassung|Nomen|Verb", *OWLS), columns=result.proposed_columns
    )
    assert done.document.region_names == ("Nomen", "Verb")


def test_another_row_can_be_chosen_as_the_header():
    data = sheet("Nr|Form|A|B", "number|name|Subject|Verb", *OWLS)
    asked = read(data)
    header = next(one for one in questions(asked, ParseOptions(), {}) if one.name == "header")
    assert header.proposed == "yes"
    assert list(header.choices) == ["yes", "no", "2", "3", "4", "5", "6"]
    assert header.choices["2"] == "Row 2: number, name, Subject, Verb"
    columns = {"A": "item", "B": "condition", "C": "text", "D": "text"}
    assert texts(read(data, header="2", columns=columns)) == FOUR
    assert read(data, header="99", columns=columns).asks == ("header",)


def test_the_only_readable_sheet_of_several_is_read():
    rows = [["Owls"], [], *[row.split("|") for row in (HEAD, *OWLS)]]
    pairs = [["good", "bad"], ["The owl hoots.", "The owl hoot."]]
    for stimuli in (rows, pairs):
        data = write_xlsx([("Notes", [["Spring class"], ["author", "N.N."]]), ("Stimuli", stimuli)]).read()
        result = read(data, "a.xlsx")
        assert result.document, result.problems
        assert said(result, "Of 2 sheets, only “Stimuli” was read.")


def test_commas_in_sentences_are_not_taken_for_separators():
    rows = [f"{n}|{c}|Oh, well, the owl, hoots, {n}." for n in (1, 2) for c in "ab"]
    assert (
        len(texts(read(sheet("A title, with, many, commas, in, it", "Item|Condition|Sentence", *rows)))) == 4
    )


@pytest.mark.parametrize(
    "names",
    ["項目|条件", "Item|Bedingung", "élément|condition", "ítem|condición", "номер|условие", "البند|الشرط",
     "madde|koşul", "编号|条件", "번호|조건", "osio|ehto", "Item|Villkor", "número|condição", "elemento|condizione",
     "nummer|conditie"],
)  # fmt: skip
def test_headings_in_other_languages_need_no_question(names):
    assert texts(read(sheet(f"{names}|A|B", *OWLS))) == FOUR


def test_japanese_regions_are_joined_without_spaces():
    rows = [f"{n}|{c}|太郎|が|走{end}。" for n in (1, 2) for c, end in (("a", "る"), ("b", "った"))]
    assert said(read(sheet("項目|条件|主語|助詞|動詞", *rows)), "without spaces (“none”)")


# --- items ---


def test_item_labels_become_numbers_and_are_kept_as_data():
    rows = [row.replace("1|", "RRC38|").replace("2|", "RRC7|") for row in OWLS]
    result = read(sheet(HEAD, *rows))
    assert texts(result) == FOUR
    assert result.document.extra["items"] == {"1": {"item": "RRC38"}, "2": {"item": "RRC7"}}
    assert said(result, "“RRC38”, “RRC7”")


def test_two_columns_can_be_the_item_together():
    rows = ("A|3|sing|owl hoots", "A|3|plur|owls hoot", "B|3|sing|cat naps", "B|3|plur|cats nap")
    columns = {"A": "item", "B": "item", "C": "condition", "D": "text"}
    result = read(sheet("set|nr|condition|text", *rows), columns=columns)
    assert [item for item, *_ in texts(result)] == [1, 1, 2, 2]
    assert result.document.extra["items"]["2"] == {"item": "B-3"}
    assert said(result, "Columns A “set”, B “nr” together are the item.")


def test_an_id_of_each_row_is_not_the_item():
    rows = [f"{k}|{row}" for k, row in enumerate(OWLS)]
    assert read(sheet("id|Set|Condition|Subject|Verb", *rows), "a.tsv").columns[0].role == "data"


FILLERS = ("101|filler|Dogs|bark", "102|filler|Birds|sing")


def test_fillers_are_asked_about_once():
    data = sheet(HEAD, *OWLS, "3|sing|A fox|runs", "3|plur|Foxes|run", *FILLERS)
    asked = read(data)
    assert asked.asks == ("fillers",)
    (choice,) = asked.choices
    assert choice.label == "Items 101–102 have different conditions from most items: “filler”"
    assert texts(read(data, fillers="out"))[:4] == FOUR
    assert said(read(data, fillers="out"), "Left out: items 101–102 (“filler”; 2 rows).")
    kept = read(data, fillers="keep")
    assert any("item 101 lacks conditions" in str(problem) for problem in kept.problems)


def test_practice_rows_with_item_numbers_are_left_out():
    data = sheet(HEAD, *OWLS, "1|practice|Dogs|bark")
    assert texts(read(data, fillers="out")) == FOUR


def test_one_missing_condition_is_still_a_problem():
    result = read(sheet(HEAD, *OWLS[:3]))
    assert result.asks == ()
    assert "lacks a condition that item 1 has: “plur”" in result.problems[0].message


def test_a_sentence_that_lists_repeat_is_read_once():
    rows = [f"{k}|{row}" for k, row in zip("ABBA", OWLS, strict=True)]
    repeated = [f"{k}|{row}" for k, row in zip("CCDD", OWLS, strict=True)]
    columns = {"A": "data", "B": "item", "C": "condition", "D": "text", "E": "text"}
    result = read(sheet(f"list|{HEAD}", *rows, *repeated), columns=columns)
    assert texts(result) == FOUR
    assert result.document.sentences[0].extra == {"data": {"list": "A; C"}}
    assert said(result, "4 rows (rows 6, 7, 8, 9)")
    other = read(sheet(f"list|{HEAD}", *rows, "C|1|sing|The owl|sleeps"), columns=columns)
    assert "row 6" in str(other.problems[0])
    assert "twice, first at row 2" in str(other.problems[0])


def test_instructions_between_trials_of_gorilla_are_not_read():
    head = "randomise_trials|display|Item|Condition|Sentence"
    rows = [f"1|trial|{n}|{c}|The {c} owl hoots." for n in (1, 2) for c in ("old", "young")]
    data = sheet(head, "|instructions", *rows, "|end")
    asked = read(data)
    assert asked.proposed_columns == {"A": "data", "B": "data", "C": "item", "D": "condition", "E": "text"}
    result = read(data, columns=asked.proposed_columns)
    assert len(texts(result)) == 4
    assert said(result, "2 rows without an item, condition or text: not read (rows 2, 7)")
    columns = {"C": "item", "D": "condition", "E": "text"}
    assert texts(read(data, columns=columns)) == texts(result)


# --- rows and texts ---


def test_rows_that_end_early_have_empty_cells():
    result = read(sheet("Item|Condition|Subject|Verb|Rest", *OWLS[:3], f"{OWLS[3]}|now"))
    assert [one.contents[2] for one in result.document.sentences] == ["", "", "", "now"]
    assert said(result, "3 rows end early (rows 2, 3, 4)")


SLASHES = (
    "1|a|The owl/hoots/now.",
    "1|b|The owl/hoot/now.",
    "2|a|The cat / naps / now.",
    "2|b|The cat/nap/now.",
)


@pytest.mark.parametrize("sign", ["/", "·"])
def test_texts_with_slashes_or_bars_are_asked_about(sign):
    rows = [row.replace("/", " ~ " if sign == "·" else "/") for row in SLASHES]
    text = sheet("item|condition|sentence", *rows).decode().replace("~", "|")
    separator = "|" if sign == "·" else "/"
    asked = read(text.encode())
    assert asked.asks == ("cut",)
    assert asked.choices[0].proposed == separator
    cut = read(text.encode(), cut=separator)
    assert texts(cut)[2] == (2, "a", "The cat / naps / now.")
    assert cut.document.region_names == ("Region 1", "Region 2", "Region 3")
    whole = read(text.encode(), cut="none")
    assert len(whole.document.region_names) == 1


def test_a_slash_in_one_text_needs_no_question():
    rows = ("1|a|He and/or she hoots.", "1|b|He hoots.", "2|a|They hoot.", "2|b|It hoots.")
    assert read(sheet("item|condition|sentence", *rows)).asks == ()


def test_words_become_regions_on_request():
    result = read(sheet("item|condition|sentence", "1|a|The owl hoots", "1|b|The old owl hoots"), cut="words")
    assert [one.contents for one in result.document.sentences] == [
        ("The", "owl", "hoots", ""),
        ("The", "old", "owl", "hoots"),
    ]
    assert said(result, "Each word is a region: 4 regions; the last ones are empty in 1 sentence with fewer.")


def test_pairs_are_cut_as_well():
    data = sheet("good|bad", "The owl/hoots.|The owl/hoot.", "The cat/naps.|The cat/nap.")
    assert read(data).asks == ("cut",)
    assert texts(read(data, cut="/"))[1] == (1, "bad", "The owl / hoot.")


# --- lists of sentences ---

LIST = ("The owl hoots.", "The owl hoot.", "The cat naps.", "The cat nap.")


@pytest.mark.parametrize("head", [("|0",), ("sentence",), ()])
@pytest.mark.parametrize(("layout", "first"), [("good_bad", "good"), ("bad_good", "bad")])
def test_a_list_of_sentences_asks_whether_two_rows_are_a_pair(head, layout, first):
    data = sheet(*head, *LIST, separator=",")
    asked = read(data, "a.csv")
    assert asked.asks == ("layout", "columns")
    assert asked.choices[0].proposed == ""
    for columns in ({}, asked.proposed_columns):
        result = read(data, "a.csv", layout=layout, columns=columns, header="" if head else "no")
        assert texts(result)[2][0::2] == (2, "The cat naps.")
        assert texts(result)[0][1] == first
        assert result.document.predictions[0].formula == "(*;%good%) < (*;%bad%)"


def test_an_odd_list_is_one_error():
    (problem,) = read(sheet("sentence", *LIST[:3]), "a.csv").problems
    assert "a list of 3 sentences" in problem.message
    assert "odd number" in problem.message


# --- items and conditions without a column of their own ---


def test_a_repeated_condition_begins_an_item_if_so_answered():
    data = sheet("True|The owl hoots.", "False|The owl hoot.", "True|The cat naps.", "False|The cat nap.")
    asked = read(data)
    assert (asked.asks, asked.has_header) == (("columns", "layout"), False)
    assert asked.proposed_columns == {"A": "condition", "B": "text"}
    result = read(data, columns=asked.proposed_columns, layout="groups", header="no")
    assert texts(result)[2:] == [(2, "True", "The cat naps."), (2, "False", "The cat nap.")]
    assert said(result, "a new item begins when a condition is repeated")
    assert "layout" in read(data, columns=asked.proposed_columns, header="no").asks


CROSSED = [
    f"{n}|{number}|{kind}|The {noun} by the {other} {verb}"
    for n, noun, verb in ((1, "owl", "hoots"), (2, "cat", "naps"), (3, "dog", "barks"))
    for number, kind, other in (
        ("sg", "match", "tree"), ("sg", "clash", "trees"), ("pl", "match", "woods"), ("pl", "clash", "wood"),
    )
]  # fmt: skip


@pytest.mark.parametrize("second", ["attractor", "condition"])
def test_factors_in_columns_are_asked_and_make_the_conditions(second):
    data = sheet(f"item|number|{second}|sentence", *CROSSED)
    asked = read(data)
    assert asked.asks == ("columns",)
    assert asked.proposed_columns == {"A": "item", "B": "condition", "C": "condition", "D": "text"}
    document = read(data, columns=asked.proposed_columns).document
    assert document.conditions == ("sg_match", "sg_clash", "pl_match", "pl_clash")
    assert [factor["name"] for factor in document.meta["factors"]] == ["number", second]
    assert document.meta["factors"][1]["conditions"]["pl_clash"] == "clash"


def test_regions_with_similar_phrases_are_not_taken_for_conditions_where_factors_tell_rows_apart():
    rows = [
        f"{item}|{gender}|{kind}|The {noun}|who|the {kind} guests|liked|hurt|{word}"
        for item, noun in ((1, "king"), (2, "actor"), (3, "waiter"))
        for gender, word in (("match", "himself"), ("mismatch", "herself"))
        for kind in ("same", "other")
    ]
    asked = read(sheet("Item|Gender|Attractor|Subject|Comp|Attractor NP|RC verb|Verb|Reflexive", *rows))
    roles = ["item", "condition", "condition", *["text"] * 6]
    assert asked.proposed_columns == dict(zip("ABCDEFGHI", roles, strict=True))
    assert asked.asks == ("columns",)


def test_factors_follow_conditions_that_are_renamed_or_left_out():
    data = sheet("item|number|attractor|sentence", *CROSSED)
    columns = {"A": "item", "B": "condition", "C": "condition", "D": "text"}
    names = {"pl_match": "", "pl_clash": "", "sg_match": "plain"}
    result = read(data, columns=columns, conditions=names)
    assert result.document.conditions == ("plain", "sg_clash")
    assert "factors" not in result.document.meta
    assert said(result, "The factors were not kept")


def test_a_label_may_contain_item_and_condition():
    data = sheet(
        "item|sentence", "1a|The owl hoots.", "1b|The owl hoot.", "2a|The cat naps.", "2b|The cat nap."
    )
    asked = read(data)
    assert asked.proposed_columns == {"A": "item_condition", "B": "text"}
    result = read(data, columns=asked.proposed_columns)
    assert texts(result)[1:3] == [(1, "b", "The owl hoot."), (2, "a", "The cat naps.")]
    bad = read(data.replace(b"2b", b"b2"), columns=asked.proposed_columns)
    assert (bad.problems[0].where, bad.document) == ("row 5, column A (item)", None)


STARS = ("1|a|The owl hoots.", "1|b|*The owl hoot.", "2|a|The cat naps.", "2|b|?? The cat nap.")


def test_judgement_marks_are_asked_about_and_can_be_removed():
    data = sheet("item|condition|sentence", *STARS)
    asked = read(data)
    assert asked.asks == ("marks",)
    removed = read(data, marks="remove")
    assert [text for *_, text in texts(removed)] == [
        "The owl hoots.", "The owl hoot.", "The cat naps.", "The cat nap.",
    ]  # fmt: skip
    assert said(removed, "Marks in 2 sentences were removed, such as in “*The owl hoot.”.")
    assert texts(read(data, marks="keep"))[1][2] == "*The owl hoot."
    pairs = sheet("good|bad", "The owl hoots.|*The owl hoot.")
    assert read(pairs).asks == ("marks",)


def test_labels_of_two_values_are_conditions_and_no_row_numbers():
    data = sheet("sentence|label", "The owl hoots.|1", "The owl hoot.|0", "The cat naps.|1", "The cat nap.|0")
    assert read(data).proposed_columns == {"A": "text", "B": "condition"}


def test_pairs_without_a_header_are_recognised():
    data = sheet(
        "the author laughs|the author laugh",
        "the pilot laughs|the pilot laugh",
        "the pilot smiles|the pilot smile",
    )
    asked = read(data)
    assert not asked.has_header
    assert [value for value, _ in asked.choices[0].answers] == ["Column A", "Column B", "-"]
    done = read(data, header="no", columns=asked.proposed_columns, prediction="Column A")
    assert len(texts(done)) == 6


def test_html_is_asked_about_and_can_be_removed():
    rows = ("1|a|The <b>owl</b> hoots<br/>now.", "1|b|The&nbsp;<i class='x'>owl</i> hoot<br>now.")
    data = sheet("item|condition|sentence", *rows)
    assert read(data).asks == ("markup",)
    assert [text for *_, text in texts(read(data, markup="remove"))] == [
        "The owl hoots now.", "The\u00a0owl hoot now.",
    ]  # fmt: skip
    assert "<b>" in texts(read(data, markup="keep"))[0][2]
    assert read(sheet("item|condition|sentence", "1|a|if 3 < 5 > 2 & so on", "1|b|R&D; yes")).asks == ()


@pytest.mark.parametrize("names", ["Sentence A|Sentence B", "文1|文2"])
def test_similar_headings_of_pairs_are_headings(names):
    rows = ("The owl hoots now.|The owl hoot now.", "The cat naps now.|The cat nap now.")
    assert read(sheet(names, *rows)).has_header


def test_symbols_for_empty_regions_are_asked_about_but_not_empty_cells():
    rows = ("1|that|I know|that|he left.", "1|null|I know|∅|he left.", "2|that|We hope|that|it snows.")
    data = sheet("item|condition|A|comp|B", *rows, "2|null|We hope||it snows.")
    asked = read(data)
    assert (asked.asks, asked.problems[0].where) == (("empty",), "row 3, column D (comp)")
    assert texts(read(data, empty="text"))[1] == (1, "null", "I know /  / he left.")
    assert texts(read(data, empty="keep"))[1] == (1, "null", "I know / ∅ / he left.")


@pytest.mark.parametrize("cell", ["", "NA"])
def test_a_missing_sentence_asks_whether_to_leave_its_item_out(cell):
    rows = ("1|a|The owl hoots.", "1|b|The owl hoot.", "2|a|The cat naps.", f"2|b|{cell}")
    data = sheet("item|condition|sentence", *rows)
    assert read(data).asks == ("empty",)
    assert len(texts(read(data, empty="out"))) == 2
    assert texts(read(data, empty="text"))[3] == (2, "b", "")


def test_camel_case_headings_are_read_and_repeated_ones_skipped():
    data = sheet("ItemNo|CondName|Subject|Verb", *OWLS[:2], "ItemNo|CondName|Subject|Verb", *OWLS[2:])
    result = read(data)
    assert texts(result) == FOUR
    assert said(result, "1 row that repeated the headings: not read")


HEADINGS = st.sampled_from(
    [
        "item",
        "condition",
        "good",
        "bad",
        "sentence",
        "text",
        "region",
        "content",
        "list",
        "id",
        "x",
        "data_verb",
        "",
    ]
)
CELLS = st.sampled_from(
    ["1", "2", "a", "b", "The owl hoots.", "*The owl hoot.", "The owl/hoots.", "∅", "", "12a", "filler",
     "<b>x</b> y", "猫が眠る。"]
)  # fmt: skip


@given(st.data())
def test_any_sheet_with_any_answers_is_read_or_has_a_problem(data):
    width = data.draw(st.integers(1, 5))
    head = data.draw(st.lists(HEADINGS, min_size=width, max_size=width))
    rows = data.draw(st.lists(st.lists(CELLS, min_size=width - 1, max_size=width + 1), max_size=8))
    text = "\n".join("\t".join(row) for row in [head, *rows]).encode()
    options = ParseOptions()
    for _ in range(3):
        result = parse_upload(text, "a.tsv", options)
        assert (result.document is None) == bool(result.problems)
        open_questions = questions(result, options, {})
        if not open_questions:
            break
        answers = {one.name: data.draw(st.sampled_from(list(one.choices))) for one in open_questions}
        options = answers_to(answers, options)


# --- one condition ---


def test_sentences_without_conditions_are_read_if_so_answered():
    data = sheet("item|sentence|rating", "5|The owl hoots.|1.5", "7|The cat naps.|2.5")
    asked = read(data)
    assert set(asked.asks) == {"columns", "layout"}
    result = read(data, columns=asked.proposed_columns, layout="single")
    assert texts(result) == [(5, "sentence", "The owl hoots."), (7, "sentence", "The cat naps.")]
    assert said(result, "no conditions can be compared")


@pytest.mark.parametrize(
    "rows",
    [("The owl hoots.", "It naps.", "Cats nap.", "We eat."), ("The owl hoots.", "It naps.", "Dogs bark.")],
)
def test_a_list_of_sentences_may_have_one_condition(rows):
    asked = read(sheet(*rows), "a.txt")
    assert set(asked.asks) == {"columns", "layout"}
    assert len(texts(read(sheet(*rows), "a.txt", layout="single"))) == len(rows)


def test_each_sentence_of_a_story_becomes_an_item():
    data = sheet("story|number|sentence", "1|1|The owl hoots.", "1|2|The cat naps.", "2|1|A dog barks.")
    columns = {"A": "item", "B": "data", "C": "text"}
    result = read(data, columns=columns, layout="single")
    assert [item for item, *_ in texts(result)] == [1, 2, 3]
    assert said(result, "The item column has repeated values")


def test_ratings_are_not_proposed_as_conditions():
    rows = [f"{n}|The owl {word}.|{n}.5" for n, word in enumerate(("hoots", "naps", "eats"), start=1)]
    asked = read(sheet("item|sentence|rating", *rows))
    assert "condition" not in asked.proposed_columns.values()


# --- words of regions ---

WORDS = "item|condition|word|region"


def long(*rows: str) -> bytes:
    return sheet(WORDS, *rows)


def test_words_under_one_region_name_are_joined():
    data = long("1|a|The|NP", "1|a|owl|NP", "1|a|hoots|V", "1|b|Owls|NP", "1|b|hoot|V")
    result = read(data)
    assert texts(result) == [(1, "a", "The owl / hoots"), (1, "b", "Owls / hoot")]
    assert said(result, "under one region name are joined")


def test_regions_that_only_some_sentences_have_are_asked_about_and_keep_their_place():
    data = long("1|a|Cats|NP", "1|a|nap|V", "1|b|Cats|NP", "1|b|that we saw|RC", "1|b|nap|V")
    asked = read(data)
    assert asked.asks == ("empty",)
    assert texts(read(data, empty="text")) == [
        (1, "a", "Cats /  / nap"),
        (1, "b", "Cats / that we saw / nap"),
    ]


def test_items_that_lack_a_region_may_be_left_out():
    data = long("1|a|Cats|NP", "1|a|nap|V", "2|a|Owls|NP")
    assert [item for item, *_ in texts(read(data, empty="out"))] == [1]


def test_tags_of_long_sheets_are_asked_about():
    data = long("1|a|Cats|NP", "1|a|nap|V", "1|a|<eos>|End", "1|b|Owls|NP", "1|b|nap|V", "1|b|<eos>|End")
    assert read(data).asks == ("markup",)
    assert texts(read(data, markup="remove"))[0] == (1, "a", "Cats / nap / ")


# --- labels and several experiments ---


@pytest.mark.parametrize("form", ["{}_{}", "{}.{}.txt", "x.{}-{}"])
def test_labels_that_end_in_the_condition_are_proposed_and_split(form):
    names = [("owl", "sg"), ("owl", "pl"), ("cat", "sg"), ("cat", "pl")]
    rows = [f"{form.format(*name)}|The {name[0]} naps." for name in names]
    data = sheet("label|sentence", *rows)
    asked = read(data)
    assert asked.proposed_columns["A"] == "item_condition"
    assert [one[1] for one in texts(read(data, columns=asked.proposed_columns))] == ["sg", "pl", "sg", "pl"]


def test_a_sheet_of_two_experiments_asks_which_one_is_read():
    rows = [f"{n}|{c}|The owl {c}." for n, cs in ((1, "ab"), (2, "ab"), (3, "cd"), (4, "cd")) for c in cs]
    data = sheet("item|condition|S", *rows)
    assert read(data).asks == ("fillers",)
    assert {item for item, *_ in texts(read(data, fillers="2"))} == {3, 4}


# --- limits of long tables without region numbers ---

LONG = "item\tcondition\tregion_name\tcontent"


def long_rows(*rows: tuple[int, str, str, str]) -> bytes:
    return sheet(LONG, *("\t".join(map(str, row)) for row in rows))


def test_too_many_names_of_regions_are_one_problem():
    result = read(long_rows(*((1, "a", f"r{k}", "owl") for k in range(300))))
    assert [problem.message for problem in result.problems] == [
        "300 different names of regions; at most 200 are allowed"
    ]


def test_words_joined_to_a_region_obey_the_limit_of_a_cell():
    result = read(long_rows(*((1, "a", "r", "o" * 900) for _ in range(12)), (1, "b", "r", "owl")))
    assert [(problem.where, problem.message) for problem in result.problems] == [
        ("row 2, column D (content)", "10,811 characters; at most 10,000 are allowed")
    ]


def test_missing_regions_are_not_added_beyond_the_limit_of_a_suite():
    rows = [(item, name, f"r{item % 200}", "owl") for item in range(600) for name in ("a", "b")]
    result = read(long_rows(*rows), empty="text")
    assert "240,000 regions in all, with the missing ones" in str(result.problems[0])


@pytest.mark.parametrize("role", ["critical", "opening", "data"])
def test_a_list_of_pairs_has_no_column_that_would_be_lost(role):
    rows = sheet("Sentence|note", "The owl hoots.|owl", "The owl hoot.|owl")
    result = read(rows, columns={"A": "text", "B": role}, layout="good_bad")
    assert "a single column of text is read" in str(result.problems[0])


def test_rows_without_text_need_no_number_of_a_critical_word():
    rows = sheet("item|condition|S|nr|note", "1|a|It naps|1|", "1|b|They nap|1|", "||||Press a key")
    roles = ["item", "condition", "text", "critical_from_0", "data"]
    result = read(rows, columns=dict(zip("ABCDE", roles, strict=True)))
    assert texts(result) == [(1, "a", "It / naps"), (1, "b", "They / nap")]
