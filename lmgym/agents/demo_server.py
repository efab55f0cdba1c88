"""An agent server for the demo and the tests, without model, key or network. Pure.

neuro-san's addresses and stream, as a WSGI application and as a transport; `python -m lmgym.agents.demo_server
[--host 127.0.0.1] [--port 8080] [--version 2.0]` serves it, `DemoTransport` talks to it without any network. Its
agents:

    echo         "echo: <text>"
    music_nerd   Yellow Submarine -> The Beatles, and remembers it; else "I do not know."
    music_nerd_pro  the same as a structure, with a running cost
    math_guy     computes with x and y of the private data (plus or add, minus, times, over) and returns `equals`
    judge        answers pass when all 'quoted' words of the criterion are in the sample, else fail
    namer        says why an answer failed: the number of a known reason that fits, or a new one
    broken       reports an error of its model, as servers do: with status 200, after a retry

Everywhere SLEEP(x) waits x seconds and FLAKY alternates between two answers. Version 2.0 has a regression to find: its
agents forget what was said before.
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
class Said:
    """An answer. `steps`: further messages under MAXIMAL."""

    text: str
    structure: dict[str, Any] | None = None
    sly_data: dict[str, Any] | None = None
    steps: list[dict[str, Any]] = field(default_factory=list)
    retries: int = 0


@dataclass(frozen=True)
class Heard:
    text: str
    history: list[str]
    sly_data: dict[str, Any]
    flaky: itertools.count[int]


def _music(heard: Heard) -> str:
    if "FLAKY" in heard.text:
        return "Hello world" if next(heard.flaky) % 2 else UNKNOWN
    if "yellow submarine" in heard.text.lower():
        return "The Beatles"
    if "where" in heard.text.lower() and any("yellow submarine" in said.lower() for said in heard.history):
        return "Liverpool, England"
    return UNKNOWN


def music_nerd(heard: Heard) -> Said:
    return Said(_music(heard))


def music_nerd_pro(heard: Heard) -> Said:
    cost = 3.0 * (len(heard.history) + 1)
    return Said("", {"answer": _music(heard), "running_cost": cost})


def echo(heard: Heard) -> Said:
    if "FLAKY" in heard.text:
        return Said("Hello world" if next(heard.flaky) % 2 else "Goodbye moon")
    return Said(f"echo: {heard.text}")


def math_guy(heard: Heard) -> Said:
    found = re.search("|".join([*OPERATORS, *VERBS]), heard.text, re.IGNORECASE)
    operands = [heard.sly_data.get(name) for name in ("x", "y")]
    if found is None or not all(isinstance(value, int | float) for value in operands):
        return Said("I need an operator, and the numbers x and y in the private data.")
    name = VERBS.get(found[0].lower(), found[0].lower())
    if name == "over" and not operands[1]:
        return Said("Division by zero has no result.")
    equals = float(OPERATORS[name](float(operands[0] or 0), float(operands[1] or 0)))
    steps: list[dict[str, Any]] = [
        {
            "type": "AGENT",
            "text": "Invoking: `calculator` with:",
            "structure": {"invoked_agent_name": "calculator"},
        },
        {"type": "AGENT_TOOL_RESULT", "text": json.dumps({"answer": "see sly_data", "op": name})},
    ]
    return Said("", {"answer": "see sly_data", "op": name}, {"equals": equals}, steps)


def judge(heard: Heard) -> Said:
    criterion, _, sample = heard.text.rpartition("Criterion:\n")[2].partition("\n\n<<<")
    if not sample:
        criterion, _, sample = heard.text.partition("text_sample is:")
    if "EQUIVOCATE" in criterion:
        return Said("It could pass or fail.")
    words = re.findall(r"'([^']+)'", criterion)
    return Said("pass" if words and all(word.lower() in sample.lower() for word in words) else "fail")


def namer(heard: Heard) -> Said:
    known, _, rest = heard.text.partition("Known reasons:\n")[2].partition("\n\n<<<")
    sample = rest.partition("\n")[2].rpartition("\n<<<")[0]
    words = re.findall(r"[^\W\d_]{4,}", sample)
    for line in known.split("\n"):
        number, _, reason = line.partition(". ")
        quoted = re.search(r"‘(.+)’", reason)
        if number.isdigit() and quoted and quoted[1].lower() in map(str.lower, words):
            return Said(number)
    return Said(f"NEW: It speaks of ‘{words[0].lower()}’." if words else "I cannot say.")


def broken(heard: Heard) -> Said:
    return Said("Error from broken: Agent stopped due to exception Connection error.", retries=3)


@dataclass(frozen=True)
class Agent:
    answer: Callable[[Heard], Said]
    description: str
    public: bool = True
    tools: tuple[str, ...] = ()


AGENTS = {
    "echo": Agent(echo, "Says what it is told."),
    "music_nerd": Agent(music_nerd, "Knows one song, and remembers that it was asked about it."),
    "music_nerd_pro": Agent(music_nerd_pro, "Knows one song, answers in a structure and keeps account."),
    "math_guy": Agent(math_guy, "Computes with numbers from the private data.", tools=("calculator",)),
    "judge": Agent(judge, "Says whether a text meets a criterion."),
    "namer": Agent(namer, "Says why an answer does not meet a criterion."),
    "broken": Agent(broken, "Its model is never there.", public=False),
    "hidden": Agent(echo, "Not in the list, but it answers.", public=False),
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
    """Its only state is a counter, by which FLAKY alternates."""

    def __init__(self, sleep: Callable[[float], None] = time.sleep, version: str = "") -> None:
        self.flaky = itertools.count()
        self.sleep = sleep
        self._version = version

    @property
    def version(self) -> str:
        return self._version or VERSION

    # --- what it knows ---

    def get(self, path: str) -> Any:
        """JSON of a GET, or None for an address that is none."""
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
        name, _, what = path.removeprefix("/api/v1/").rpartition("/")
        agent = find(name)
        if agent is None or not path.startswith("/api/v1/"):
            return None
        if what == "function":
            return {"function": {"description": agent.description}}
        if what == "connectivity":
            front = {"origin": name, "tools": list(agent.tools), "display_as": "llm_agent"}
            tools = [{"origin": tool, "tools": [], "display_as": "coded_tool"} for tool in agent.tools]
            return {"connectivity_info": [front, *tools], "metadata": {"description": agent.description}}
        return None

    # --- what it says ---

    def lines(self, name: str, body: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """The JSON lines of an answer. The agent has to exist."""
        agent = find(name)
        assert agent is not None
        message = body.get("user_message")
        text = message.get("text") if isinstance(message, dict) else None
        if text is None:
            yield {}
            return
        earlier = [said for kind, said in history_of(body.get("chat_context")) if kind == "HUMAN"]
        if self.version == FORGETFUL:
            earlier = []
        sly_data = body.get("sly_data")
        heard = Heard(str(text), earlier, sly_data if isinstance(sly_data, dict) else {}, self.flaky)
        if pause := PAUSE.search(heard.text):
            self.sleep(min(float(pause[1]), MAX_PAUSE))
        said = agent.answer(heard)
        yield from self._told(name, body, heard, said)

    def _told(self, name: str, body: dict[str, Any], heard: Heard, said: Said) -> Iterator[dict[str, Any]]:
        origin = [{"tool": name, "instantiation_index": 1}]
        answer = said.text or json.dumps(said.structure)
        given = (body.get("chat_filter") or {}).get("chat_filter_type", "MINIMAL")
        maximal = str(given).upper() == "MAXIMAL"

        def line(kind: str, text: str, **more: Any) -> dict[str, Any]:
            told: dict[str, Any] = {"response": {"type": kind, "text": text, "origin": origin, **more}}
            return {**told, "request": body} if maximal else told

        for _ in range(said.retries):
            yield line(
                "AGENT_FRAMEWORK",
                "Retrying: the model returned an error - Connection error.",
                chat_context={},
            )
        if maximal:
            yield line("SYSTEM", AGENTS[ALIASES.get(name, name)].description)
            yield line("HUMAN", heard.text)
            for step in said.steps:
                yield line(
                    step["type"], step["text"], **{k: v for k, v in step.items() if k not in ("type", "text")}
                )
            prompt, completion = len(heard.text.split()), len(answer.split())
            counts = {
                "prompt_tokens": prompt,
                "completion_tokens": completion,
                "total_tokens": prompt + completion,
            }
            yield line("AGENT", "", structure={**counts, "total_cost": 0.0, "successful_requests": 1})
        turns = [*history_of(body.get("chat_context")), ("HUMAN", heard.text), ("AI", answer)]
        more: dict[str, Any] = {"chat_context": chat_context(origin, turns)}
        if said.structure is not None:
            more["structure"] = said.structure
        if said.sly_data is not None:
            more["sly_data"] = said.sly_data
        yield line("AGENT_FRAMEWORK", said.text, **more)

    # --- WSGI ---

    def __call__(self, environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        path, method = environ.get("PATH_INFO", "/"), environ.get("REQUEST_METHOD", "GET")
        if method == "POST" and path.startswith("/api/v1/") and path.endswith("/streaming_chat"):
            return self._chat(path.removeprefix("/api/v1/").removesuffix("/streaming_chat"), environ, start)
        found = self.get(path) if method == "GET" else None
        if found is None:
            start("404 Not Found", [("Content-Type", "application/json"), ("Content-Length", "0")])
            return []
        start("200 OK", [("Content-Type", "application/json")])
        return [json.dumps(found).encode()]

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
    """Talks to an embedded server in this process; the deadline also ends an agent's SLEEP."""

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
        found = self.server.get(path)
        if found is None:
            raise TransportError("status", "The server knows no such address (404).")
        return found


# --- how long a test case takes there at least ---


def least_seconds(case: TestCase, options: Options) -> float:
    """Wall-clock seconds for all iterations, limited by timeouts. With early stop the ratio is assumed to be decided as
    soon as possible."""
    iterations = case.ratio.iterations
    if options.early_stop:
        needed = case.ratio.required(options.reading)
        iterations = max(1, min(needed, iterations - needed + 1))
    one = _conversation(case, options) * len(case.connections)
    if case.timeout is not None:
        one = min(one, case.timeout)
    total = one * math.ceil(iterations / max(1, options.parallel))
    if case.timeout is not None and options.reading == "document":
        total = min(total, case.timeout)
    return total


def _conversation(case: TestCase, options: Options) -> float:
    """One connection of one iteration. A turn that times out ends it."""
    seconds = 0.0
    for turn in case.interactions:
        pause = PAUSE.search(turn.text or "")
        asked = min(float(pause[1]), MAX_PAUSE) if pause else 0.0
        limit = (
            options.request_seconds if turn.timeout is None else min(turn.timeout, options.request_seconds)
        )
        seconds += min(asked, limit)
        if asked > limit:
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
    """A server that has yet to be told to serve; port 0 finds a free one."""
    return wsgiref.simple_server.make_server(
        host, port, DemoServer(version=version), server_class=Server, handler_class=Quiet
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Serve the embedded agents.")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8080)
    parser.add_argument(
        "--version", choices=[VERSION, FORGETFUL], default=VERSION, help="2.0 forgets what was said before"
    )
    given = parser.parse_args()
    with (
        contextlib.suppress(KeyboardInterrupt),
        make_server(given.host, given.port, given.version) as server,
    ):
        server.serve_forever()


if __name__ == "__main__":
    main()
