"""Agent server for the demo and the tests, without a model, key or network.

Implements neuro-san's URLs and stream, as a WSGI application (`python -m lmgym.agents.demo_server [--host 127.0.0.1]
[--port 8080] [--version 2.0]`) and as a transport (`DemoTransport`). Its agents:

    echo         "echo: <text>"
    music_nerd   Yellow Submarine -> The Beatles, and remembers the question; otherwise "I do not know."
    music_nerd_pro  the same answers as a structure, with a running cost
    math_guy     computes with x and y from the private data (plus, minus, times, over; or add, subtract, multiply,
                 divide) and returns `equals`
    judge        replies pass if all 'quoted' words of the criterion are in the sample, otherwise fail; replies with
                 both words if the criterion contains EQUIVOCATE
    namer        explains why an answer failed: the number of a known reason that fits, or a new reason
    broken       reports a model error as real servers do: with status 200, after retries; not listed
    hidden       like echo, but not listed
    basic/echo   like echo, with a slash in its name

In any text, SLEEP(x) waits x seconds. To a text with FLAKY, echo and the music agents give two answers in turn.
Version 2.0 has a regression for demonstrations: its agents forget earlier turns.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import math
import re
import socketserver
import time
import wsgiref.simple_server
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from lmgym.agents.cases import TestCase
from lmgym.agents.driver import Options
from lmgym.agents.protocol import chat_context, history_of
from lmgym.agents.transport import Deadline, TransportError

UNKNOWN = "I do not know."
OPERATORS: dict[str, Callable[[float, float], float]] = {
    "plus": lambda x, y: x + y,
    "minus": lambda x, y: x - y,
    "times": lambda x, y: x * y,
    "over": lambda x, y: x / y,
}
VERBS = {"add": "plus", "subtract": "minus", "multiply": "times", "divide": "over"}
PAUSE = re.compile(r"SLEEP\((\d+(?:\.\d+)?)\)")


@dataclass
class Reply:
    """An agent's reply. `steps`: intermediate messages, sent only if the request asks for MAXIMAL."""

    text: str
    structure: dict[str, Any] | None = None
    sly_data: dict[str, Any] | None = None
    steps: list[dict[str, Any]] = field(default_factory=list)
    retries: int = 0


@dataclass(frozen=True)
class Request:
    text: str
    history: list[str]
    sly_data: dict[str, Any]
    flaky: itertools.count[int]


def _music(request: Request) -> str:
    if "FLAKY" in request.text:
        return "Hello world" if next(request.flaky) % 2 else UNKNOWN
    if "yellow submarine" in request.text.lower():
        return "The Beatles"
    if "where" in request.text.lower() and any(
        "yellow submarine" in text.lower() for text in request.history
    ):
        return "Liverpool, England"
    return UNKNOWN


def music_nerd(request: Request) -> Reply:
    return Reply(_music(request))


def music_nerd_pro(request: Request) -> Reply:
    cost = 3.0 * (len(request.history) + 1)
    return Reply("", {"answer": _music(request), "running_cost": cost})


def echo(request: Request) -> Reply:
    if "FLAKY" in request.text:
        return Reply("Hello world" if next(request.flaky) % 2 else "Goodbye moon")
    return Reply(f"echo: {request.text}")


def math_guy(request: Request) -> Reply:
    match = re.search("|".join([*OPERATORS, *VERBS]), request.text, re.IGNORECASE)
    operands = [request.sly_data.get(name) for name in ("x", "y")]
    if match is None or not all(isinstance(value, int | float) for value in operands):
        return Reply("I need an operator, and the numbers x and y in the private data.")
    name = VERBS.get(match[0].lower(), match[0].lower())
    if name == "over" and not operands[1]:
        return Reply("Division by zero has no result.")
    equals = float(OPERATORS[name](float(operands[0] or 0), float(operands[1] or 0)))
    steps: list[dict[str, Any]] = [
        {
            "type": "AGENT",
            "text": "Invoking: `calculator` with:",
            "structure": {"invoked_agent_name": "calculator"},
        },
        {"type": "AGENT_TOOL_RESULT", "text": json.dumps({"answer": "see sly_data", "op": name})},
    ]
    return Reply("", {"answer": "see sly_data", "op": name}, {"equals": equals}, steps)


def judge(request: Request) -> Reply:
    criterion, _, sample = request.text.rpartition("Criterion:\n")[2].partition("\n\n<<<")
    if not sample:
        criterion, _, sample = request.text.partition("text_sample is:")
    if "EQUIVOCATE" in criterion:
        return Reply("It could pass or fail.")
    words = re.findall(r"'([^']+)'", criterion)
    return Reply("pass" if words and all(word.lower() in sample.lower() for word in words) else "fail")


def namer(request: Request) -> Reply:
    known, _, rest = request.text.partition("Known reasons:\n")[2].partition("\n\n<<<")
    sample = rest.partition("\n")[2].rpartition("\n<<<")[0]
    words = re.findall(r"[^\W\d_]{4,}", sample)
    for line in known.split("\n"):
        number, _, reason = line.partition(". ")
        quoted = re.search(r"‘(.+)’", reason)
        if number.isdigit() and quoted and quoted[1].lower() in map(str.lower, words):
            return Reply(number)
    return Reply(f"NEW: It speaks of ‘{words[0].lower()}’." if words else "I cannot say.")


def broken(request: Request) -> Reply:
    return Reply("Error from broken: Agent stopped due to exception Connection error.", retries=3)


@dataclass(frozen=True)
class Agent:
    answer: Callable[[Request], Reply]
    description: str
    public: bool = True
    tools: tuple[str, ...] = ()


AGENTS = {
    "echo": Agent(echo, "Repeats the message."),
    "music_nerd": Agent(music_nerd, "Knows one song, and remembers earlier questions."),
    "music_nerd_pro": Agent(music_nerd_pro, "Knows one song; answers with a structure and a running cost."),
    "math_guy": Agent(math_guy, "Calculates with numbers from the private data.", tools=("calculator",)),
    "judge": Agent(judge, "Judges whether a text meets a criterion."),
    "namer": Agent(namer, "Explains why an answer does not meet a criterion."),
    "broken": Agent(broken, "Its model is never available.", public=False),
    "hidden": Agent(echo, "Answers, but is not listed.", public=False),
    "basic/echo": Agent(echo, "Has a slash in its name."),
}
ALIASES = {"music": "music_nerd", "calc": "math_guy"}


def find(name: str) -> Agent | None:
    return AGENTS.get(ALIASES.get(name, name))


# --- the server ---

VERSION = "1.0"
FORGETFUL = "2.0"
MAX_BODY = 2_000_000
MAX_PAUSE = 600.0
SLICE = 0.05


class DemoServer:
    """Demo server. Its only state is the counter that makes FLAKY alternate."""

    def __init__(self, sleep: Callable[[float], None] = time.sleep, version: str = "") -> None:
        self.flaky = itertools.count()
        self.sleep = sleep
        self._version = version

    @property
    def version(self) -> str:
        return self._version or VERSION

    # --- GET ---

    def get(self, path: str) -> Any:
        """Return the JSON response to a GET request, or None for an unknown path."""
        if path in ("/", "/healthz", "/readyz", "/livez"):
            return {"service": "gym.Agent", "status": "ok", "versions": {"lm-gym-embedded": self.version}}
        if path == "/api/v1/list":
            return {
                "agents": [
                    {"agent_name": name, "description": agent.description, "tags": ["demo"]}
                    for name, agent in AGENTS.items()
                    if agent.public
                ]
            }
        name, _, kind = path.removeprefix("/api/v1/").rpartition("/")
        agent = find(name)
        if agent is None or not path.startswith("/api/v1/"):
            return None
        if kind == "function":
            return {"function": {"description": agent.description}}
        if kind == "connectivity":
            front = {"origin": name, "tools": list(agent.tools), "display_as": "llm_agent"}
            tools = [{"origin": tool, "tools": [], "display_as": "coded_tool"} for tool in agent.tools]
            return {"connectivity_info": [front, *tools], "metadata": {"description": agent.description}}
        return None

    # --- chat ---

    def lines(self, name: str, body: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Yield the JSON lines of an existing agent's answer."""
        agent = find(name)
        assert agent is not None
        message = body.get("user_message")
        text = message.get("text") if isinstance(message, dict) else None
        if text is None:
            yield {}
            return
        earlier = [text for kind, text in history_of(body.get("chat_context")) if kind == "HUMAN"]
        if self.version == FORGETFUL:
            earlier = []
        sly_data = body.get("sly_data")
        request = Request(str(text), earlier, sly_data if isinstance(sly_data, dict) else {}, self.flaky)
        if pause := PAUSE.search(request.text):
            self.sleep(min(float(pause[1]), MAX_PAUSE))
        yield from self._messages(name, body, request, agent.answer(request))

    def _messages(
        self, name: str, body: dict[str, Any], request: Request, reply: Reply
    ) -> Iterator[dict[str, Any]]:
        origin = [{"tool": name, "instantiation_index": 1}]
        answer = reply.text or json.dumps(reply.structure)
        chat_filter = (body.get("chat_filter") or {}).get("chat_filter_type", "MINIMAL")
        maximal = str(chat_filter).upper() == "MAXIMAL"

        def line(kind: str, text: str, **more: Any) -> dict[str, Any]:
            message: dict[str, Any] = {"response": {"type": kind, "text": text, "origin": origin, **more}}
            return {**message, "request": body} if maximal else message

        for _ in range(reply.retries):
            yield line(
                "AGENT_FRAMEWORK",
                "Retrying: the model returned an error - Connection error.",
                chat_context={},
            )
        if maximal:
            yield line("SYSTEM", AGENTS[ALIASES.get(name, name)].description)
            yield line("HUMAN", request.text)
            for step in reply.steps:
                yield line(
                    step["type"], step["text"], **{k: v for k, v in step.items() if k not in ("type", "text")}
                )
            prompt, completion = len(request.text.split()), len(answer.split())
            counts = {
                "prompt_tokens": prompt,
                "completion_tokens": completion,
                "total_tokens": prompt + completion,
            }
            yield line("AGENT", "", structure={**counts, "total_cost": 0.0, "successful_requests": 1})
        turns = [*history_of(body.get("chat_context")), ("HUMAN", request.text), ("AI", answer)]
        more: dict[str, Any] = {"chat_context": chat_context(origin, turns)}
        if reply.structure is not None:
            more["structure"] = reply.structure
        if reply.sly_data is not None:
            more["sly_data"] = reply.sly_data
        yield line("AGENT_FRAMEWORK", reply.text, **more)

    # --- WSGI ---

    def __call__(self, environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        path, method = environ.get("PATH_INFO", "/"), environ.get("REQUEST_METHOD", "GET")
        if method == "POST" and path.startswith("/api/v1/") and path.endswith("/streaming_chat"):
            return self._chat(path.removeprefix("/api/v1/").removesuffix("/streaming_chat"), environ, start)
        body = self.get(path) if method == "GET" else None
        if body is None:
            start("404 Not Found", [("Content-Type", "application/json"), ("Content-Length", "0")])
            return []
        start("200 OK", [("Content-Type", "application/json")])
        return [json.dumps(body).encode()]

    def _chat(self, name: str, environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        length = int(environ.get("CONTENT_LENGTH") or 0)
        raw = environ["wsgi.input"].read(min(length, MAX_BODY))
        if find(name) is None:
            start("404 Not Found", [("Content-Length", "0")])
            return []
        try:
            body = json.loads(raw or b"{}")
            if not isinstance(body, dict):
                raise ValueError
        except ValueError:
            start("400 Bad Request", [("Content-Type", "application/json")])
            return [b'{"error": "Invalid JSON format"}']
        start("200 OK", [("Content-Type", "application/json-lines")])
        return (json.dumps(line).encode() + b"\n" for line in self.lines(name, body))


class DemoTransport:
    """Transport to a demo server in this process. A deadline also interrupts an agent's SLEEP."""

    secrets: tuple[str, ...] = ()
    unsent: tuple[str, ...] = ()
    scheme = ""

    def __init__(self, server: DemoServer | None = None) -> None:
        self.server = server or DemoServer()

    def chat(
        self, agent: str, body: dict[str, Any], headers: Mapping[str, str], deadline: Deadline
    ) -> Iterator[bytes]:
        if find(agent) is None:
            raise TransportError("status", f"The server has no agent {agent!r} (404).")

        def sleep(seconds: float) -> None:
            until = time.monotonic() + seconds
            while time.monotonic() < until:
                deadline.check()
                time.sleep(min(SLICE, max(0.0, until - time.monotonic())))

        serving = DemoServer(sleep)
        serving.flaky = self.server.flaky
        for line in serving.lines(agent, json.loads(json.dumps(body))):
            yield json.dumps(line).encode() + b"\n"

    def get(self, path: str, deadline: Deadline) -> Any:
        body = self.server.get(path)
        if body is None:
            raise TransportError("status", "The server has no such path (404).")
        return body


# --- minimum duration of a test case ---


def least_seconds(case: TestCase, options: Options) -> float:
    """Return a lower bound on the wall-clock seconds for all iterations, computed from their pauses and timeouts. With
    early stop, the ratio is assumed to be decided as soon as possible.
    """
    iterations = case.ratio.iterations
    if options.early_stop:
        needed = case.ratio.required(options.reading)
        iterations = max(1, min(needed, iterations - needed + 1))
    per_iteration = _conversation(case, options) * len(case.connections)
    if case.timeout is not None:
        per_iteration = min(per_iteration, case.timeout)
    total = per_iteration * math.ceil(iterations / max(1, options.parallel))
    if case.timeout is not None and options.reading == "document":
        total = min(total, case.timeout)
    return total


def _conversation(case: TestCase, options: Options) -> float:
    """Return the seconds that one iteration takes over one connection. A turn that times out ends the iteration."""
    seconds = 0.0
    for turn in case.interactions:
        pause = PAUSE.search(turn.text or "")
        requested = min(float(pause[1]), MAX_PAUSE) if pause else 0.0
        limit = (
            options.request_seconds if turn.timeout is None else min(turn.timeout, options.request_seconds)
        )
        seconds += min(requested, limit)
        if requested > limit:
            break
    return seconds


# --- the command ---


class Server(socketserver.ThreadingMixIn, wsgiref.simple_server.WSGIServer):
    daemon_threads = True


class Quiet(wsgiref.simple_server.WSGIRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


def make_server(
    host: str = "127.0.0.1", port: int = 0, version: str = ""
) -> wsgiref.simple_server.WSGIServer:
    """Return a server that is not serving yet. Port 0 selects a free port."""
    return wsgiref.simple_server.make_server(
        host, port, DemoServer(version=version), server_class=Server, handler_class=Quiet
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Serve the demo agents.")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8080)
    parser.add_argument(
        "--version",
        choices=[VERSION, FORGETFUL],
        default=VERSION,
        help="version that the server reports; 2.0 forgets earlier turns",
    )
    args = parser.parse_args()
    with (
        contextlib.suppress(KeyboardInterrupt),
        make_server(args.host, args.port, args.version) as server,
    ):
        server.serve_forever()


if __name__ == "__main__":
    main()
