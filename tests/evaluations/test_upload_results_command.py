"""manage.py upload_results."""

from __future__ import annotations

import io

import pytest
from django.core.management import CommandError, call_command

from gym.evaluations.models import SuiteRun
from models_registry.models import RegisteredModel
from tests.evaluations.uploaded.worlds import GOLDEN
from tests.factories import make_model, make_revision


def run(*arguments: object, **options: object) -> str:
    out, errors = io.StringIO(), io.StringIO()
    call_command("upload_results", *map(str, arguments), stdout=out, stderr=errors, **options)
    return out.getvalue() + errors.getvalue()


def test_files_become_runs_of_the_named_model(people):
    make_revision(people.alice)
    said = run(
        GOLDEN / "lmzoo.tsv", "--suite", "agreement", "--model", "zoo", "--spec", GOLDEN / "spec.json",
        "--owner", "alice",
    )  # fmt: skip
    assert "agreement r1 · elsewhere-lm: 2 of 3" in said
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


def test_checking_saves_nothing(people):
    make_revision(people.alice)
    assert "2 of 3" in run(GOLDEN / "outcomes.csv", "--check")
    assert SuiteRun.objects.count() == 0


def test_what_cannot_be_used_is_said_and_nothing_is_saved(people, tmp_path):
    make_revision(people.alice)
    make_model(people.alice)
    bad = tmp_path / "bad.csv"
    bad.write_text("item,correct\n1,perhaps\n")
    with pytest.raises(CommandError, match="line 2"):
        run(GOLDEN / "outcomes.csv", bad, "--suite", "agreement")
    with pytest.raises(CommandError, match="There is no suite"):
        run(GOLDEN / "outcomes.csv", "--suite", "none")
    with pytest.raises(CommandError, match="hosted here"):
        run(GOLDEN / "outcomes.csv", "--model", "uniform")
    with pytest.raises(CommandError, match="No such file"):
        run(tmp_path / "absent.csv")
    assert SuiteRun.objects.count() == 0
