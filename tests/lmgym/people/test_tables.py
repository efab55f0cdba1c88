"""Long and wide tables, workbooks, Parquet, Gorilla, eye tracking, means, and jsPsych."""

from __future__ import annotations

import gzip
import io
import json

import pytest

from lmgym.files.workbooks import write_xlsx
from lmgym.people.intake import ALL_ITEMS, propose_roles, read_file
from lmgym.text.problems import FormatError
from tests.lmgym.people.data import SUITE, by_region, csv_of, imported, message

LONG = csv_of(by_region())


def same_as_long(data: bytes, answers: dict[str, str] | None = None) -> None:
    result, expected = imported(data, answers), imported(LONG)
    assert not result.problems
    ours, theirs = result.matched.observations, expected.matched.observations
    for name in ("participant", "item", "condition", "region", "word", "value"):
        assert getattr(ours, name).tolist() == getattr(theirs, name).tolist(), name
    assert ours.participants == theirs.participants


def test_long_table():
    data = imported(LONG).matched.observations

    assert data.value.tolist() == [401, 402, 403, 501, 502, 503, 411, 412, 413, 511, 512, 513]
    assert data.region.tolist() == [1, 2, 3] * 4
    assert set(data.word.tolist()) == {0}
    assert data.n_participants.tolist() == [1] * 12


@pytest.mark.parametrize(
    "data",
    [
        LONG.replace(b",", b"\t"),
        LONG.replace(b",", b";"),
        gzip.compress(LONG),
        LONG.decode().encode("utf-16"),
        b"Data of the experiment\n\n" + LONG,
        LONG.replace(b",1,4", b",Start,4"),
    ],
    ids=["tabs", "semicolons", "gzip", "UTF-16", "title above", "region names"],
)
def test_other_spellings_of_a_long_table(data):
    same_as_long(data)


def test_workbook_and_its_sheets():
    rows = [line.split(",") for line in LONG.decode().split("\n")]
    book = write_xlsx([("notes", [["a"], ["b"]]), ("data", rows)]).read()

    assert imported(book).asks == ("sheet",)
    same_as_long(book, {"sheet": "data"})


def test_parquet():
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    header, *rows = [line.split(",") for line in LONG.decode().split("\n")]
    columns = dict(zip(header, zip(*rows, strict=True), strict=True))
    out = io.BytesIO()
    parquet.write_table(pa.table({**columns, "rt": [float(value) for value in columns["rt"]]}), out)

    same_as_long(out.getvalue())


def test_wide_table_with_a_column_per_region():
    rows = by_region()
    wide = [[*rows[k][:3], *(row[4] for row in rows[k : k + 3])] for k in range(0, len(rows), 3)]

    same_as_long(csv_of(wide, "participant,item,condition,Start,Verb,End"))


def test_seconds_are_asked_and_stored_as_ms():
    rows = [[*row[:4], row[4] / 1000] for row in by_region()]
    data = csv_of(rows)

    assert "seconds?" in message(imported(data))
    assert imported(data).asks == ("columns.E",)
    result = imported(data, {"columns.E": "rt_s"})
    assert result.matched.observations.value[0] == pytest.approx(401)
    assert any("read as seconds" in str(notice) for notice in result.notices)
    same_as_long(csv_of(by_region(), "participant,item,condition,region,rt_ms"))


def test_each_measure_of_eye_tracking_is_imported_by_itself():
    rows = [[*row[:4], row[4], row[4] + 100, row[4] + 200] for row in by_region()]
    data = csv_of(rows, "participant,item,condition,region,first_pass,go_past,total_time")

    assert imported(data).asks == ("measure",)
    names = [imported(data, {"measure": letter}).matched.observations.measure.name for letter in "EFG"]
    assert names == ["first-pass time", "go-past time", "total reading time"]
    assert imported(data, {"measure": "F"}).matched.observations.value[0] == 501


def test_means_with_the_number_of_participants():
    rows = [[1, "amb", 2, 350.5, 40, 80], [1, "unamb", 2, 340.25, 41, 70]]
    data = imported(csv_of(rows, "item,condition,region,mean_rt,n,sd")).matched.observations

    assert data.are_means
    assert (data.value.tolist(), data.n_participants.tolist()) == ([350.5, 340.25], [40, 41])
    assert set(data.participant.tolist()) == {-1}


def test_a_rate_by_suite():
    data = b'"Condition","accepted","total_mean","count"\n"garden paths",5,0.94,100\n"islands",4,0.81,99\n'
    result = imported(data, {"stands_for": "unamb"})
    people = result.matched.observations

    assert (people.measure.kind, people.value.tolist(), people.n_participants.tolist()) == (
        "forced choice",
        [0.94],
        [100],
    )
    assert (people.item.tolist(), people.condition.tolist()) == ([ALL_ITEMS], [1])
    assert result.matched.left_out == {"about other suites": 1}
    assert imported(data).asks == ("stands_for",)


def test_ratings_with_a_decimal_comma_and_yes_or_no():
    rating = b"participant;item;condition;rating\np;1;amb;3,5\np;2;unamb;6\n"
    data = imported(rating, {"scale": "1-7"}).matched.observations
    assert (data.measure.kind, data.measure.scale, data.value.tolist()) == ("rating", (1, 7), [3.5, 6])

    verdict = b"participant,item,condition,judgment\np,1,amb,no\np,2,unamb,yes\n"
    data = imported(verdict).matched.observations
    assert (data.measure.kind, data.value.tolist()) == ("binary", [0, 1])


def test_a_scale_may_be_negative():
    rating = b"participant,item,condition,rating\np,1,amb,-5\np,2,unamb,-1\n"
    result = imported(rating)

    assert result.matched.observations.measure.scale == (-5, -1)
    assert any("from -5 to -1" in str(notice) for notice in result.notices)


def test_answers_other_than_yes_and_no_are_asked():
    data = b"participant,item,condition,judged_acceptable\np,1,amb,F\np,2,unamb,J\np,2,amb,timeout\n"

    assert imported(data).asks == ("answers.F", "answers.J", "answers.timeout")
    matched = imported(data, {"answers.F": "0", "answers.J": "1", "answers.timeout": "-"}).matched
    assert matched.observations.value.tolist() == [0, 1]
    assert matched.left_out == {"with the answer “timeout”": 1}


def test_gorilla():
    header = "Event Index,Participant Private ID,Zone Type,Reaction Time,Response,Spreadsheet: item,condition"
    rows = [
        [1, 77, "content", "", "", 1, "amb"],
        [2, 77, "response_rating_scale", 2000, 3, 1, "amb"],
        [3, 77, "response_rating_scale", 2100, 5, 2, "unamb"],
        ["END OF FILE", "", "", "", "", "", ""],
    ]
    answers = {"table": "response_rating_scale", "measure": "E", "columns.D": "skip", "columns.E": "rating"}
    data = imported(csv_of(rows, header), answers).matched.observations

    assert (data.measure.kind, data.value.tolist(), data.item.tolist()) == ("rating", [3, 5], [1, 2])
    assert read_file(csv_of([*rows, [4, 77, "", "", "", 2, "amb"]], header)).n_others == 2
    with pytest.raises(FormatError, match="more than 100 kinds of rows in “Zone Type”"):
        read_file(csv_of([[k, 77, f"zone {k}", "", "", 1, "amb"] for k in range(101)], header))


# --- jsPsych ---


def trials(person: str, condition: str) -> list[dict[str, object]]:
    text = next(s.text for s in SUITE.sentences if (s.item, s.condition) == (1, condition)).split()
    return [
        {
            "trial_type": "self-paced-reading",
            "trial_index": 3,
            "subject": person,
            "item": 1,
            "condition": condition,
            "word": text,
            "rt": [300 + k for k in range(len(text))],
        },
        {
            "trial_type": "html-button-response",
            "trial_index": 4,
            "subject": person,
            "rt": 1800,
            "response": 2,
        },
    ]


SPR = {"table": "self-paced-reading"}


@pytest.mark.parametrize("layout", ["one list", "list per participant", "list per line"])
def test_arrays_in_a_trial_of_jspsych_are_words(layout):
    people = [trials("p1", "amb"), trials("p2", "unamb")]
    data = {
        "one list": json.dumps(people[0] + people[1], indent=1),
        "list per participant": json.dumps(people),
        "list per line": "\n".join(map(json.dumps, people)),
    }[layout]
    result = imported(data.encode(), SPR)

    assert result.matched.observations.value.tolist() == [*range(300, 308)] * 2
    assert result.matched.observations.word.tolist() == [*range(1, 9)] * 2
    assert len(result.matched.observations.participants) == 2


def test_judgments_of_jspsych_are_offered_with_the_item_of_the_trial_before():
    data = json.dumps(trials("p1", "amb") + trials("p2", "unamb")).encode()
    result = imported(data, {"table": "html-button-response"})

    doubts = {column.header: column.doubt for column in result.columns if column.doubt}
    assert set(doubts) == {"response", "item (of the trial before)", "condition (of the trial before)"}
    answers = {f"columns.{column.letter}": column.role for column in result.columns}
    letter = next(column.letter for column in result.columns if column.header == "response")
    result = imported(
        data, {"table": "html-button-response", **answers, f"columns.{letter}": "rating", "scale": "1-5"}
    )
    assert result.matched.observations.value.tolist() == [2, 2]


def test_jspsych_csv_with_arrays_in_cells():
    lines = ["trial_type,trial_index,subject,item,condition,word,rt"]
    for trial in (trials("p1", "amb")[0], trials("p2", "unamb")[0]):
        cells = [value if isinstance(value, str | int) else json.dumps(value) for value in trial.values()]
        lines.append(",".join('"{}"'.format(str(cell).replace('"', '""')) for cell in cells))
    data = imported("\n".join(lines).encode()).matched.observations

    assert data.value.tolist() == [*range(300, 308)] * 2


# --- headings ---


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        (
            "Time,MD5,Type,item,Sentence,WordPosition,EachWord,RT,participant",
            "skip skip condition item sentence word word_text rt_ms participant",
        ),
        (
            "subj,item,cond,region,rt,logrt,acc,age",
            "participant item condition region rt_ms skip correct skip",
        ),
        ("WorkerId,item,zone,RT,word,nItem", "participant item word rt_ms word_text n"),
        (
            "RECORDING_SESSION_LABEL,item,IA_ID,IA_LABEL,IA_FIRST_RUN_DWELL_TIME,IA_SKIP",
            "participant item word word_text rt_ms skip",
        ),
        ("subject,sentence_id,Bedingung,Lesezeit (s)", "participant item_label condition rt_s"),
    ],
)
def test_headings_of_common_tables(header, expected):
    cells = ["345"] * len(header.split(","))
    (table,) = read_file(csv_of([cells], header)).tables

    assert [column.role for column in propose_roles(table)] == expected.split()
