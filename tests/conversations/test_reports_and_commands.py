"""`manage.py agenttest` and `manage.py assess`, and what they write."""

from __future__ import annotations

import json
from xml.etree import ElementTree as ET

import pytest
from django.core.management import CommandError, call_command

from gym.conversations import reports
from tests.conversations.helpers import embedded_server, run, says

GOOD = "agent: echo, interactions: [{text: hello, response: {text: {keywords: hello}}}]"
BAD = "agent: echo, success_ratio: 2/2, interactions: [{text: hello, response: {text: {keywords: bye}}}]"


@pytest.fixture
def files(tmp_path):
    for name, text in (("good", GOOD), ("bad", BAD), ("wrong", "agent: ")):
        (tmp_path / f"{name}.hocon").write_text(text)
    return tmp_path


def agenttest(*arguments) -> int:
    try:
        call_command("agenttest", *map(str, arguments))
    except SystemExit as left:
        return left.code
    except CommandError as error:
        return error.returncode
    return 0


def test_the_exit_status_tells(files, capsys):
    assert agenttest(files / "good.hocon", "--server", "embedded") == 0
    assert agenttest(files / "good.hocon", files / "bad.hocon", "--server", "embedded") == 1
    assert agenttest(files / "wrong.hocon", "--server", "embedded") == 2
    assert agenttest(files / "absent.hocon", "--server", "embedded") == 2
    assert agenttest(files / "good.hocon", "--server", "ftp://x") == 2
    assert "line 1" in capsys.readouterr().err


def test_the_table_says_what_failed(files, capsys):
    agenttest(files, "--server", "embedded")
    out = capsys.readouterr().out
    assert "PASS    " in out
    assert "0/2 [0.00, 0.66], 2/2 needed, 2 checks made" in out
    assert (
        "fail: interactions[0].response.text.keywords: expected 'bye' in answer 'echo: hello' (2 times)"
        in out
    )
    assert "1 of 3 cases passed" in out


def test_json_and_junit_and_a_real_server(files, capsys):
    with embedded_server() as url:
        assert agenttest(files / "good.hocon", files / "bad.hocon", "--server", url, "--format", "json") == 1
        data = json.loads(capsys.readouterr().out)
        assert [result["outcome"] for result in data["results"]] == ["pass", "fail"]
        assert (
            agenttest(files / "bad.hocon", "--server", url, "--format", "junit", "-o", files / "out.xml") == 1
        )
    suite = ET.parse(files / "out.xml").getroot()[0]
    assert (suite.get("tests"), suite.get("failures")) == ("3", "1")
    assert suite[0].find("failure").get("message") == "0 of 2 iterations passed, 2 needed"


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
    call_command("assess", str(files / "gist.hocon"), "--server", "embedded", "--judge", "judge")
    assert "3/3 failures (100.00%):" in capsys.readouterr().out
    call_command(
        "assess", str(files / "gist.hocon"), "--server", "embedded", "--judge", "judge", "--format", "json"
    )
    assert json.loads(capsys.readouterr().out)["iterations"] == {"passed": 0, "made": 3}
    with pytest.raises(CommandError) as caught:
        call_command("assess", str(files / "wrong.hocon"), "--server", "embedded")
    assert caught.value.returncode == 2
