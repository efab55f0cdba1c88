"""The reader asks about columns of a wide sheet that may not be regions. No database."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmgym.files.workbooks import write_xlsx
from lmgym.suites.blueprints import BLUEPRINTS
from lmgym.suites.columns import (
    AFTER,
    BEFORE,
    CODES,
    HEADING,
    LABEL,
    NUMBERS,
    REPEATS,
    VERDICTS,
    closes_sentence,
)
from lmgym.suites.formats import read_json, read_suite, write_json, write_long_csv, write_wide_tsv
from lmgym.suites.intake import parse_upload
from lmgym.suites.intake.parsing import ParseOptions
from lmgym.suites.intake.sheets import read_part
from lmgym.suites.lint import lint
from tests.lmgym.conftest import ROOT
from tests.lmgym.suites.formats.samples import GOLDEN

PCIBEX = (
    "item,condition,list,sentence,question,answer,wavname\n"
    "1,match,A,The painter near the ladders whistles.,Does the painter whistle?,yes,001_a.wav\n"
    "1,mismatch,B,The painter near the ladders whistle.,Does the painter whistle?,yes,001_b.wav\n"
    "2,match,B,The baker behind the ovens hums.,Does the baker hum?,yes,002_a.wav\n"
    "2,mismatch,A,The baker behind the ovens hum.,Does the baker hum?,yes,002_b.wav\n"
)
PIVOT = (
    ",item,condition,disambPosition,ambiguity,Sentence,disambPosition_0idx\n"
    "0,1,AMB,5,ambiguous,The coach noticed the goal ended the match early.,4\n"
    "1,1,UAMB,6,unambiguous,The coach noticed that the goal ended the match early.,5\n"
    "2,2,AMB,5,ambiguous,The nurse heard the alarm stopped before the meeting.,4\n"
    "3,2,UAMB,6,unambiguous,The nurse heard that the alarm stopped before the meeting.,5\n"
)


def rows(*columns: str) -> str:
    """Return a sheet of two items in two conditions; `name: cell|cell|cell|cell` is a column."""
    head, *cells = zip(*(one.replace(": ", "|", 1).split("|") for one in columns), strict=True)
    keys = [("1", "sing_match"), ("1", "plur_match"), ("2", "sing_match"), ("2", "plur_match")]
    lines = [("item", "condition", *head), *((*key, *row) for key, row in zip(keys, cells, strict=True))]
    return "".join("\t".join(line) + "\n" for line in lines)


SUBJECT = "Subject: The cat|The cats|The owl|The owls"
VERB = "Verb: sleeps|sleep|hoots|hoot"
VERB_END = "Verb: sleeps.|sleep.|hoots.|hoot."


def doubted(text: str) -> dict[str, str]:
    reading = parse_upload(text.encode(), "x.csv")
    return {column.header: column.doubt for column in reading.columns if column.doubt}


def confirmed(text: str):
    """Read the sheet with the suggested roles of columns."""
    asked = parse_upload(text.encode(), "x.csv")
    assert asked.asks == ("columns",)
    assert asked.document is None
    return parse_upload(text.encode(), "x.csv", ParseOptions(columns=asked.proposed_columns))


@pytest.mark.parametrize(
    ("text", "sentence", "data"),
    [
        (
            PCIBEX,
            "The painter near the ladders whistles.",
            {"list": "A", "question": "Does the painter whistle?", "answer": "yes", "wavname": "001_a.wav"},
        ),
        (
            PIVOT,
            "The coach noticed the goal ended the match early.",
            {"(column A)": "0", "disambPosition": "5", "ambiguity": "ambiguous", "disambPosition_0idx": "4"},
        ),
    ],
)
def test_data_beside_a_sentence_is_proposed_as_data_and_stays_with_the_suite(text, sentence, data):
    document = confirmed(text).document
    assert len(document.region_names) == 1
    assert document.sentences[0].text == sentence
    assert document.sentences[0].extra == {"data": data}
    assert read_json(write_json(document).encode()).sentences == document.sentences


@pytest.mark.parametrize(
    ("column", "why"),
    [
        ("n_words: 3|3|4|4", HEADING),
        ("plausibility: low|high|low|high", HEADING),
        ("x: 3|3|4|4", NUMBERS),
        ("x: 3.5|NA|-4|1e-3", NUMBERS),
        ("x: a_1|a_2|b_1|b_2", CODES),
        ("x: one.wav|two.wav|six.wav|ten.wav", CODES),
        ("x: A|B|C|D", CODES),
        ("x: yes|no|yes|no", VERDICTS),
        ("x: The cat sleeps.|The cats sleep.|The owl hoots.|The owls hoot.", REPEATS),
        ("x: animate|animate|bird|bird", AFTER),
        ("x: Does it sleep?|Do they sleep?|Does it hoot?|Do they hoot?", AFTER),
    ],
)
def test_a_column_that_is_not_clearly_a_region_is_asked_about(column, why):
    name = column.partition(":")[0]
    if why in (AFTER, REPEATS):
        assert doubted(rows(SUBJECT, VERB_END, column)) == {name: why}
    else:
        for sheet in (
            rows(column, SUBJECT, VERB),
            rows(SUBJECT, VERB, column),
            rows(SUBJECT, column, VERB_END),
        ):
            assert doubted(sheet) == {name: NUMBERS if why == HEADING and "3" in column else why}


def test_text_before_the_beginning_and_labels_of_conditions_are_asked_about():
    assert doubted(rows("x: a dog|some dogs|an ant|some ants", SUBJECT, VERB_END)) == {"x": BEFORE}
    assert doubted(rows("x: few|many|few|many", SUBJECT, VERB)) == {"x": LABEL}
    assert doubted(rows("x: animal|animal|bird|bird", SUBJECT, VERB)) == {"x": LABEL}
    assert doubted(rows(SUBJECT, VERB, "x: singular|plural|singular|plural")) == {"x": LABEL}
    factors = rows(SUBJECT, VERB, "Number: one|two|one|two", "voice: active|active|passive|passive")
    assert doubted(factors) == {"Number": LABEL, "voice": HEADING}


@pytest.mark.parametrize(
    "columns",
    [
        ("Start: Mr.|Mr.|Dr.|Dr.", "Name: Smith|Jones|Smith|Jones", VERB_END),
        ("Comp: that|who|that|who", SUBJECT.lower(), VERB),
        ("Det: No|The|No|The", "noun: cat|cats|owl|owls", VERB),
        (SUBJECT, "Aux: has|have|has|have"),
        (SUBJECT, "End: near it ...|near it ...|by it ...|by it ...", VERB_END),
        (SUBJECT, "Verb: sleeps|sleep|hoots|hoot", "Dot: .|.|.|."),
        ("answer: The cat sleeps.|The cats sleep.|The owl hoots.|The owls hoot.",),
        (SUBJECT, "Number: two|three|two|three", "Type: soundly|soundly|loudly|loudly"),
    ],
)
def test_regions_of_ordinary_sentences_are_not_asked_about(columns):
    reading = parse_upload(rows(*columns).encode(), "x.tsv")
    assert reading.asks == ()
    assert len(reading.document.region_names) == len(columns)


DEMO = ROOT / "gym" / "demo" / "data" / "suites"


@pytest.mark.parametrize(
    "path", sorted([*GOLDEN.glob("*.*"), *DEMO.glob("*.json")]), ids=lambda path: path.name
)
def test_suites_whose_columns_are_regions_are_read_without_a_question(path):
    document = read_suite(path.read_bytes(), path.name)
    for text in (write_wide_tsv(document), write_long_csv(document)):
        assert parse_upload(text.encode(), "x.tsv").asks == ()


@pytest.mark.parametrize("design", BLUEPRINTS.values(), ids=BLUEPRINTS)
def test_designs_are_read_without_a_question(design):
    reading = parse_upload(write_wide_tsv(design.document()).encode(), "x.tsv")
    assert (reading.asks, reading.document.region_names) == ((), design.regions)


def test_regions_of_the_suite_that_is_replaced_are_no_question():
    text = rows("list: 1|2|1|2", SUBJECT, VERB)
    known = confirmed(text).document
    assert parse_upload(text.encode(), "x.tsv", known=known).asks == ("columns",)
    roles = {"A": "item", "B": "condition"} | dict.fromkeys("CDE", "text")
    with_list = parse_upload(text.encode(), "x.tsv", ParseOptions(columns=roles))
    assert with_list.document.region_names == ("list", "Subject", "Verb")
    assert parse_upload(text.encode(), "x.tsv", known=with_list.document).asks == ()


def test_a_workbook_asks_the_same_and_of_several_sheets_the_one_with_the_suite_is_taken():
    cells = [line.split("\t") for line in rows("list: 1|2|1|2", SUBJECT, VERB).splitlines()]
    data = write_xlsx([("Notes", [["By hand"]]), ("Items", cells)]).read()
    reading = parse_upload(data, "x.xlsx")
    assert reading.asks == ("columns",)
    done = parse_upload(data, "x.xlsx", ParseOptions(columns=reading.proposed_columns))
    assert done.document.region_names == ("Subject", "Verb")
    assert "Kept as item data: list." in done.understood


def test_item_data_beside_one_text_column_and_with_equal_or_no_headings_loses_nothing():
    text = "item\tcondition\ttext\tx\tx\t\n1\ta\tThe cat\t1\t2\t3\n1\tb\tThe cats\t4\t5\t6\n"
    roles = {"A": "item", "B": "condition", "C": "text", "D": "data", "E": "data", "F": "data"}
    reading = parse_upload(text.encode(), "x.tsv", ParseOptions(columns=roles))
    assert reading.document.sentences[1].extra == {"data": {"x": "4", "x (column E)": "5", "(column F)": "6"}}
    long = parse_upload(
        text.encode(), "x.tsv", ParseOptions(columns=roles | {"C": "content", "E": "skip", "F": "skip"})
    )
    assert long.document.sentences[1].contents == ("The cats",)
    assert long.document.sentences[1].extra == {"data": {"x": "4"}}


def test_a_sheet_pasted_into_a_suite_leaves_its_data_out():
    text = rows("list: 1|2|1|2", SUBJECT, VERB)
    asked = read_part(text)
    assert asked.asks == ("columns",)
    reading = read_part(text, ParseOptions(columns=asked.proposed_columns))
    assert reading.part.regions == ("Subject", "Verb")
    assert "Left out: list." in reading.understood


WORD = st.sampled_from(["that", "sleeps", "near", "them", "owl", "cats", "has", "old"])


@given(
    st.lists(st.tuples(WORD, WORD, WORD), min_size=2, max_size=6),
    st.lists(st.sampled_from(["count", "place"]), min_size=1, max_size=3, unique=True),
    st.integers(0, 3),
)
def test_numbers_never_become_text_without_an_answer(sentences, names, place):
    """Columns of numbers in any position are left out of the sentences."""
    head = ["S", "V", "O"]
    head[place:place] = names
    lines = [["item", "condition", *head]]
    for n, (start, *rest) in enumerate(sentences):
        texts = [f"The {start}", *rest]
        texts[place:place] = [str(n + k) for k in range(len(names))]
        lines.append([str(n), "a", *texts])
    reading = confirmed("".join("\t".join(line) + "\n" for line in lines))
    assert [one.text for one in reading.document.sentences] == [f"The {a} {b} {c}" for a, b, c in sentences]
    assert all(len(one.extra["data"]) == len(names) for one in reading.document.sentences)


@pytest.mark.parametrize(
    ("text", "closes"),
    [("sleeps.", True), ("“Go!”", True), ("Mr.", False), ("by Dr.", False), ("J.", False), ("well ...", False),
     ("", False), ("それは本です。", True)],
)  # fmt: skip
def test_ends_of_sentences(text, closes):
    assert closes_sentence(text) is closes


def test_what_slips_through_is_found_by_the_checks():
    columns = dict(zip("ABCDEFG", ["item", "condition", *["text"] * 5], strict=True))
    document = parse_upload(PCIBEX.encode(), "x.csv", ParseOptions(columns=columns)).document
    (finding,) = [one for one in lint(document) if one.code == "text-after-end"]
    assert (finding.severity, finding.where) == ("warning", "region 3 (question)")
    assert "in 4 of 4 sentences" in finding.message
    columns = dict(zip("ABCDEFG", ["text", "item", "condition", *["text"] * 4], strict=True))
    document = parse_upload(PIVOT.encode(), "x.csv", ParseOptions(columns=columns)).document
    numbers = [one.where for one in lint(document) if one.code == "number-region"]
    assert numbers == ["region 1 (Region 1)", "region 2 (disambPosition)", "region 5 (disambPosition_0idx)"]


def test_a_full_stop_inside_a_region_is_found_and_abbreviations_are_not():
    text = rows(
        "Sentence: Mr. X, e.g. J. Smith, slept.|They slept. Who did?|“Go!” he said.|They sleep ... well."
    )
    document = parse_upload(text.encode(), "x.tsv").document
    found = [one.cells for one in lint(document) if one.code == "text-after-end"]
    assert found == [((1, "plur_match", 1),)]


def test_what_stands_beside_an_empty_column_is_asked_about() -> None:
    rows = [
        "item\tcondition\tNP\tV\t\tlegend",
        "1\ta\tThe boy\truns\t\ta = gram",
        "1\tb\tThe boy\trun\t\tb = ungram",
        "2\ta\tThe girl\truns\t\t",
        "2\tb\tThe girl\trun\t\t",
    ]
    data = ("\n".join(rows) + "\n").encode()
    asked = parse_upload(data, "suite.tsv", pasted=True)
    assert [(column.role, column.doubt) for column in asked.columns[3:]] == [
        ("text", ""),
        ("skip", "empty"),
        ("skip", "beside an empty column"),
    ]
    answers = ParseOptions(columns={column.letter: column.role for column in asked.columns})
    document = parse_upload(data, "suite.tsv", answers, pasted=True).document
    assert document is not None
    assert document.region_names == ("NP", "V")
