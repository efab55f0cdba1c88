"""Aggregates are stored together with results."""

from __future__ import annotations

from django.core.management import call_command

from gym.jobs.testing import run_pending
from gym.runs.models import RunScore
from gym.runs.work import services
from gym.runs.work.uploads import ModelChoice, ResultFile, plan_upload, save_upload
from tests.factories import make_model, make_revision
from tests.lmgym.suites.documents import AGREEMENT
from tests.once import once_a_module

TWO = (AGREEMENT, "(2;%mismatch%) = (2;%match%)")


def make_run(people):
    revision = make_revision(people.alice, formulas=TWO)
    run = services.queue_run(revision, make_model(people.alice), actor=people.alice)
    run_pending()
    run.refresh_from_db()
    return run


built, people, run = once_a_module(make_run)


def rates(run) -> dict[str, float | None]:
    return dict(run.scores.values_list("rule", "rate"))


def test_a_finished_run_has_a_score_under_every_rule(run):
    assert rates(run) == {"each": 0.5, "all": 0.0, "first": 0.0}
    assert run.scores.get(rule="each").n == 3


def test_uploaded_outcomes_have_the_scores_they_hold(people):
    make_revision(people.alice, name="two", formulas=TWO)
    rows = "".join(f"m,two,{item},True\n" for item in (1, 2, 3))
    plan = plan_upload(ResultFile("o.csv", f"model,suite,item,correct\n{rows}".encode()), actor=people.alice)
    upload = save_upload(plan, ModelChoice(visibility="public"), actor=people.alice)
    found = rates(upload.runs.get())
    assert found["first"] == 1.0
    assert found["each"] is None


def test_the_command_computes_them_anew(run, capsys):
    RunScore.objects.all().delete()
    call_command("store_scores")
    assert rates(run) == {"each": 0.5, "all": 0.0, "first": 0.0}
    assert "1 runs" in capsys.readouterr().out


def test_scores_go_with_their_run(run, people):
    services.delete_run(run, actor=people.alice)
    assert not RunScore.objects.exists()
