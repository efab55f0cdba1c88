"""The commands import_suite and export_suite."""

from __future__ import annotations

import io
import json

import pytest
from django.core.management import CommandError, call_command

from lmgym.files.workbooks import write_xlsx
from suites.models import Suite
from tests.factories import make_suite
from tests.lmgym.suites.documents import suite_bytes, suite_json


def run(*words: str) -> str:
    out = io.StringIO()
    call_command(*words, stdout=out, stderr=io.StringIO())
    return out.getvalue()


def test_import_then_export_gives_the_file_back(people, tmp_path):
    path = tmp_path / "s.json"
    path.write_bytes(suite_bytes(name="mine"))
    run("import_suite", str(path), "--owner", "alice", "--freeze", "--visibility", "public", "--tags", "a,b")
    suite = Suite.objects.get()
    assert (suite.slug, suite.owner, suite.visibility, suite.latest_frozen.number) == (
        "mine",
        people.alice,
        "public",
        1,
    )
    expected = suite_json(name="mine")
    expected["meta"]["tags"] = ["a", "b"]
    assert json.loads(run("export_suite", "mine")) == expected


def test_one_bad_file_keeps_all_out(people, tmp_path):
    good, bad = tmp_path / "good.json", tmp_path / "bad.json"
    good.write_bytes(suite_bytes())
    bad.write_bytes(b"{}")
    with pytest.raises(CommandError, match=r"bad\.json"):
        run("import_suite", str(good), str(bad), "--owner", "alice")
    assert Suite.objects.count() == 0


TABLE = "item,condition,list,Subject,Verb\n1,a,1,The cat,sleeps\n1,b,2,The cat,sleep\n"


def test_columns_that_may_be_no_regions_need_an_option_and_their_data_is_exported(people, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(TABLE)
    option = "--columns A=item,B=condition,C=data,D=text,E=text"
    with pytest.raises(CommandError, match=f"(?s)C “list” .numbers.*{option}"):
        run("import_suite", str(path), "--owner", "alice")
    assert Suite.objects.count() == 0
    run("import_suite", str(path), "--owner", "alice", *option.split())
    exported = json.loads(run("export_suite", "t"))
    assert exported["region_meta"] == {"1": "Subject", "2": "Verb"}
    assert [one["data"] for one in exported["items"][0]["conditions"]] == [{"list": "1"}, {"list": "2"}]


@pytest.mark.parametrize("columns", ["C=nonsense", "C", "3=text"])
def test_an_option_of_columns_that_is_no_answer_says_how_it_is_written(tmp_path, columns):
    path = tmp_path / "t.csv"
    path.write_text(TABLE)
    with pytest.raises(
        CommandError, match=f"“{columns}” is not LETTER=ROLE with a role of item, condition, text"
    ):
        run("import_suite", str(path), "--columns", columns)


def test_export_writes_tables(people):
    make_suite(people.alice)
    assert run("export_suite", "agreement", "--format", "csv").splitlines()[0] == (
        "item_number,condition_name,region_number,region_name,content"
    )
    assert len(run("export_suite", "agreement", "--format", "tsv").splitlines()) == 7


def test_export_of_an_unknown_suite_says_so(db):
    with pytest.raises(CommandError, match="Suite not found: 'nix'"):
        run("export_suite", "nix")


def test_imported_suites_keep_how_their_regions_are_joined(people, tmp_path):
    path = tmp_path / "joined.json"
    path.write_bytes(suite_bytes(name="joined"))
    run("import_suite", str(path), "--owner", "alice", "--join", "none", "--metric", "mean")
    draft = Suite.objects.get(slug="joined").draft
    assert (draft.join_policy, draft.metric) == ("none", "mean")


def test_a_sheet_of_a_workbook_can_be_named(people, tmp_path):
    rows = [["item", "condition", "Subject", "Verb"], [1, "a", "The dog", "runs"], [1, "b", "The dog", "run"]]
    path = tmp_path / "two.xlsx"
    path.write_bytes(write_xlsx([("Main", rows), ("Fillers", rows)]).read())
    with pytest.raises(CommandError, match=r'Sheets: Main, Fillers\. For example: --sheet "Main"'):
        run("import_suite", str(path), "--owner", "alice")
    run("import_suite", str(path), "--owner", "alice", "--sheet", "Fillers")
    assert Suite.objects.get().draft.sentences.count() == 2
