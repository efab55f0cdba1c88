"""PCIbex and Ibex results: columns by the nearest header above, commas decoded, one table per kind of row."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from lmgym.people.intake import import_people, read_file
from lmgym.people.intake.pcibex import decoded, encoded, read_pcibex
from lmgym.text.problems import Report
from tests.lmgym.people.data import SALT, SUITE, imported, message

COMMON = (
    "Results reception time", "MD5 hash of participant's IP address", "Controller name", "Order number of item",
    "Inner element number", "Label", "Latin Square Group", "PennElementType", "PennElementName", "Parameter", "Value",
    "EventTime",
)  # fmt: skip
TIMES = ("Reading time", "Newline?", "Sentence (or sentence MD5)", "Item", "Comments")


def header(names: tuple[str, ...], start: int = 1) -> list[str]:
    return [f"# {k}. {name}." for k, name in enumerate(names, start=start)]


def row(person: str, label: str, element: str, name: str, parameter: str, value: str, *rest: str) -> str:
    return ",".join(
        (
            "16",
            person,
            "PennController",
            "4",
            "0",
            label,
            "NULL",
            element,
            name,
            parameter,
            value,
            "17",
            *rest,
        )
    )


def words(person: str, label: str, item: int, *extra: str) -> list[str]:
    text = next(s.text for s in SUITE.sentences if (s.item, s.condition) == (item, label))
    return [
        row(person, label, "Controller-DashedSentence", "DashedSentence", str(k), encoded(word), str(300 + k), "false",
            encoded(text), str(item), *extra, "any comment")
        for k, word in enumerate(text.split(), start=1)
    ]  # fmt: skip


EXPERIMENT = "\n".join(
    [
        "#",
        "# Columns below this comment are as follows:",
        *header((*COMMON, "Comments")),
        row("aa", "consent", "PennController", "0", "_Trial_", "Start", "NULL"),
        row("aa", "consent", "Controller-Form", "Form", "age", "41", "NULL"),
        *header(TIMES, 13),
        *words("aa", "unamb", 1),
        row(
            "aa",
            "unamb",
            "Scale",
            "judgment",
            "Choice",
            "6",
            "Wait success",
            "NULL",
            "As the boat left%2C …",
            "1",
            "NULL",
        ),
        "#",
        *header((*COMMON, "Comments")),
        row("bb", "consent", "PennController", "0", "_Trial_", "Start", "NULL"),
        *header((*TIMES[:4], "Device", "Comments"), 13),
        *words("bb", "amb", 1, "phone"),
        row(
            "bb",
            "amb",
            "Scale",
            "judgment",
            "Choice",
            "2",
            "Wait success",
            "NULL",
            "As the boat left …",
            "1",
            "phone",
            "NULL",
        ),
    ]
).encode()


def test_words_are_read_by_the_nearest_header_above():
    result = imported(EXPERIMENT, {"table": "Controller-DashedSentence-DashedSentence"})
    data = result.matched.observations

    assert len(data) == 16
    assert data.word.tolist() == [*range(1, 9)] * 2
    assert data.value.tolist() == [*range(301, 309)] * 2
    assert [data.conditions[k] for k in data.condition] == ["unamb"] * 8 + ["amb"] * 8
    assert data.region.tolist() == [1, 1, 1, 1, 2, 2, 3, 3] * 2
    assert data.measure.name == "self-paced reading time"
    assert result.matched.n_mismatches == 0  # “left,” was written as left%2C


def test_kinds_of_rows_are_asked_and_judgments_are_not_confused_with_times():
    result = imported(EXPERIMENT)

    assert result.asks == ("table",)
    assert {table.name for table in result.tables} == {
        "Controller-DashedSentence-DashedSentence",
        "Scale-judgment-Choice",
    }
    rating = imported(
        EXPERIMENT, {"table": "Scale-judgment-Choice", "items": "number", "words": "keep", "scale": "1-7"}
    )
    data = rating.matched.observations
    assert (data.measure.kind, data.measure.scale, data.value.tolist()) == ("rating", (1, 7), [6, 2])


def test_what_participants_wrote_in_forms_is_not_read():
    contents = read_file(EXPERIMENT)

    assert contents.n_others == 3
    assert not any("41" in column.texts for table in contents.tables for column in table.columns)


def test_old_ibex_results_are_read_with_the_accuracy_of_their_questions():
    common = (*COMMON[:5], "Type", "Group")
    lines = [
        "# Columns below this comment are as follows:",
        *header((*common, "Word number", "Word", "Reading time", "Newline?", "Sentence (or sentence MD5)")),
    ]
    for k, word in enumerate(SUITE.sentences[0].text.split(), start=1):
        lines.append(
            f"16,aa,DashedSentence,4,0,amb,1,{k},{word},{300 + k},False,As the boat left the harbour …"
        )
    lines += header(
        ("Question (NULL if none)", "Answer", "Whether or not answer was correct (NULL if N/A)"), 8
    )
    lines.append("16,aa,Question,4,0,amb,1,Was it quiet?,Yes,1")

    result = imported("\n".join(lines).encode(), {"table": "DashedSentence", "missing": "accept"})

    assert result.matched.observations.value.tolist() == [*range(301, 309)]
    assert result.matched.accuracy.tolist() == [1.0]


def test_questions_of_many_items_are_one_table_and_give_the_accuracy():
    """PCIbex writes the text of an Ibex controller's question as the parameter: it differs from item to item."""
    names = ("Whether or not answer was correct (NULL if N/A)", "Time taken to answer", "Item", "Comments")
    answer = ("aa", "unamb", "Controller-Question", "Question")
    questions = [row(*answer, f"Question {k}?", "Yes", str(k % 2), "900", str(k), "NULL") for k in range(150)]
    data = EXPERIMENT + "\n".join(["", *header(names, 13), *questions]).encode()
    result = imported(data, {"table": "Controller-DashedSentence-DashedSentence"})

    assert len(result.tables) == 3
    assert result.matched.accuracy.tolist()[0] == 0.5


def test_two_scales_are_two_tables():
    lines = [*header((*COMMON, "Item", "Comments"))]
    lines += [
        row("aa", "amb", "Scale", name, "Choice", "3", "1", "NULL") for name in ("naturalness", "certainty")
    ]

    (table, other), _ = read_pcibex("\n".join(lines), Report())
    assert {table.name, other.name} == {"Scale-naturalness-Choice", "Scale-certainty-Choice"}


def test_a_row_with_more_cells_than_its_header_is_named():
    result = imported(EXPERIMENT + b"\n" + words("cc", "amb", 1, "tablet", "surplus")[0].encode())

    assert "line 62" in message(result)
    assert "19 cells, but the header above names 18 columns" in message(result)


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)


@given(texts.filter(lambda text: decoded(text) == text))
def test_any_text_survives_encoding(text):
    assert decoded(encoded(text)) == text
    assert not set(encoded(text)) & {",", "\n"}


@settings(max_examples=30)
@given(
    st.lists(
        st.tuples(st.lists(st.sampled_from("UVWXYZ"), min_size=1, max_size=6, unique=True), texts), max_size=6
    )
)
def test_columns_may_change_anywhere(blocks):
    """Every cell is found under its column's name, wherever the header changes."""
    lines = header((*COMMON, "Comments"))
    for k, (extra, text) in enumerate(blocks):
        lines += header(tuple(extra), 13)
        lines.append(
            row("aa", "x", "Scale", "s", "Choice", str(k), *(encoded(f"{name}{text}") for name in extra))
        )
    lines.append(
        row("aa", "x", "Scale", "s", "Choice", "7", *["end"] * (len(blocks[-1][0]) if blocks else 1))
    )

    (table,), _ = read_pcibex("\n".join(lines), Report())

    columns = {column.name: column for column in table.columns}
    for k, (extra, text) in enumerate(blocks):
        assert columns["Value"].cell(k) == str(k)
        for name in "UVWXYZ":
            expected = decoded(f"{name}{text}").strip() if name in extra else ""
            assert name not in columns or columns[name].cell(k) == expected


def test_result_is_the_same_for_the_same_salt_only():
    first = import_people(
        EXPERIMENT, "f", SUITE, {"table": "Controller-DashedSentence-DashedSentence"}, salt=SALT
    )
    other = import_people(
        EXPERIMENT, "f", SUITE, {"table": "Controller-DashedSentence-DashedSentence"}, salt=SALT[::-1]
    )

    assert first.matched.observations.participants != other.matched.observations.participants
    assert "aa" not in first.matched.observations.participants
