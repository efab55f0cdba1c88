"""Helpers to run cases: scripted agents, real servers, recorded expectations."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from lmgym.agents.case_reader import parse_case, read_case
from lmgym.agents.cases import CaseError
from lmgym.agents.demo_server import make_server
from lmgym.agents.driver import Options, run_case
from lmgym.agents.llm_judge import VotingJudge
from lmgym.agents.results import CaseResult
from lmgym.agents.transport import TransportError


class Scripted:
    """Transport that answers each request with a function of its body, and records the requests."""

    unsent: tuple[str, ...] = ()
    scheme = "http"

    def __init__(self, answer: Callable[[dict[str, Any]], Any], secrets: tuple[str, ...] = ()) -> None:
        self.answer = answer
        self.secrets = secrets
        self.asked: list[tuple[str, dict[str, Any], dict[str, str]]] = []
        self._lock = threading.Lock()

    def chat(self, agent, body, headers, deadline) -> Iterator[bytes]:
        with self._lock:
            self.asked.append((agent, json.loads(json.dumps(body)), dict(headers)))
        given = self.answer(body)
        if isinstance(given, Exception):
            raise given
        for line in given if isinstance(given, list) else [given]:
            yield line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n"

    def get(self, path, deadline):
        raise TransportError("status", "not here")


def said(text: str | None = None, **more: Any) -> dict[str, Any]:
    """Return one line as servers send it under the chat filter MINIMAL."""
    return {
        "response": {"type": "AGENT_FRAMEWORK", "text": text, "chat_context": {"chat_histories": []}, **more}
    }


def says(text: str | None = None, **more: Any) -> Scripted:
    return Scripted(lambda body: said(text, **more))


class ScriptedJudge:
    """Judge whose answers come from a list; the last answer is repeated."""

    def __init__(self, *answers: str, name: str = "scripted") -> None:
        self.answers = list(answers)
        self.name = name
        self.prompts: list[str] = []

    def __call__(self, prompt, deadline):
        self.prompts.append(prompt)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer, {"total_tokens": 5}


def run(
    text: str, transport: Any, reading: str = "document", judge: Any = None, **options: Any
) -> CaseResult:
    return run_case(read_case(text), transport, judge, Options(reading=reading, **options))


def one_check(part: str, test: str, actual: Any, reading: str = "document", judge: Any = None) -> Any:
    """Run the check `part: {test}` on an answer whose `part` is `actual`, and return the iteration."""
    more = {} if part == "text" else {part: actual}
    transport = says(actual if part == "text" else "x", **more)
    result = run(
        f"agent: a, interactions: [{{text: q, response: {{{part}: {{{test}}}}}}}]", transport, reading, judge
    )
    return result.iterations[0]


def outcomes(iteration: Any) -> list[str]:
    return [check.outcome for check in iteration.checks]


def judge_saying(*answers: str, **options: Any) -> VotingJudge:
    return VotingJudge(ScriptedJudge(*answers), **options)


def findings(text: str) -> dict[str, Any]:
    """Return the problems of a document, by code."""
    _, problems = parse_case(text)
    return {problem.code: problem for problem in problems}


def refused(text: str) -> str:
    """Return the reason why a document is not a test case."""
    with pytest.raises(CaseError) as caught:
        read_case(text)
    return str(caught.value)


@contextlib.contextmanager
def demo_server_url() -> Iterator[str]:
    """Serve the embedded agents on a real socket, and yield the address."""
    with make_server() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join(5)


def wait_for(true: Callable[[], bool], seconds: float = 10.0) -> None:
    until = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < until, "it did not happen in time"
        time.sleep(0.05)
