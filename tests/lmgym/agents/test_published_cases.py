"""Recorded cases give the recorded results, on the demo agents and on a real neuro-san server if there is one."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
import urllib.request
from pathlib import Path

import pytest

from lmgym import net
from lmgym.agents.case_reader import read_case
from lmgym.agents.cases import CaseError
from lmgym.agents.demo_server import DemoTransport
from lmgym.agents.driver import Options, run_case
from lmgym.agents.llm_judge import AgentJudge, VotingJudge
from lmgym.agents.transport import HTTPTransport

pytestmark = pytest.mark.published
REFUSED = "refused"
TALKS = "echo: SLEEP"

# Results of neuro-san 0.7.15 for each case (outcome, passed, made), and by the document where they differ.
RECORDED = {
    "assess": (("fail", 0, 6), None),
    "assess_1_6": (("fail", 0, 6), None),
    "bad_agent": (("error", 0, 1), None),
    "conn_bad": (REFUSED, None),
    "conn_empty": (("fail", 0, 1), None),
    "conn_list": (("pass", 1, 1), None),
    "cont_false_on_first": (("pass", 1, 1), None),
    "cont_false_on_second": (("pass", 1, 1), None),
    "cont_true": (("pass", 1, 1), None),
    "gist_equiv": (("fail", 0, 1), ("error", 0, 1)),
    "maximal": (("pass", 1, 1), None),
    "metadata": (("pass", 1, 1), None),
    "metadata_int": (("error", 0, 1), ("pass", 1, 1)),
    "mini_calc": (("pass", 3, 3), None),
    "mini_echo": (("pass", 1, 1), None),
    "no_agent": (REFUSED, None),
    "no_interactions": (("fail", 0, 1), None),
    "no_response": (("pass", 1, 1), None),
    "no_text": (("fail", 0, 1), None),
    "sly_carry": (("pass", 1, 1), ("fail", 0, 1)),
    "sr_0_0_fail": (("fail", 0, 1), ("pass", 0, 1)),
    "sr_0_2_fail": (("fail", 0, 2), ("pass", 0, 2)),
    "sr_1_3_fail": (("fail", 0, 3), None),
    "sr_2_4": (("pass", 2, 4), None),
    "sr_3_2": (("pass", 2, 2), None),
    "sr_float": (REFUSED, None),
    "sr_int": (REFUSED, None),
    "sr_noslash": (REFUSED, None),
    "sr_spaces": (("pass", 2, 2), None),
    "to_inter": (("timeout", 0, 1), None),
    "to_neg": (("timeout", 0, 1), None),
    "to_test": (("timeout", 0, 1), None),
    "to_zero": (("timeout", 0, 1), None),
    "type_error": (("error", 0, 2), ("error", 0, 1)),
    "use_env": (("fail", 0, 1), None),
}
NOT_THERE = {"maximal": "answers of the stock agent music_nerd_pro come from a paid model"}


def test_there_is_a_row_for_every_case(conformance):
    assert {path.stem for path in (conformance / "neurosan" / "cases").glob("*.hocon")} == set(RECORDED)


def outcome(text: str, transport, reading: str):
    try:
        case = read_case(text)
    except CaseError:
        return REFUSED
    compatible = reading == "reference-compatible"
    judge = VotingJudge(
        AgentJudge(transport, "judge", compiled=compatible),
        compatible=compatible,
    )
    result = run_case(case, transport, judge, Options(reading=reading))
    return result.outcome, result.passed, result.n + result.errors


@pytest.mark.parametrize("name", RECORDED)
def test_on_the_embedded_agents(conformance, name):
    text = (conformance / "neurosan" / "cases" / f"{name}.hocon").read_text()
    code, document = RECORDED[name]
    assert outcome(text, DemoTransport(), "reference-compatible") == code
    assert outcome(text, DemoTransport(), "document") == (document or code)


def python_with_neuro_san() -> str:
    """Return an interpreter that has neuro-san 0.7.15, or skip the test with the reason."""
    named = os.environ.get("GYM_NEURO_SAN_PYTHON")
    python = named or shutil.which("python3.12")
    if not python:
        pytest.skip("no Python 3.12 with neuro-san 0.7.15 (name one in GYM_NEURO_SAN_PYTHON)")
    ask = "from importlib.metadata import version; print(version('neuro-san'))"
    found = subprocess.run([python, "-c", ask], capture_output=True, text=True, check=False)
    if found.stdout.strip() != "0.7.15":
        pytest.skip(f"{python} has no neuro-san 0.7.15 (name one that has it in GYM_NEURO_SAN_PYTHON)")
    return python


def free_port() -> int:
    """Return a free port whose successor is also free."""
    while True:
        with socket.socket() as one, socket.socket() as two:
            one.bind(("127.0.0.1", 0))
            port = one.getsockname()[1]
            try:
                two.bind(("127.0.0.1", port + 1))
            except OSError:
                continue
            return port


@pytest.fixture(scope="module")
def neuro_san(conformance, tmp_path_factory):
    """A real server on loopback with the deterministic agents of the conformance folder."""
    python, port = python_with_neuro_san(), free_port()
    here = conformance / "neurosan" / "server"
    log = Path(tmp_path_factory.mktemp("neuro-san")) / "log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            ["bash", str(here / "start.sh"), python, str(port)],
            stdout=out, stderr=out, start_new_session=True,
            env={"PATH": os.environ["PATH"], "HOME": str(log.parent), "PYTHONPYCACHEPREFIX": str(log.parent)},
            cwd=log.parent,
        )  # fmt: skip
    url = f"http://127.0.0.1:{port}"
    try:
        until = time.monotonic() + 300  # it compiles neuro-san first
        while True:
            assert process.poll() is None, log.read_text()[-2000:]
            try:
                urllib.request.urlopen(f"{url}/healthz", timeout=1).read()
                break
            except OSError:
                assert time.monotonic() < until, log.read_text()[-2000:]
                time.sleep(0.3)
        yield HTTPTransport(url, policy=lambda **limits: net.NetPolicy.allowing("127.0.0.1", **limits))
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(10)


AGENTS = {"agent: music_nerd,": "agent: music,", "agent: math_guy,": "agent: calc,"}
ANSWERS = {'keywords: "know"': 'keywords: "echo"', '"do not know"': '"Hello world"'}
"""Replacements in the cases, as the local server's agents word their answers differently from ours."""


@pytest.mark.foreign
@pytest.mark.parametrize("name", RECORDED)
def test_on_a_real_server(conformance, neuro_san, name):
    if name in NOT_THERE:
        pytest.skip(NOT_THERE[name])
    text = (conformance / "neurosan" / "cases" / f"{name}.hocon").read_text()
    for ours, theirs in (AGENTS | ANSWERS).items():
        text = text.replace(ours, theirs)
    code, document = RECORDED[name]
    assert outcome(text, neuro_san, "reference-compatible") == code
    assert outcome(text, neuro_san, "document") == (document or code)


@pytest.mark.foreign
def test_a_real_servers_transcript_tokens_and_graph(neuro_san):
    from lmgym.agents.transport import Deadline

    until = Deadline(time.monotonic() + 20)
    assert neuro_san.get("/healthz", until)["versions"]["neuro-san"] == "0.7.15"
    names = {agent["agent_name"] for agent in neuro_san.get("/api/v1/list", until)["agents"]}
    assert {"echo", "calc"} <= names
    assert "hidden" not in names
    graph = neuro_san.get("/api/v1/calc/connectivity", until)["connectivity_info"]
    assert {node["origin"] for node in graph} == {"calc", "calculator"}
    turn = "{text: times, sly_data: {x: 6, y: 7}, response: {sly_data: {equals: {value: 42}}}}"
    text = f"agent: calc, interactions: [{turn}]"
    result = run_case(read_case(text), neuro_san)
    assert result.outcome == "pass"
    assert result.tokens["total_tokens"] > 0
    kinds = [message["type"] for message in result.iterations[0].turns[0].messages]
    assert {"SYSTEM", "HUMAN", "AGENT", "AGENT_FRAMEWORK"} <= set(kinds)
