"""`lmgym agents agenttest` and `assess`, and their reports."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from lmgym.agents import cli, reports
from lmgym.agents.failures import iteration_rows, lines_of
from lmgym.agents.tables import IterationRow
from lmgym.agents.transport import TransportError
from lmgym.text.columns import header
from tests.lmgym.agents.helpers import Scripted, demo_server_url, judge_saying, run, said, says
from tests.lmgym.net.hostile import answer, server

ROOT = Path(__file__).parents[2]
GOOD = "agent: echo, interactions: [{text: hello, response: {text: {keywords: hello}}}]"
BAD = "agent: echo, success_ratio: 2/2, interactions: [{text: hello, response: {text: {keywords: bye}}}]"


@pytest.fixture
def files(tmp_path):
    for name, text in (("good", GOOD), ("bad", BAD), ("wrong", "agent: ")):
        (tmp_path / f"{name}.hocon").write_text(text)
    return tmp_path


def agenttest(*arguments) -> int:
    return cli.main(["agenttest", *map(str, arguments)])


def assess(*arguments) -> int:
    return cli.main(["assess", *map(str, arguments)])


def test_the_exit_status_tells(files, capsys):
    assert agenttest(files / "good.hocon", "--server", "embedded") == 0
    assert agenttest(files / "good.hocon", files / "bad.hocon", "--server", "embedded") == 1
    assert agenttest(files / "wrong.hocon", "--server", "embedded") == 2
    assert agenttest(files / "absent.hocon", "--server", "embedded") == 2
    assert agenttest(files / "good.hocon", "--server", "ftp://x") == 2
    assert "line 1" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("response", "why"),
    [
        ("text: {keyword: zebra}", "there is no test 'keyword'."),
        ("txet: {keywords: zebra}", "answers have no part 'txet'."),
        ("text: zebra", "no test is named."),
        ("text: null", "null checks nothing."),
        ("sly_data: {reservation_id: {}}", "an empty object checks nothing."),
    ],
)
@pytest.mark.parametrize("words", [(), ("--reference-compatible",)])
def test_a_case_whose_checks_are_all_misspelt_is_skipped_and_no_green_test(
    tmp_path, capsys, response, why, words
):
    (tmp_path / "typo.hocon").write_text(
        f"agent: echo, interactions: [{{text: hello, response: {{{response}}}}}]"
    )
    (tmp_path / "good.hocon").write_text(GOOD)
    given = (tmp_path, "--server", "embedded", *words)
    assert agenttest(*given, "--format", "junit") == 2
    good, typo = ET.fromstring(capsys.readouterr().out)
    assert [good.get("skipped"), good.get("failures")] == ["0", "0"]
    assert [note.get("message") for note in typo.iter("skipped")] == [f"No checks were run: {why}"] * 2
    assert agenttest(*given) == 2
    out = capsys.readouterr().out
    assert f"        No checks were run: {why}\n" in out
    assert "1 of 2 cases passed" in out
    assert agenttest(*given, "--format", "json") == 2
    found = json.loads(capsys.readouterr().out)
    assert [row["outcome"] for row in found["results"]] == ["pass", "skipped"]
    assert (found["results"][1]["unchecked"], found["passed"]) == (f"No checks were run: {why}", False)


def test_a_case_that_asks_for_nothing_passes_when_the_agent_answers(tmp_path):
    (tmp_path / "smoke.hocon").write_text("agent: echo, interactions: [{text: hello}]")
    assert agenttest(tmp_path / "smoke.hocon", "--server", "embedded") == 0


def test_strict_makes_warnings_errors(tmp_path, capsys):
    mixed = GOOD.replace("keywords: hello", "keywords: hello, keyword: zebra")
    (tmp_path / "mixed.hocon").write_text(mixed)
    given = (tmp_path / "mixed.hocon", "--server", "embedded")
    assert agenttest(*given) == 0
    assert "Did you mean keywords?" in capsys.readouterr().err
    assert agenttest(*given, "--strict", "--format", "junit") == 2
    (suite,) = ET.fromstring(capsys.readouterr().out)
    assert (suite.get("tests"), suite.get("errors")) == ("1", "1")
    assert "There is no test keyword" in suite.find("testcase/error").get("message")
    assert assess(*given, "--strict") == 2
    (tmp_path / "good.hocon").write_text(GOOD.replace("keywords: hello", 'regex: "h"'))
    assert agenttest(tmp_path / "good.hocon", "--server", "embedded", "--strict") == 0, (
        "a remark is no warning"
    )


def test_a_server_that_nobody_reaches_is_asked_once_and_is_no_failed_test(files, capsys, monkeypatch):
    monkeypatch.chdir(files)
    for name in ("one", "two"):
        (files / f"{name}.hocon").write_text(BAD.replace("2/2", "8/8"))
    dead = (files, "--server", "http://127.0.0.1:9", "--format", "json")
    (files / "wrong.hocon").unlink()
    assert agenttest(*dead) == 3
    results = json.loads(capsys.readouterr().out)["results"]
    assert [row["file"] for row in results] == ["bad.hocon", "good.hocon", "one.hocon", "two.hocon"]
    messages = [made["message"] for row in results for made in row["iterations"]]
    assert messages.count("Not sent: earlier requests did not reach the server.") == len(messages) - 1
    assert agenttest(files / "one.hocon", *dead[1:3]) == 3
    why = capsys.readouterr().out
    assert ", 0 checks run" in why
    assert why.index("No connection") < why.index("Not sent"), "the cause comes first"
    assert assess(files / "one.hocon", *dead[1:3]) == 3
    assert agenttest(files / "one.hocon", "--server", "embedded", "--judge", "x") == 1


@pytest.mark.parametrize("command", ["agenttest", "assess"])
def test_an_output_that_cannot_be_written_is_said_before_anything_is_run(files, monkeypatch, capsys, command):
    monkeypatch.setattr("lmgym.agents.cli.run_case", pytest.fail)
    given = [str(files / "good.hocon"), "--server", "embedded", "--output", str(files / "no" / "x")]
    assert cli.main([command, *given]) == 2
    assert "Cannot write" in capsys.readouterr().err


def test_the_table_says_what_failed(files, capsys):
    agenttest(files, "--server", "embedded")
    out = capsys.readouterr().out
    assert "PASS    " in out
    assert "0/2 (0.00 to 0.66), 2/2 needed, 2 checks run" in out
    assert (
        '        turn 1, iterations 1, 2: answered "echo: hello"\n'
        '          fail: interactions[0].response.text.keywords: expected "bye" in answer "echo: hello"\n'
    ) in out
    assert "1 of 3 cases passed" in out


def test_json_and_junit_and_a_real_server(files, capsys):
    with demo_server_url() as url:
        assert agenttest(files / "good.hocon", files / "bad.hocon", "--server", url, "--format", "json") == 1
        data = json.loads(capsys.readouterr().out)
        assert [result["outcome"] for result in data["results"]] == ["pass", "fail"]
        assert (
            agenttest(files / "bad.hocon", "--server", url, "--format", "junit", "-o", files / "out.xml") == 1
        )
    suite = ET.parse(files / "out.xml").getroot()[0]
    assert (suite.get("tests"), suite.get("failures")) == ("3", "3")
    failure = suite.find("testcase").find("failure")
    assert failure.get("message") == "0 of 2 iterations passed, 2 needed"
    assert 'turn 1, iterations 1, 2: answered "echo: hello"' in failure.text
    assert 'expected "bye" in answer "echo: hello"' in failure.text
    assert all('expected "bye"' in one.find("failure").text for one in suite.findall("testcase"))


def test_failures_are_grouped_by_turn_and_answer_with_the_judges_reason():
    text = 'agent: a, success_ratio: "4/4", interactions: [{text: q, response: {text: {gist: Is kind}}}, {text: r}]'
    answers = iter(["no", "yes", "no", TransportError("status", "The server answered 500.")])

    def answer(body):
        return said("fine") if body["user_message"]["text"] == "r" else said_or_error(next(answers))

    def said_or_error(given):
        return given if isinstance(given, Exception) else said(given)

    judge = judge_saying("fail: it is rude", "pass", "fail: it is rude")
    result = run(text, Scripted(answer), judge=judge, parallel=1)
    assert lines_of(result) == [
        'turn 1, iterations 1, 3: answered "no"',
        '  fail: interactions[0].response.text.gist "Is kind": The judge says fail; expected pass: it is rude',
        "turn 1, iteration 4: error: The server answered 500.",
    ]
    header_and_rows = [
        dict(zip(header(IterationRow), row, strict=True)) for row in iteration_rows([("kind", result)])
    ]
    assert [row["outcome"] for row in header_and_rows] == ["fail", "pass", "fail", "error"]
    told = [header_and_rows[0][name] for name in ("failed_turn", "criterion", "answer", "reason")]
    assert told == [1, "Is kind", "no", "The judge says fail; expected pass: it is rude"]
    assert header_and_rows[3]["reason"] == "The server answered 500."


def test_what_was_compared_and_why_it_failed_are_set_apart():
    text = "agent: a, interactions: [{text: q, response: {structure: {n: {less: abc}, none: {value: 1}}}}]"
    result = run(text, says("x", structure={"n": 7.0}))
    assert lines_of(result)[1:] == [
        '  error: interactions[0].response.structure.n.less: expected "abc", answer 7.0: '
        "text and a number cannot be ordered",
        "  fail: interactions[0].response.structure.none.value: no such value in the answer",
    ]
    unclear = run(
        text.replace("structure: {n: {less: abc}, none: {value: 1}}", "text: {gist: Is kind}"),
        says("x"),
        judge=judge_saying("perhaps"),
    )
    assert ": The judge gave no verdict; expected pass: " in lines_of(unclear)[1]


def test_no_iteration_that_did_not_pass_looks_passed_in_junit():
    """A failed iteration of a passed case is skipped in JUnit with the reason, so that builds stay green."""
    text = 'agent: a, success_ratio: "1/2", interactions: [{text: q, response: {text: {keywords: yes}}}]'
    answers = iter(["yes", "no"])
    result = run(text, Scripted(lambda body: said(next(answers))), parallel=1)
    assert result.outcome == "pass"
    suite = ET.fromstring(reports.junit([("case", result)]))[0]
    assert [suite.get(key) for key in ("tests", "failures", "errors", "skipped")] == ["3", "0", "0", "1"]
    note = suite.findall("testcase")[2].find("skipped")
    assert note.get("message") == "fail, but enough other iterations passed"
    assert 'expected "yes" in answer "no"' in note.text


def test_a_rate_that_stopped_early_has_no_interval_in_reports(files, capsys):
    (files / "early.hocon").write_text(GOOD.replace("agent: echo", "agent: echo, success_ratio: 1/5"))
    assert agenttest(files / "early.hocon", "--server", "embedded", "--early-stop", "--parallel", "1") == 0
    assert "1/1 (stops early), 1/5 needed" in capsys.readouterr().out


def test_junit_survives_anything_an_agent_says():
    text = "agent: a, interactions: [{text: q, response: {text: {keywords: x}}}]"
    result = run(text, says("\x1b[31m]]></x>\0\ufffe&amp;"))
    ET.fromstring(reports.junit([("a\x08b", result)]))
    assert "\x1b" not in reports.table([("a", result)])


def test_variables_and_headers_come_from_the_environment_by_name(files, capsys, monkeypatch):
    monkeypatch.setenv("HER_KEY", "hush-hush")
    (files / "key.hocon").write_text(
        "agent: echo, interactions: [{text: ${HER_KEY}, response: {text: {keywords: ${HER_KEY}}}}]"
    )
    assert agenttest(files / "key.hocon", "--server", "embedded") == 2
    assert (
        agenttest(files / "key.hocon", "--server", "embedded", "--variable", "HER_KEY", "--format", "json")
        == 0
    )
    assert "hush" not in capsys.readouterr().out
    assert agenttest(files / "key.hocon", "--server", "embedded", "--variable", "NOT_SET") == 2
    assert agenttest(files / "good.hocon", "--server", "http://127.0.0.1:9", "--header", "A") == 2


def test_the_readings_differ_from_the_command_line(files):
    turn = "{text: times, sly_data: {x: 2, y: 2}, response: {sly_data: {equals: {less: 5}}}}"
    text = f"agent: math_guy, interactions: [{turn}]"
    (files / "less.hocon").write_text(text)
    assert agenttest(files / "less.hocon", "--server", "embedded") == 0
    assert agenttest(files / "less.hocon", "--server", "embedded", "--reference-compatible") == 1


def test_assess_prints_the_modes(files, capsys):
    turn = "{text: Yellow Submarine, response: {text: {gist: Mentions 'Stones'}}}"
    text = f"agent: music_nerd, success_ratio: 1/3, interactions: [{turn}]"
    (files / "gist.hocon").write_text(text)
    given = [files / "gist.hocon", "--server", "embedded", "--judge", "judge"]
    assert assess(*given) == 0
    assert "3/3 failures (100.00%):" in capsys.readouterr().out
    assert assess(*given, "--format", "json") == 0
    assert json.loads(capsys.readouterr().out)["iterations"] == {"passed": 0, "n": 3, "errors": 0}
    assert assess(files / "wrong.hocon", "--server", "embedded") == 2


def test_what_cannot_be_read_is_an_error_beside_the_results_of_the_others(files, capsys):
    absent = files / "absent.hocon"
    given = [files / "good.hocon", absent, files / "bad.hocon", "--server", "embedded", "--format", "junit"]
    assert agenttest(*given, "-o", files / "out.xml") == 2
    suites = ET.parse(files / "out.xml").getroot().findall("testsuite")
    assert [suite.get("name") for suite in suites] == [str(path) for path in (given[0], absent, given[2])]
    told = [(suite.get("errors") != "0", suite.get("failures") != "0") for suite in suites]
    assert told == [(False, False), (True, False), (False, True)]
    assert "No such file" in suites[1].find("testcase/error").get("message")
    assert "No such file" in capsys.readouterr().err
    agenttest(absent, "--server", "embedded")
    out = capsys.readouterr().out
    assert f"ERROR   {absent}\n        " in out
    assert "needed" not in out
    assert assess(absent, "--server", "embedded") == 2
    assert "No such file" in capsys.readouterr().err


def sends(line: str = "pass"):
    """Start a server that gives this answer and records its requests."""
    told = {"response": {"type": "AGENT_FRAMEWORK", "text": line, "chat_context": {}}}
    return server(answer(json.dumps(told).encode()))


def test_the_judge_on_another_host_gets_its_own_headers_alone(files, monkeypatch, capsys):
    monkeypatch.setenv("AGENT_KEY", "Bearer for-the-agent")
    monkeypatch.setenv("JUDGE_KEY", "Bearer for-the-judge")
    (files / "gist.hocon").write_text(
        "agent: a, interactions: [{text: q, response: {text: {gist: It is so}}}]"
    )
    with sends() as agent, sends() as judge:
        given = [files / "gist.hocon", "--server", agent.url, "--judge", "j", "--judge-server", judge.url]
        keys = ["--header", "Authorization=AGENT_KEY", "--judge-header", "Authorization=JUDGE_KEY"]
        assert agenttest(*given, *keys) == 0
        assert agenttest(*given, *keys[:2]) == 0
    assert all(b"for-the-agent" in request for request in agent.seen)
    assert [b"for-the-judge" in request for request in judge.seen] == [True, False]
    assert not any(b"for-the-agent" in request for request in judge.seen)
    assert not any(b"for-the-judge" in request for request in agent.seen)
    assert agenttest(files / "good.hocon", "--server", "embedded", *keys[2:]) == 2


@pytest.mark.parametrize("form", ["table", "json", "junit"])
def test_no_output_holds_a_key_that_the_server_repeats(files, monkeypatch, capsys, form):
    monkeypatch.setenv("AGENT_KEY", "Bearer hush-hush")
    (files / "key.hocon").write_text(
        "agent: a, interactions: [{text: q, response: {text: {value: x}, structure: {keywords: y}}}]"
    )
    with sends("your key is hush-hush, or bearer hush-hush") as there:
        given = [files / "key.hocon", "--server", there.url, "--header", "Authorization=AGENT_KEY"]
        assert agenttest(*given, "--format", form) == 1
        assert assess(*given) == 0
    told = capsys.readouterr()
    assert "your key is •••" in told.out
    assert "hush" not in told.out + told.err


@pytest.mark.parametrize("form", ["table", "json", "junit"])
@pytest.mark.parametrize(
    "text",
    [
        "agent: echo, success_ratio: ${S}, interactions: [{text: q}]",
        "agent: ${S}, interactions: [{text: q, response: {text: {keywords: x}}}]",
        "agent: ${S}.hocon, interactions: [{text: q}]",
        "agent: echo, connections: ${S}, interactions: [{text: q}]",
        "agent: echo, ${S}",
        "agent: echo, use_direct: ${S}, interactions: [{text: q}]",
        "agent: echo, interactions: [{text: q, chat_filter: ${S}}]",
        "agent: echo, metadata: {x: ${S}}, interactions: [{text: q}]",
    ],
)
def test_a_variable_is_in_no_output_wherever_a_case_puts_it(files, monkeypatch, capsys, text, form):
    monkeypatch.setenv("S", "hush?hush")
    (files / "odd.hocon").write_text(text)
    agenttest(files / "odd.hocon", "--server", "embedded", "--variable", "S", "--format", form)
    told = capsys.readouterr()
    assert told.out
    assert "hush" not in told.out + told.err


def test_a_ratio_from_a_variable_counts_and_is_not_shown(files, monkeypatch, capsys):
    monkeypatch.setenv("S", "10/13/15")
    (files / "ratio.hocon").write_text(GOOD.replace("agent: echo", "agent: echo, success_ratio: ${S}"))
    given = [files / "ratio.hocon", "--server", "embedded", "--variable", "S", "--format", "json"]
    assert agenttest(*given) == 0
    told = capsys.readouterr()
    assert json.loads(told.out)["results"][0]["passed"] == 15
    assert "10/13/15" not in told.out + told.err


def test_a_variable_too_short_to_be_hidden_is_refused(files, monkeypatch, capsys):
    monkeypatch.setenv("S", "abc")
    assert agenttest(files / "good.hocon", "--server", "embedded", "--variable", "S") == 2


def test_an_address_with_a_password_is_not_repeated(files, capsys):
    assert agenttest(files / "good.hocon", "--server", "http://ann:hush-hush@127.0.0.1") == 2
    told = capsys.readouterr().err
    assert "hush" not in told
    assert "headers" in told


def test_it_needs_no_site_no_settings_and_no_database(files):
    without = "import sys; sys.modules['django'] = None"
    (files / "sitecustomize.py").write_text(without)
    done = subprocess.run(
        [sys.executable, "-m", "lmgym", "agents", "agenttest", files / "bad.hocon", "--server", "embedded"],
        capture_output=True, text=True, cwd=files, env={"PYTHONPATH": f"{files}:{ROOT}"}, timeout=60,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (1, "")
    assert "0/2 (0.00 to 0.66)" in done.stdout


def test_a_zip_archive_and_an_empty_folder_are_said_to_be_that(files, capsys):
    (files / "cases.zip").write_bytes(b"PK\x03\x04\xe1")
    assert agenttest(files / "cases.zip", "--server", "embedded") == 2
    assert "This is a zip archive. Unpack it and pass the folder." in capsys.readouterr().err
    (files / "none").mkdir()
    assert agenttest(files / "none", "--server", "embedded") == 2
    assert f"There are no test cases (.hocon, .conf, .json) in {files / 'none'}." in capsys.readouterr().err


def test_wrong_arguments_end_without_a_traceback(capsys):
    with pytest.raises(SystemExit) as left:
        cli.main(["agenttest"])
    assert left.value.code == 2
    assert "--server" in capsys.readouterr().err
