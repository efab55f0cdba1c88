"""import_suite, export_suite, lint_suite."""

from __future__ import annotations

import io
import json

import pytest
from django.core.management import CommandError, call_command

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
    assert "Kept as item data: list" in run("lint_suite", str(path), *option.split())


@pytest.mark.parametrize("columns", ["C=nonsense", "C", "3=text"])
def test_an_option_of_columns_that_is_no_answer_says_how_it_is_written(tmp_path, columns):
    path = tmp_path / "t.csv"
    path.write_text(TABLE)
    with pytest.raises(CommandError, match="write a column's letter = one of item, condition, text"):
        run("lint_suite", str(path), "--columns", columns)


def test_export_writes_tables(people):
    make_suite(people.alice)
    assert run("export_suite", "agreement", "--format", "csv").splitlines()[0] == (
        "item_number,condition_name,region_number,region_name,content"
    )
    assert len(run("export_suite", "agreement", "--format", "tsv").splitlines()) == 7


def test_export_of_an_unknown_suite_says_so(db):
    with pytest.raises(CommandError, match="no suite 'nix'"):
        run("export_suite", "nix")


def test_lint_ends_with_status_1_when_two_compared_sentences_are_the_same(tmp_path):
    document = suite_json(items=12)
    conditions = document["items"][4]["conditions"]
    conditions[1]["regions"] = conditions[0]["regions"]
    path = tmp_path / "s.json"
    path.write_text(json.dumps(document))
    out = io.StringIO()
    with pytest.raises(SystemExit):
        call_command("lint_suite", str(path), stdout=out)
    assert "item 5" in out.getvalue()


def test_a_suite_of_the_site_is_looked_at_as_its_regions_are_joined(people, tmp_path):
    document = suite_json(name="joined")
    document["items"][0]["conditions"][0]["regions"][1]["content"] = "-plays"
    path = tmp_path / "joined.json"
    path.write_text(json.dumps(document))
    run("import_suite", str(path), "--owner", "alice", "--join", "none", "--metric", "mean")
    draft = Suite.objects.get(slug="joined").draft
    assert (draft.join_policy, draft.metric) == ("none", "mean")
    as_set, with_spaces = (run("lint_suite", *words) for words in (["joined"], ["joined", "--join", "space"]))
    assert as_set != with_spaces
    assert run("lint_suite", str(path)).partition(":")[2] == with_spaces.partition(":")[2]
    with pytest.raises(CommandError, match="no suite of this site"):
        run("lint_suite", "nowhere")


def test_lint_of_a_clean_suite_ends_with_status_0(tmp_path):
    path = tmp_path / "s.json"
    path.write_bytes(suite_bytes(items=12))
    assert "findings" in run("lint_suite", str(path))
