"""Chat endpoints and language models as agents: their answers as the stream of JSON lines of an agent server. Pure.

Earlier turns are sent in the chat context, as with an agent server, so these agents are stateless too.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from gym.agents.core.http_transport import HTTPTransport
from gym.agents.core.protocol import chat_context, history_of
from gym.agents.core.transport import Deadline, TransportError, one_at_a_time


def lines_for(agent: str, body: dict[str, Any], answer: str, tokens: Mapping[str, Any]) -> Iterator[bytes]:
    """What an agent server would have sent."""
    text = body["user_message"]["text"]
    origin = [{"tool": agent, "instantiation_index": 1}]
    context = chat_context(origin, [*history_of(body.get("chat_context")), ("HUMAN", text), ("AI", answer)])
    told = [{"type": "HUMAN", "text": text, "origin": origin}]
    if tokens:
        told.append({"type": "AGENT", "text": "", "origin": origin, "structure": dict(tokens)})
    told.append({"type": "AGENT_FRAMEWORK", "text": answer, "origin": origin, "chat_context": context})
    for line in told:
        yield json.dumps({"response": line}).encode() + b"\n"


class ChatTransport(HTTPTransport):
    """An OpenAI-compatible chat endpoint: `url` ends before /chat/completions. Without `chat_model` the case's agent
    names the model. Private data and metadata are not sent: such an endpoint has no place for them."""

    unsent = ("sly_data", "metadata")

    def __init__(self, url: str, chat_model: str = "", **more: Any) -> None:
        super().__init__(url, **more)
        self.chat_model = chat_model

    def chat(
        self, agent: str, body: dict[str, Any], headers: Mapping[str, str], deadline: Deadline
    ) -> Iterator[bytes]:
        text = body["user_message"]["text"]
        if text is None:
            yield b"{}\n"
            return
        roles = {"HUMAN": "user", "AI": "assistant"}
        said = [*history_of(body.get("chat_context")), ("HUMAN", text)]
        messages = [{"role": roles.get(kind, "user"), "content": told} for kind, told in said]
        sent = {"model": self.chat_model or agent, "messages": messages, "stream": False}
        answer, tokens = read_completion(self._json("POST", "/chat/completions", deadline, json=sent))
        yield from lines_for(agent, body, answer, tokens)

    def get(self, path: str, deadline: Deadline) -> Any:
        """The list of models stands for the list of agents; there is no more to know."""
        if path in ("/", "/healthz"):
            return {"service": "chat", "status": "ok", "versions": {}}
        if path == "/api/v1/list":
            models = super().get("/models", deadline)
            rows = models.get("data", []) if isinstance(models, dict) else []
            names = [str(row["id"]) for row in rows if isinstance(row, dict) and "id" in row]
            return {"agents": [{"agent_name": name, "description": ""} for name in names]}
        raise TransportError("status", "A chat endpoint does not tell this.")


def read_completion(given: Any) -> tuple[str, dict[str, Any]]:
    """Text and token counts of a chat completion. Raises TransportError."""
    try:
        answer = given["choices"][0]["message"]["content"]
    except (KeyError, IndexError, TypeError):
        raise TransportError("protocol", "The answer is no chat completion.") from None
    if not isinstance(answer, str):
        raise TransportError("protocol", "The chat completion has no text.")
    usage = given.get("usage")
    keys = ("prompt_tokens", "completion_tokens", "total_tokens")
    counts = (
        {key: usage[key] for key in keys if isinstance(usage.get(key), int)}
        if isinstance(usage, dict)
        else {}
    )
    return answer, counts


class ContinuingTransport:
    """A language model that continues what was said: no instructions, no roles, a line per turn.

    continue_text: (text, seconds left) -> (continuation, tokens read, tokens written). One request at a time.
    """

    secrets: tuple[str, ...] = ()
    unsent = ("sly_data", "metadata")
    scheme = ""

    def __init__(self, name: str, continue_text: Callable[[str, float], tuple[str, int, int]]) -> None:
        self.name = name
        self.continue_text = continue_text
        self._one_at_a_time = threading.Lock()

    def chat(
        self, agent: str, body: dict[str, Any], headers: Mapping[str, str], deadline: Deadline
    ) -> Iterator[bytes]:
        text = body["user_message"]["text"]
        if text is None:
            yield b"{}\n"
            return
        said = "\n".join([*(told for _, told in history_of(body.get("chat_context"))), text])
        with one_at_a_time(self._one_at_a_time, deadline.check):
            answer, read, written = self.continue_text(said, deadline.left)
        if deadline.passed:
            raise deadline.error()
        tokens = {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}
        yield from lines_for(agent, body, answer, tokens)

    def get(self, path: str, deadline: Deadline) -> Any:
        if path in ("/", "/healthz"):
            return {"service": "model", "status": "ok", "versions": {}}
        if path == "/api/v1/list":
            return {"agents": [{"agent_name": self.name, "description": "continues what it is told"}]}
        raise TransportError("status", "A model does not tell this.")
