"""`lmgym lint` and `convert` on tables: sheet, encoding, names, and answers about columns."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import lmgym
from lmgym.cli import main
from lmgym.files.workbooks import write_xlsx
from tests.lmgym.suites.documents import suite_bytes

SHEET = [["item", "condition", "Sujet", "Verb"], [1, "a", "L'été", "vient"], [1, "b", "L'été", "viennent"]]
ROWS = "item,condition,Subject,Verb\n1,été,La fée,vient\n1,b,La fée,viennent\n"


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)


def run(capsys, *argv: str) -> tuple[int, str, str]:
    status = main(argv)
    return status, *capsys.readouterr()


def test_a_needed_sheet_or_encoding_is_proposed_and_can_be_given(capsys, tmp_path) -> None:
    (tmp_path / "latin.csv").write_bytes(ROWS.encode("windows-1252"))
    (tmp_path / "two.xlsx").write_bytes(write_xlsx([("Main", SHEET), ("Fillers", SHEET)]).read())
    for name, proposal in (
        ("latin.csv", "--encoding windows-1252: 1,été,La fée,vient"),
        ("two.xlsx", 'Sheets: Main, Fillers. For example: --sheet "Main"'),
    ):
        status, out, err = run(capsys, "lint", name)
        assert (status, out, proposal in err) == (2, "", True)
    assert run(capsys, "lint", "latin.csv", "--encoding", "windows-1252")[0] == 0
    status, out, _ = run(capsys, "convert", "two.xlsx", "--sheet", "Fillers", "--to", "tsv")
    assert (status, out.splitlines()[1]) == (0, "1\ta\tL'été\tvient")
    status, _, err = run(capsys, "lint", "two.xlsx", "--sheet", "Other")
    assert status == 2
    assert "has no sheet “Other”; it has “Main”, “Fillers”" in err
    assert lmgym.load_suite("latin.csv", encoding="windows-1252").conditions == ("été", "b")
    with pytest.raises(lmgym.errors.InvalidArgument, match="'klingon' is not a supported encoding"):
        lmgym.load_suite("latin.csv", encoding="klingon")


def test_names_of_a_table_are_replaced_or_left_out(capsys, tmp_path) -> None:
    (tmp_path / "rows.csv").write_text(ROWS, encoding="utf-8")
    words = ("convert", "rows.csv", "--to", "tsv", "--conditions", "été=a = b", "--conditions", "b=")
    status, out, _ = run(capsys, *words)
    assert (status, [line.split("\t")[1] for line in out.splitlines()]) == (0, ["condition", "a = b"])
    status, _, err = run(capsys, "lint", "rows.csv", "--regions", "Vrb=V")
    assert (status, "regions: 'Vrb' is not in the table" in err) == (2, True)


LONG = "item_number,condition_name,region_number,content\n" + "".join(
    f"{item},{condition},1,The owl {verb}.\n"
    for item in (1, 2)
    for condition, verb in (("b", "hoot"), ("a", "hoots"), ("c", "hooting"))
)
WIDE = "item,condition,Subject,Verb\n1,b,The owl,hoot\n1,a,The owl,hoots\n1,c,The owl,hooting\n"


@pytest.mark.parametrize("table", [LONG, WIDE], ids=["long", "wide"])
def test_a_prediction_is_added_to_any_table_with_conditions(tmp_path, table) -> None:
    (tmp_path / "t.csv").write_text(table)
    suite = lmgym.load_suite("t.csv", prediction="a")
    assert [row.formula for row in suite.predictions] == ["(*;%a%) < (*;%b%)", "(*;%a%) < (*;%c%)"]
    renamed = lmgym.load_suite("t.csv", prediction="good", conditions={"a": "good", "c": ""})
    assert [row.formula for row in renamed.predictions] == ["(*;%good%) < (*;%b%)"]
    assert lmgym.load_suite("t.csv", prediction="-").predictions == ()


@pytest.mark.parametrize("table", [LONG, WIDE], ids=["long", "wide"])
def test_a_prediction_of_an_unknown_condition_is_refused_with_the_choices(capsys, tmp_path, table) -> None:
    (tmp_path / "t.csv").write_text(table)
    status, _, err = run(capsys, "lint", "t.csv", "--prediction", "goood")
    assert (status, "--prediction a: “a” should have the lower surprisal" in err) == (2, True)


def test_undecided_pairs_are_an_error_that_lists_the_options_to_decide(capsys, tmp_path) -> None:
    (tmp_path / "pairs.csv").write_text(
        "one,other\nThe owl hoots.,The owl hoot.\nThe owls hoot.,The owls hoots.\n"
    )
    status, _, err = run(capsys, "lint", "pairs.csv")
    assert status == 2
    assert "For example: --columns A=condition_text,B=condition_text\n  --prediction one: “one” should" in err
    columns = ("--columns", "A=condition_text,B=condition_text")
    status, out, err = run(capsys, "convert", "pairs.csv", *columns, "--prediction", "one")
    assert status == 0
    assert json.loads(out)["predictions"][0]["formula"] == "(*;%one%) < (*;%other%)"
    assert "A pair passes if “one” has the lower total surprisal" in err


def test_header_marks_and_regions_of_a_sheet_are_options(capsys, tmp_path) -> None:
    (tmp_path / "cut.tsv").write_text("Owls\nNr\tForm\tx\n1\ta\tThe owl/hoots.\n1\tb\t*The owl/hoot.\n")
    given = ("cut.tsv", "--columns", "A=item,B=condition,C=text", "--header", "2")
    _, _, err = run(capsys, "lint", *given)
    assert "Choose:\n  --marks remove" in err
    status, out, _ = run(capsys, "convert", *given, "--marks", "remove", "--cut", "/", "--to", "tsv")
    assert status == 0
    assert out.splitlines()[2].split("\t")[2:] == ["The owl", "hoot."]


def test_ignored_reading_options_are_reported(capsys, tmp_path) -> None:
    (tmp_path / "agreement.json").write_bytes(suite_bytes())
    given = ("--sheet", "Main", "--encoding", "windows-1252")
    status, _, err = run(capsys, "lint", "agreement.json", *given)
    assert (status, err) == (0, "agreement.json is JSON; ignored: --sheet, --encoding\n")
    (tmp_path / "latin.csv").write_bytes(ROWS.encode("windows-1252"))
    assert run(capsys, "lint", "latin.csv", *given)[2] == "latin.csv is not a workbook; ignored: --sheet\n"
