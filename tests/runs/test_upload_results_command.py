"""manage.py upload_results."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from gym.jobs.models import Job
from gym.runs.models import ResultUpload, SuiteRun
from gym.runs.read.leaderboard.build import leaderboard
from gym.runs.work import uploads
from gym.runs.work.uploads import ModelChoice, ResultFile, plan_upload, save_in_steps
from lmgym.runs.leaderboard.options import Options
from models_registry.models import RegisteredModel
from suites.models import Suite
from tests.factories import make_model, make_revision, make_suite
from tests.lmgym.runs.uploaded.worlds import GOLDEN, outcomes_of_seeds


def run(*arguments: object, **options: object) -> str:
    out, errors = io.StringIO(), io.StringIO()
    call_command("upload_results", *map(str, arguments), stdout=out, stderr=errors, **options)
    return out.getvalue() + errors.getvalue()


def seeds(folder: Path, n: int) -> Path:
    """Write outcomes of `n` models on “agreement” and on a suite that the site lacks."""
    file = folder / f"seeds-{n}.csv"
    file.write_bytes(outcomes_of_seeds(n, suites=("agreement", "elsewhere")))
    return file


def test_files_become_runs_of_the_named_model(people):
    make_revision(people.alice)
    said = run(
        GOLDEN / "lmzoo.tsv", "--suite", "agreement", "--model", "zoo", "--spec", GOLDEN / "spec.json",
        "--owner", "alice",
    )  # fmt: skip
    assert "agreement r1 · zoo: 2 of 3" in said
    assert (SuiteRun.objects.get().model.slug, SuiteRun.objects.get().owner) == ("zoo", people.alice)
    run(GOLDEN / "regions.csv", "--suite", "agreement", "--model", "zoo", "--kind", "regions")
    assert RegisteredModel.objects.get().runs.count() == 2


def test_without_names_the_file_says_which_suites_and_models(people):
    make_revision(people.alice)
    run(GOLDEN / "outcomes.csv", GOLDEN / "regions.csv")
    assert {(row.model.name, row.revision.suite.slug) for row in SuiteRun.objects.all()} == {
        ("elsewhere-lm", "agreement")
    }
    assert SuiteRun.objects.count() == 2


def test_exported_suites_and_tokens_give_the_same_pass_counts_in_a_new_database(client, people, tmp_path):
    make_revision(people.alice)
    run(GOLDEN / "lmzoo.tsv", "--suite", "agreement", "--model", "zoo", "--spec", GOLDEN / "spec.json")
    suite, tokens = tmp_path / "agreement.json", tmp_path / "tokens.csv"
    client.force_login(people.staff)
    tokens.write_bytes(b"".join(client.get("/exports/tokens.csv").streaming_content))
    with suite.open("w") as out:
        call_command("export_suite", "agreement", stdout=out)
    SuiteRun.objects.all().delete()
    RegisteredModel.objects.all().delete()
    Suite.objects.all().delete()
    call_command("import_suite", str(suite), "--freeze", "--owner", "bob", stdout=io.StringIO())
    assert "zoo: 2 of 3" in run(tokens, "--owner", "bob")


def test_checking_saves_nothing(people):
    make_revision(people.alice)
    assert "2 of 3" in run(GOLDEN / "outcomes.csv", "--check")
    assert SuiteRun.objects.count() == 0


def test_what_cannot_be_used_is_said_and_nothing_is_saved(people, tmp_path):
    make_revision(people.alice)
    make_model(people.alice)
    bad = tmp_path / "bad.csv"
    bad.write_text("item,correct\n1,perhaps\n")
    for file, options, reason in (
        (bad, ("--suite", "agreement"), "line 2"),
        (GOLDEN / "outcomes.csv", ("--suite", "none"), "Unknown suite"),
        (GOLDEN / "outcomes.csv", ("--model", "uniform"), "hosted here"),
        (GOLDEN / "outcomes.csv", ("--perplexity", "nan"), "“nan” is not a perplexity"),
        (GOLDEN / "outcomes.csv", ("--group", "a,b"), "a single name, without commas"),
        (tmp_path / "absent.csv", (), "No such file"),
    ):
        with pytest.raises(CommandError, match=reason):
            run(file, *options)
    assert SuiteRun.objects.count() == 0


def test_a_file_that_cannot_be_used_does_not_stop_the_others(people, tmp_path):
    make_revision(people.alice)
    bad = tmp_path / "bad.csv"
    bad.write_text("suite,item,correct\nagreement,1,perhaps\n")
    with pytest.raises(CommandError, match=r"(?s)bad.csv cannot be used.*line 2.*2 files of 3 were stored"):
        run(GOLDEN / "outcomes.csv", bad, GOLDEN / "regions.csv")
    assert SuiteRun.objects.count() == 2


def test_a_file_that_calls_the_named_suite_otherwise_is_taken_when_the_sentences_are_the_suites(people):
    make_suite(people.alice, name="Renamed")
    said = run(GOLDEN / "regions.csv", "--suite", "renamed")
    assert "renamed r1 · elsewhere-lm: 2 of 3" in said
    assert "the file calls the suite “agreement”; its sentences are those of renamed" in said
    with pytest.raises(CommandError, match="nothing in it shows that this is renamed"):
        run(GOLDEN / "outcomes.csv", "--suite", "renamed")
    make_suite(people.alice, name="Longer", items=4)
    with pytest.raises(CommandError, match="the file lacks"):
        run(GOLDEN / "regions.csv", "--suite", "longer")
    assert SuiteRun.objects.count() == 1


def test_the_slug_of_the_model_is_said_where_the_file_has_no_name(people, tmp_path):
    make_revision(people.alice)
    nameless = tmp_path / "nameless.csv"
    nameless.write_text("item,correct\n1,True\n2,False\n3,False\n")
    for _ in range(2):
        assert "agreement r1 · ours: 1 of 3" in run(nameless, "--suite", "agreement", "--model", "ours")


def test_a_notice_about_many_runs_is_said_once_with_a_count_and_the_first_places(people, tmp_path):
    make_revision(people.alice)
    said = run(seeds(tmp_path, 5), seeds(tmp_path, 4))
    assert said.count("items are numbered from 0") == 1
    assert "(9 times: seeds-5.csv, lstm-0 on agreement, " in said
    assert "and 6 more)" in said
    assert said.count("elsewhere") == 1
    assert "Left out 1 suite, “elsewhere”: your lists have no suite with this name" in said


def test_many_seeds_get_their_group_and_perplexity_at_once(people, tmp_path):
    make_revision(people.alice)
    file = seeds(tmp_path, 3)
    run(file, "--group", "lstm", "--perplexity", "57.5", "--visibility", "public")
    assert set(RegisteredModel.objects.values_list("perplexity", flat=True)) == {57.5}
    [row] = leaderboard(people.nobody, Options(group=True)).rows
    assert (row.name, len(row.models)) == ("lstm", 3)
    run(file, "--group", "LSTM", "--visibility", "public")
    assert {tuple(row.tags) for row in RegisteredModel.objects.all()} == {("uploaded", "group:LSTM")}


def test_a_file_of_more_pairs_than_a_page_waits_for_is_worked_off_here(people, tmp_path, monkeypatch):
    monkeypatch.setattr(uploads, "AT_ONCE", 3)
    make_revision(people.alice)
    n = 4
    assert f"{n} runs of {n} models on 1 suite" in run(seeds(tmp_path, n))
    assert (SuiteRun.objects.count(), Job.objects.count()) == (n, 0)


def test_an_interrupted_upload_leaves_no_run(people, tmp_path, monkeypatch):
    monkeypatch.setattr(uploads, "STEP", 3)
    make_revision(people.alice)
    file = seeds(tmp_path, 5)
    plan = plan_upload(ResultFile(file.name, file.read_bytes()), actor=people.alice)

    def interrupt(done: int) -> None:
        assert SuiteRun.objects.count() == done == 3
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        save_in_steps(plan, ModelChoice(), actor=people.alice, progress=interrupt)
    assert (SuiteRun.objects.count(), ResultUpload.objects.count()) == (0, 0)


def test_a_unit_that_the_file_does_not_state_is_an_option(people, tmp_path):
    make_revision(people.alice)
    file = tmp_path / "regions.csv"
    file.write_bytes((GOLDEN / "regions.csv").read_bytes().replace(b"surprisal_bits", b"nll"))
    with pytest.raises(CommandError, match=r"the file does not state the unit of “nll”.*--unit"):
        run(file)
    file.write_bytes(file.read_bytes().replace(b".25", b"98.25"))
    assert "warning: the mean is" in run(file, "--unit", "bits")
