"""Submitting: scored unchanged, repaired after agreement, or refused with all problems."""

from __future__ import annotations

import json
from statistics import fmean, stdev

import pytest
from django.core.exceptions import PermissionDenied, ValidationError
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from gym.propara import services
from gym.propara.exports import samples_summary
from gym.propara.models import Submission
from lmgym.propara import evaluate
from lmgym.propara.digest import MAX_WARNINGS
from lmgym.propara.errors import ProParaError
from lmgym.propara.report import EVALUATOR
from lmgym.propara.uploads import MAX_BYTES, parse_upload
from tests.lmgym.propara.worlds import LIGHT, shipped, tsv
from tests.propara.worlds import LATE, hand_in, make_shipped, make_version

State = Submission.State


def test_a_good_file_is_scored_as_the_reference_scores_it(people):
    version = make_shipped(people.alice)
    submission = hand_in(version, people.bob, shipped("hasty"))
    report = evaluate(version.answers, shipped("hasty"))
    assert (submission.state, submission.f1, submission.evaluator) == (State.SCORED, report.f1, EVALUATOR)
    assert submission.reference["questions"]["moves"]["recall"] == report.questions["moves"].recall
    assert submission.report["corrected"]["f1"] == report.corrected.f1
    low, high = submission.report["intervals"]["f1"].values()
    assert low < report.f1 < high
    assert bytes(submission.file) == shipped("hasty").encode()


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("\ufeff" + LATE, "bom"),
        ("process\tsentence\tname\taction\tbefore\tafter\n" + LATE, "header"),
        (LATE + "\n", "blank-line"),
        (LATE.replace("CREATE", "create"), "action"),
        (LATE.replace("light; rays", "Light;rays"), "participant"),
        (LATE.replace("7\t4\t", "7\t4.0\t"), "integer"),
    ],
)
def test_a_repaired_file_is_scored_only_after_agreement(people, text, code):
    version = make_version(people.alice)
    submission = hand_in(version, people.bob, text)
    assert (submission.state, submission.report, submission.f1) == (State.WAITING, {}, None)
    assert code in {row["code"] for row in submission.repairs}
    with pytest.raises(PermissionDenied):
        services.agree(submission, actor=people.alice)
    services.agree(submission, actor=people.bob)
    assert (submission.state, submission.f1) == (State.SCORED, evaluate(LIGHT, LATE).f1)
    assert bytes(submission.file) == text.encode()
    with pytest.raises(ValidationError):
        services.agree(submission, actor=people.bob)


def test_what_the_reference_takes_is_never_repaired(people):
    odd = LATE.replace("ocean", " ocean ").replace("\n", "\r\n").replace("star\t-", "star\t-\t")
    assert hand_in(make_version(people.alice), people.bob, odd).repairs == []


def refusal(text: str | bytes) -> list[tuple[int, int, str]]:
    with pytest.raises(ProParaError) as refused:
        parse_upload(text if isinstance(text, bytes) else text.encode(), LIGHT)
    return [(one.line, one.column, one.code) for one in refused.value.problems]


def test_each_process_with_a_warning_is_named_however_many_there_are(people):
    rows = [f"{pid} {step} a NONE x{step} x{step}" for pid in range(1, 13) for step in range(1, 101)]
    late = [*rows, "12 100 a NONE y y"]
    version = make_version(people.alice, answers=tsv(*rows), sentences="")
    report = hand_in(version, people.bob, tsv(*late)).report
    assert report["warning_counts"]["chain-break"] > MAX_WARNINGS
    named = {(row["code"], row["process_id"]) for row in report["warnings"]}
    assert {("chain-break", pid) for pid in range(1, 13)} <= named
    assert ("duplicate-row", 12) in named


def test_all_problems_come_at_once_at_the_lines_of_the_file_as_it_came():
    text = "\n" + LATE.replace("DESTROY", "VANISH").replace(
        "7\t4\tlight; rays\tMOVE\tstar\tocean\n", "7\t4\n"
    )
    assert refusal(text) == [(4, 4, "action"), (9, 2, "columns")]


SPELT_OTHERWISE = "".join(f"08\t1\t{number}\tNONE\tx\tx\n" for number in range(20_001))
"""More rows of process 8 than allowed. Its number is spelt 08, which must not hide them from the limit."""


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "empty"),
        (b"\n \n", "empty"),
        (b"\xff\xfe\x00", "encoding"),
        (b"a\x00b", "binary"),
        (b"{", "json"),
        (b"[]", "json"),
        (b'{"processes": 3}', "json"),
        (b"[" * 100_000, "too-large"),
        (b'{"process_id": 8, "answers": ["x"]}', "json"),
        (b"7\t99999999\tgas\tNONE\tx\tx\n", "step"),
        (LIGHT.encode() + b"7\t1_000_000\tgas\tNONE\tx\tx\n", "step"),
        (LIGHT.encode() + b"8\t99\tsteam\tNONE\tx\tx\n" + SPELT_OTHERWISE.encode(), "too-large"),
        (b"x" * (MAX_BYTES + 1), "too-large"),
    ],
)
def test_refusals(data, code):
    assert code in {one[2] for one in refusal(data)}


def test_a_state_file_is_turned_into_actions():
    states = "".join(
        "\t".join(row) + "\n"
        for row in (
            ("7", "1", "gas", "star", "star"),
            ("7", "2", "gas", "star", "null"),
            ("7", "3", "gas", "null", "null"),
            ("7", "4", "gas", "null", "null"),
            ("7", "1", "light; rays", "null", "null"),
            ("7", "2", "light; rays", "null", "star"),
            ("7", "3", "light; rays", "star", "space"),
            ("7", "4", "light; rays", "space", "soil"),
        )
    )
    intake = parse_upload(states.encode(), LIGHT)
    assert (intake.kind, evaluate(LIGHT, intake.text).f1) == ("states", 1.0)
    assert refusal("\n" + states.replace("7\t3\tgas\tnull", "7\tgas\tnull")) == [(4, 4, "columns")]


GRID = {"gas": ["star", "star", None, None, None], "light; rays": [None, None, "star", "space", "soil"]}


def test_json_grids_are_turned_into_actions():
    data = {"processes": [{"process_id": 7, "participants": GRID}]}
    intake = parse_upload(json.dumps(data).encode(), LIGHT)
    assert (intake.kind, intake.repairs, evaluate(LIGHT, intake.text).f1) == ("grids", (), 1.0)


def test_answers_to_the_prompt_pack_are_scored_sample_by_sample(people):
    version = make_version(people.alice)
    good = json.dumps({"process_id": 7, "participants": GRID})
    line = {"process_id": 7, "answers": [good, f"```json\n{good}\n```", "I cannot say.", '{"process_id": 7}']}
    submission = hand_in(version, people.bob, json.dumps(line) + "\n")
    assert (submission.kind, submission.f1) == ("answers", 1.0)
    assert [one["f1"] == 1.0 for one in submission.samples] == [True, True, False, False]
    assert [len(one["failures"]) for one in submission.samples] == [0, 0, 1, 1]
    found = samples_summary(submission)
    assert found["f1_mean"] == pytest.approx(fmean(one["f1"] for one in submission.samples))
    assert found["f1_deviation"] == pytest.approx(stdev(one["f1"] for one in submission.samples))
    assert (found["n_failures"], found["failure_rate"]) == (2, 0.5)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('{"process_id": 7}\n\n{"process_id": 7, oops}\n', (3, 19)),
        ('\n{"process_id": 7,\n "participants": }', (3, 18)),
        ('{"process_id": 7}\n' + "[" * 100_000, (2, 0)),
        ('\n{"process_id": 7}\n\n{"process_id": 8}\n', (4, 0)),
        ('{"process_id": 7}\n{"process_id": "7"}\n', (2, 0)),
        ('[{"process_id": 7, "answer": "?"},\n{"process_id": 8}]', (0, 0)),
    ],
)
def test_what_is_wrong_with_json_is_said_of_its_own_line(text, place):
    assert [one[:2] for one in refusal(text)] == [place]


def test_a_line_separator_within_an_answer_ends_no_line():
    odd = {
        "process_id": 7,
        "participants": GRID | {"gas": ["the\u2028star", "the\x85star", None, None, None]},
    }
    lines = (json.dumps(odd, ensure_ascii=False) + "\n") * 2
    assert [one.failures for one in parse_upload(lines.encode(), LIGHT).samples] == [(), ()]


def test_several_objects_about_one_process_are_samples(people):
    lines = "".join(json.dumps({"process_id": 7, "participants": GRID}) + "\n" for _ in range(3))
    assert len(parse_upload(lines.encode(), LIGHT).samples) == 3


def test_a_division_by_zero_is_a_named_error_and_no_score(people):
    answers = "1\t1\ta\tDESTROY\tSun\t-\n1\t1\tc\tCREATE\t-\tthe sun\n"
    version = make_version(people.alice, answers=answers, sentences="")
    text = answers.replace("Sun", "sun").replace("the sun", "a sun")
    submission = hand_in(version, people.bob, text)
    assert (submission.state, submission.reference) == (State.UNSCORABLE, None)
    assert submission.report["errors"][0]["code"] == "division-by-zero"


def test_the_page_walks_from_repairs_to_scores(client, people):
    make_version(people.alice)
    client.force_login(people.bob)
    data = {"file": SimpleUploadedFile("mine.tsv", (LATE + "\n").encode()), "visibility": "public"}
    address = client.post(reverse("propara-submit", args=["light", 1]), data).url
    html = client.get(address).content.decode()
    [repair] = Submission.objects.get().repairs
    assert repair["message"] in html
    assert "Overall" not in html
    client.logout()
    assert client.get(address).status_code == 404
    client.force_login(people.bob)
    client.post(f"{address}agree/")
    assert "Overall" in client.get(address).content.decode()
    client.logout()
    assert client.get(address).status_code == 200


def test_the_system_is_called_after_the_file_when_nothing_is_said(client, people):
    make_version(people.alice)
    client.force_login(people.bob)
    data = {"file": SimpleUploadedFile("mine.tsv", LATE.encode()), "visibility": "public"}
    client.post(reverse("propara-submit", args=["light", 1]), data)
    assert Submission.objects.get().system == "mine"


def test_an_account_keeps_so_many_and_no_more(people, settings):
    settings.GYM_QUOTA_SUBMISSIONS = (1, 0)
    version = make_version(people.alice)
    hand_in(version, people.bob)
    with pytest.raises(ValidationError):
        hand_in(version, people.bob)
