"""The embedded agent server: neuro-san's addresses and stream, as a WSGI application and as a transport. Pure.

`python -m gym.agents.core.embedded --port 8080` serves it; `EmbeddedTransport` talks to it without any network.
"""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from gym.agents.core.embedded import agents
from gym.agents.core.protocol import chat_context, history_of
from gym.agents.core.transport import Deadline, TransportError

VERSION = "1.0"
MAX_BODY = 2_000_000
MAX_PAUSE = 600.0
SLICE = 0.05


class EmbeddedServer:
    """Its only state is a counter, by which FLAKY alternates."""

    def __init__(self, sleep: Callable[[float], None] = time.sleep) -> None:
        self.flaky = itertools.count()
        self.sleep = sleep

    # --- what it knows ---

    def get(self, path: str) -> Any:
        """JSON of a GET, or None for an address that is none."""
        if path in ("/", "/healthz", "/readyz", "/livez"):
            return {"service": "gym.Agent", "status": "ok", "versions": {"lm-gym-embedded": VERSION}}
        if path == "/api/v1/list":
            return {
                "agents": [
                    {"agent_name": name, "description": agent.description, "tags": ["demo"]}
                    for name, agent in agents.AGENTS.items()
                    if agent.public
                ]
            }
        name, _, what = path.removeprefix("/api/v1/").rpartition("/")
        agent = agents.find(name)
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
        agent = agents.find(name)
        assert agent is not None
        message = body.get("user_message")
        text = message.get("text") if isinstance(message, dict) else None
        if text is None:
            yield {}
            return
        earlier = [said for kind, said in history_of(body.get("chat_context")) if kind == "HUMAN"]
        sly_data = body.get("sly_data")
        heard = agents.Heard(str(text), earlier, sly_data if isinstance(sly_data, dict) else {}, self.flaky)
        if pause := agents.PAUSE.search(heard.text):
            self.sleep(min(float(pause[1]), MAX_PAUSE))
        said = agent.answer(heard)
        yield from self._told(name, body, heard, said)

    def _told(
        self, name: str, body: dict[str, Any], heard: agents.Heard, said: agents.Said
    ) -> Iterator[dict[str, Any]]:
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
            yield line("SYSTEM", agents.AGENTS[agents.ALIASES.get(name, name)].description)
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
        if agents.find(name) is None:
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


class EmbeddedTransport:
    """Talks to an embedded server in this process; the deadline also ends an agent's SLEEP."""

    secrets: tuple[str, ...] = ()
    unsent: tuple[str, ...] = ()
    scheme = ""

    def __init__(self, server: EmbeddedServer | None = None) -> None:
        self.server = server or EmbeddedServer()

    def chat(
        self, agent: str, body: dict[str, Any], headers: Mapping[str, str], deadline: Deadline
    ) -> Iterator[bytes]:
        if agents.find(agent) is None:
            raise TransportError("status", f"The server has no agent {agent!r} (404).")

        def sleep(seconds: float) -> None:
            until = time.monotonic() + seconds
            while time.monotonic() < until:
                deadline.check()
                time.sleep(min(SLICE, max(0.0, until - time.monotonic())))

        serving = EmbeddedServer(sleep)
        serving.flaky = self.server.flaky
        for line in serving.lines(agent, json.loads(json.dumps(body))):
            yield json.dumps(line).encode() + b"\n"

    def get(self, path: str, deadline: Deadline) -> Any:
        found = self.server.get(path)
        if found is None:
            raise TransportError("status", "The server knows no such address (404).")
        return found
