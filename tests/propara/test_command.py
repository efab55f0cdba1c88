"""The command line: report, files, messages, exit codes."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.lmgym.propara.recorded import blocks, run
from tests.lmgym.propara.worlds import LIGHT, shipped, tsv

REPORT = """\
=================================================
Question     Avg. Precision  Avg. Recall  Avg. F1
-------------------------------------------------
Inputs                1.000        1.000    1.000
Outputs               1.000        1.000    1.000
Conversions           1.000        1.000    1.000
Moves                 0.667        0.333    0.444
-------------------------------------------------
Overall Precision 0.917|
Overall Recall    0.833|
Overall F1        0.873|
=================================================

Evaluated 1 predictions against 1 answers.

""".replace("|", " " * 26)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    wrong = LIGHT.replace("MOVE\tstar\tspace", "NONE\tstar\tstar").replace("MOVE\tspace", "MOVE\tstar")
    (tmp_path / "a.tsv").write_text(LIGHT)
    (tmp_path / "p.tsv").write_text(wrong)
    (tmp_path / "s.tsv").write_text("7\t1\tGas burns.\n7\t2\tIt becomes light.\n")
    return tmp_path


def test_report_metrics_and_diagnostics(folder):
    done = run(["evaluate", "-p", "p.tsv", "-a", "a.tsv", "-o", "m.json", "-d", "d.txt", "-s", "s.tsv"])
    assert done.code == 0
    assert done.out == "Writing diagnostics to file d.txt\n" + REPORT + "Writing results to file: m.json\n"
    assert (folder / "m.json").read_text() == '{"precision": 0.917, "recall": 0.833, "f1": 0.873}'
    header, (process, overall) = blocks((folder / "d.txt").read_text())
    assert header == "Diagnostics of evaluation of predictions in p.tsv against answers in a.tsv"
    assert list(process) == ["prediction_summary", "answer_summary", "score", "sentences"]
    assert process["answer_summary"]["conversions"][0]["step_number"] == 2
    assert process["sentences"][1] == {"step_number": 2, "text": "It becomes light."}
    assert overall == {"overall_scores": {"precision": 0.917, "recall": 0.833, "f1": 0.873}}


def test_problems_in_json_name_the_file_of_sentences(folder):
    (folder / "s.tsv").write_text("7\tone\tGas burns.\n")
    done = run(["evaluate", "-p", "p.tsv", "-a", "a.tsv", "-s", "s.tsv", "--format", "json"])
    assert done.code == 1
    assert [problem["file"] for problem in json.loads(done.out)["problems"]] == ["s.tsv"]


@pytest.mark.parametrize(
    ("predictions", "code", "out", "err"),
    [
        (
            LIGHT.replace("DESTROY", "EXPLODE"),
            2,
            "Corrupted action file p.tsv on line 2 (Invalid action: EXPLODE)\n",
            "",
        ),
        ("", 2, "Corrupted or empty action file p.tsv (no lines to iterate)\n", ""),
        (
            LIGHT + "\n",
            2,
            "Corrupted action file p.tsv on line 9 (not enough values to unpack (expected 2, got 1))\n",
            "",
        ),
        ("id" + LIGHT, 1, "", "Error: p.tsv, line 1: “id7” is not a whole number."),
        ("7\t0\tgas\tNONE\tx\tx\n", 1, "", "Error: p.tsv, line 1: process 7 has no step 0"),
        ("7\t1000000000\tgas\tNONE\tx\tx\n", 1, "", "Error: p.tsv, line 1: step 1000000000 exceeds"),
        (
            tsv("8 1 a NONE x x"),
            2,
            "Participants in predictions file p.tsv are not exact matches to participants\nin a.tsv. Detailed report:\n"
            "\nProcess 7 missing in p.tsv\n\n"
            "Corrupted or empty action file p.tsv (Some participants are missing or unexpected.)\n",
            "",
        ),
    ],
    ids=["action", "empty", "blank", "integer", "step 0", "huge step", "process"],
)
def test_messages_and_exit_codes(folder, predictions, code, out, err):
    (folder / "p.tsv").write_text(predictions)
    done = run(["evaluate", "-p", "p.tsv", "-a", "a.tsv"])
    assert (done.code, done.out) == (code, out)
    assert done.err.startswith(err)
    assert bool(done.err) == bool(err)


@pytest.mark.parametrize("arguments", ["--bootstrap 0", "--bootstrap=-5", "--bootstrap x"])
def test_the_number_of_resamples_is_at_least_one(folder, arguments):
    done = run(["evaluate", "-p", "p.tsv", "-a", "a.tsv", *arguments.split()])
    assert (done.code, done.out) == (2, "")
    assert "argument --bootstrap: invalid positive int value" in done.err


@pytest.mark.parametrize("arguments", ["--b 3", "--f json", "--boot=3"])
def test_only_the_references_options_may_be_shortened(folder, arguments):
    done = run(["evaluate", "--pred", "p.tsv", "--ans", "a.tsv", *arguments.split()])
    assert (done.code, done.err.splitlines()[-1].partition("error: ")[2]) == (
        2,
        f"unrecognized arguments: {arguments}",
    )
    assert run(["evaluate", "--pred", "p.tsv", "--ans=a.tsv", "--bootstrap=3", "--format=text"]).code == 0


def test_rows_before_the_first_piece_that_is_not_utf8_are_looked_at_first(folder):
    """The reference reads 8,192 bytes at a time, and reports errors in rows before invalid UTF-8 in a later
    block."""
    rows = LIGHT.encode() * 50
    for data, code in ((b"\n" + rows + b"\xff", 2), (rows[:7_000] + b"\n\xff", 1), (rows + b"\n\xff", 1)):
        (folder / "p.tsv").write_bytes(data)
        done = run(["evaluate", "-p", "p.tsv", "-a", "a.tsv"])
        assert done.code == code, done.out
        assert ("is not UTF-8" in done.err) == (code == 1)


def test_a_process_may_have_more_than_a_hundred_thousand_steps(folder):
    (folder / "p.tsv").write_text(tsv("7 1 gas NONE x x", "7 100001 gas DESTROY x -"))
    (folder / "a.tsv").write_text(tsv("7 1 gas NONE x x", "7 2 gas DESTROY x -"))
    done = run(["evaluate", "-p", "p.tsv", "-a", "a.tsv"])
    assert (done.code, "Inputs                1.000        1.000    1.000" in done.out) == (0, True)


@pytest.mark.parametrize("digits", [19, 4_300, 4_301])
def test_very_long_numbers_of_processes_are_read_or_refused_in_words(folder, digits):
    number = "9" * digits
    for name in ("a.tsv", "p.tsv"):
        (folder / name).write_text(LIGHT.replace("7\t", f"{number}\t"))
    done = run(["evaluate", "-p", "p.tsv", "-a", "a.tsv"])
    assert done.code == (digits > 4_300)
    assert ("is not a whole number" in done.err) == (digits > 4_300)


def test_missing_files_end_in_one_line(folder):
    done = run(["evaluate", "-p", "nowhere.tsv", "-a", "a.tsv"])
    assert (done.code, done.out, done.err) == (
        1,
        "",
        "Error: Cannot read nowhere.tsv: No such file or directory.\n",
    )
    done = run(["evaluate", "-p", "p.tsv", "-a", "a.tsv", "-o", "no/m.json"])
    assert (done.code, done.out) == (1, REPORT + "Writing results to file: no/m.json\n")


def test_a_failure_midway_leaves_what_was_written(folder):
    """The second process has no score: the first one's diagnostics are in the file, as with the reference."""
    zero = tsv("8 1 a DESTROY Sun -", "8 1 c CREATE - the~sun")
    (folder / "a.tsv").write_text(LIGHT + zero)
    (folder / "p.tsv").write_text(LIGHT + zero.replace("Sun", "sun").replace("the sun", "a sun"))
    done = run(["evaluate", "-p", "p.tsv", "-a", "a.tsv", "-d", "d.txt"])
    assert (done.code, done.out) == (1, "Writing diagnostics to file d.txt\n")
    assert done.err.startswith("Error: Process 8 has no score (division-by-zero)")
    assert len(blocks((folder / "d.txt").read_text())[1]) == 1


def test_processes_in_another_order_score_the_same(folder):
    (folder / "a.tsv").write_text(LIGHT + LIGHT.replace("7\t", "8\t"))
    (folder / "p.tsv").write_text(LIGHT.replace("7\t", "8\t") + LIGHT)
    done = run(["evaluate", "-p", "p.tsv", "-a", "a.tsv", "-d", "d.txt"])
    assert "Overall F1        1.000" in done.out
    ids = [one["score"]["process_id"] for one in blocks((folder / "d.txt").read_text())[1][:-1]]
    assert ids == [7, 8]


def test_json_holds_everything(folder):
    done = run(["evaluate", "-p", "p.tsv", "-a", "a.tsv", "--format", "json", "--bootstrap", "200"])
    data = json.loads(done.out)
    assert data["rounded"] == {"precision": 0.917, "recall": 0.833, "f1": 0.873}
    assert data["corrected"]["metric"] == "corrected"
    assert "intervals" not in data  # of one process
    assert data["processes"][0]["scores"]["moves"]["precision"] == pytest.approx(2 / 3)


def test_json_lists_all_problems(folder):
    (folder / "p.tsv").write_text(LIGHT.replace("MOVE", "WALK"))
    done = run(["evaluate", "-p", "p.tsv", "-a", "a.tsv", "--format", "json"])
    assert done.code == 2
    assert [one["line"] for one in json.loads(done.out)["problems"]] == [7, 8]


def test_intervals_follow_the_report(folder):
    (folder / "a.tsv").write_text(shipped("answers"))
    (folder / "p.tsv").write_text(shipped("hasty"))
    done = run(["evaluate", "-p", "p.tsv", "-a", "a.tsv", "--bootstrap", "500"])
    assert "95% intervals from 500 resamples of 14 processes:" in done.out
    assert done.out == run(["evaluate", "-p", "p.tsv", "-a", "a.tsv", "--bootstrap", "500"]).out
    done = run(["evaluate", "-p", "p.tsv", "-a", "a.tsv", "--format", "json", "--bootstrap", "200"])
    assert json.loads(done.out)["intervals"]["resamples"] == 200


def test_a_single_process_has_no_interval(folder):
    done = run(["evaluate", "-p", "p.tsv", "-a", "a.tsv", "--bootstrap", "200"])
    assert "No intervals: they need at least two processes." in done.out


def test_intervals_of_files_that_can_be_read_only_once(folder):
    (folder / "a.tsv").write_text(shipped("answers"))
    (folder / "p.tsv").write_text(shipped("hasty"))
    read_twice = run(["evaluate", "-p", "p.tsv", "-a", "a.tsv", "--bootstrap", "500"])
    os.mkfifo(folder / "pipe")
    writer = threading.Thread(target=(folder / "pipe").write_text, args=[shipped("hasty")])
    writer.start()
    command = [
        sys.executable,
        "-m",
        "lmgym",
        "propara",
        "evaluate",
        "-p",
        "pipe",
        "-a",
        "a.tsv",
        "--bootstrap",
        "500",
    ]
    root = str(Path(__file__).resolve().parents[2])
    once = subprocess.run(  # in a separate process, as opening a file twice could block forever
        command, capture_output=True, text=True, check=False, timeout=60, env={"PYTHONPATH": root}
    )
    writer.join()
    assert (once.returncode, once.stdout) == (0, read_twice.out)


def test_check_lists_everything_at_once_and_says_what_it_repaired(folder):
    words = LIGHT.replace("CREATE\t-", "CREATE\tnull").replace("NONE\t-\t-", "NONE\tUNK\t?")
    (folder / "p.tsv").write_text(words)
    done = run(["check", "p.tsv", "-a", "a.tsv"])
    assert (done.code, done.err) == (1, "")
    assert "Repaired: p.tsv, line 6, column 5: “null” became “-”.\n" in done.out
    assert "Repaired: p.tsv, lines 3, 4, 5, column 5: 3 × “UNK” became “?”.\n" in done.out
    (folder / "p.tsv").write_text(words.replace("MOVE\tstar", "WALK\tstar").replace("light; rays", "rays"))
    done = run(["check", "p.tsv", "-a", "a.tsv"])
    assert (done.code, done.out) == (2, "")
    assert "p.tsv, line 7, column 4: “WALK” is not an action." in done.err
    assert "line 5, column 3: Process 7 has no participant “rays”. Did you mean “light; rays”?" in done.err
    (folder / "p.tsv").write_text(LIGHT.replace("MOVE\tstar", "MOVE\tnull"))
    done = run(["check", "p.tsv", "-a", "a.tsv", "--format", "json"])
    assert (done.code, json.loads(done.out)["repairs"]) == (0, [])  # the reference accepts it, and so do we
    (folder / "a.tsv").write_text(LIGHT.replace("MOVE", "WALK"))
    done = run(["check", "p.tsv", "-a", "a.tsv"])
    assert (done.code, "a.tsv, lines 7, 8, column 4: 2 × “WALK” is not an action." in done.err) == (2, True)


def test_files_are_compared_with_the_first(folder):
    done = run(["compare", "p.tsv", "a.tsv", "-a", "a.tsv", "--resamples", "50"])
    assert done.code == 0
    assert "Difference of F1, a.tsv − p.tsv:\nOverall      +0.127" in done.out
    assert "\nMoves        +0." in done.out
    assert re.search(r"Overall .* p [=<] (\S+), Holm [=<] \1\n", done.out)  # also where both are equal
    assert "Better on 1, worse on 0, equal on 0 of 1 process\nProcess 7        +0.127\n" in done.out
    done = run(["compare", "p.tsv", "a.tsv", "p.tsv", "-a", "a.tsv", "--resamples", "50", "--format", "json"])
    rows = [row for row in json.loads(done.out)["comparisons"] if row["question"] == "overall"]
    assert [row["difference"] for row in rows] == [pytest.approx(0.127, abs=1e-3), 0.0]
    assert [row["second"] for row in rows] == ["a.tsv", "p.tsv"]


def test_templates_prompts_answers_and_other_forms(folder):
    done = run(["template", "-a", "a.tsv"])
    assert (done.code, done.out.splitlines()[0]) == (0, "7\t1\tgas\tNONE\t?\t?")
    (folder / "s.tsv").write_text("".join(f"7\t{number}\tSo it goes.\n" for number in range(1, 5)))
    done = run(["prompts", "-a", "a.tsv", "-s", "s.tsv"])
    assert [json.loads(line)["process_id"] for line in done.out.splitlines()] == [7]
    grids = run(["convert", "a.tsv", "-a", "a.tsv", "--to", "grids"]).out
    (folder / "g.json").write_text(grids)
    assert sorted(run(["convert", "g.json", "-a", "a.tsv"]).out.splitlines()) == sorted(LIGHT.splitlines())
    tracks = {
        name: one["locations"] for name, one in json.loads(grids)["processes"][0]["participants"].items()
    }
    good = {"process_id": 7, "participants": tracks}
    (folder / "r.jsonl").write_text(json.dumps({"process_id": 7, "answers": [good, "I cannot say."]}) + "\n")
    done = run(["score-answers", "r.jsonl", "-a", "a.tsv"])
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("Sample 1: Precision 1.000, recall 1.000, F1 1.000; corrected F1 1.000\n")
    assert done.out.endswith("1 of 2 answers could not be used\n")
    done = run(["convert", "r.jsonl", "-a", "a.tsv", "--sample", "3"])
    assert (done.code, "Sample 3 does not exist: the file has 2 samples." in done.err) == (2, True)
    assert "does not contain a model's answers" in run(["score-answers", "p.tsv", "-a", "a.tsv"]).err


def test_explain_reads_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(tsv("1 2 tea CREATE - pot").encode())))
    done = run(["explain"])
    assert (done.code, done.out) == (
        0,
        "In paragraph 1, sentence 2, the participant `tea` is created at `pot`\n",
    )
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"1\t2\ttea\n")))
    assert run(["explain"]).code == 1


def test_the_command_line_starts_without_django_and_numpy(folder):
    script = (
        "import sys; from lmgym.propara import cli; code = cli.main(['evaluate', '-p', 'p.tsv', '-a', 'a.tsv']);"
        "print(code, sorted({'django', 'numpy', 'scipy'} & set(sys.modules)))"
    )
    root = str(Path(__file__).resolve().parents[2])
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False, env={"PYTHONPATH": root}
    )
    assert (done.stdout, done.stderr) == (REPORT + "0 []\n", "")


def test_answers_that_cannot_be_used_are_one_line_for_each_reason(folder):
    (folder / "a.tsv").write_text(shipped("answers"))
    (folder / "r.jsonl").write_text('{"process_id": 1, "answers": ["I cannot say."]}\n')
    for command in ("check", "score-answers"):
        found = [
            line for line in run([command, "r.jsonl", "-a", "a.tsv"]).out.splitlines() if "used:" in line
        ]
        assert found == [
            "Sample 1: 1 of 14 answers could not be used: The answer contains no JSON (process 1)",
            "Sample 1: 13 of 14 answers could not be used: The answer is empty (processes 2, 3, 4, 5, 6 and 8 more)",
        ]


def test_a_warning_begins_with_how_often_it_was_found(folder):
    (folder / "p.tsv").write_text(LIGHT + LIGHT)
    out = run(["check", "p.tsv", "-a", "a.tsv"]).out
    assert "Warning: 8 × a step has several rows: the last one counts.\n" in out


def test_answers_given_as_sentences_are_refused_where_the_reference_takes_them(folder):
    for command in (["check", "p.tsv"], ["prompts"]):
        done = run([*command, "-a", "a.tsv", "-s", "a.tsv"])
        assert (done.code, done.out) == (2, "")
        assert "8 lines have 6 columns, not 3." in done.err
    assert run(["evaluate", "-p", "p.tsv", "-a", "a.tsv", "-s", "a.tsv", "-d", "d.txt"]).code == 0
