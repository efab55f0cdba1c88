"""neuro-san's `streaming_chat` (0.6 to 0.7.15): request bodies, and answers in a stream of JSON lines.

The message to use as the answer is selected as in neuro-san's client.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from lmgym.agents.redact import cut
from lmgym.agents.results import is_amount
from lmgym.net.responses import STRICT

MAX_LINE = 4_000_000
MAX_BYTES = 16_000_000
MAX_MESSAGES = 2_000
MAX_DEPTH = 100
MAX_ORIGIN = 50
MAX_NAME = 200
TYPES = {
    0: "UNKNOWN", 1: "SYSTEM", 2: "HUMAN", 4: "AI", 100: "AGENT", 101: "AGENT_FRAMEWORK",
    103: "AGENT_TOOL_RESULT", 104: "AGENT_PROGRESS",
}  # fmt: skip
TOKEN_KEYS = ("total_tokens", "prompt_tokens", "completion_tokens", "successful_requests", "total_cost",
              "time_taken_in_seconds")  # fmt: skip


ENDINGS = {
    "length": "The answer was cut off: the model reached its token limit (finish_reason: length).",
    "content_filter": "The server's content filter removed some or all of the answer (finish_reason: content_filter).",
    "tool_calls": "The model requested tool calls, which were not made (finish_reason: tool_calls).",
    "refusal": "The model refused; its refusal counts as the answer.",
}
"""Notes in the transcript on how an answer ended, by `finish_reason` of chat endpoints, or "refusal"."""


class ProtocolError(ValueError):
    """Raised if an answer violates the protocol."""


@dataclass
class Answer:
    """An agent's answer. `text`: None if there is no answer. `error`: error reported by the stream. `left_out`: number
    of messages beyond the limit. `ending`: a key of ENDINGS, or empty."""

    text: str | None = None
    structure: Any = None
    sly_data: Any = None
    chat_context: dict[str, Any] | None = None
    tokens: dict[str, Any] | None = None
    messages: list[dict[str, Any]] = field(default_factory=list)
    left_out: int = 0
    retries: int = 0
    error: str = ""
    ending: str = ""

    def agent_error(self, agent: str) -> str:
        """Return an error from the agent or its model, which servers send as an ordinary answer with status 200; empty
        if there is none."""
        text = self.text or ""
        first = text.split("\n", 1)[0]
        if first.startswith("Error from ") and ":" in first:
            return first
        if isinstance(self.structure, dict) and {"error", "tool", "details"} <= set(self.structure):
            return f"Error from {self.structure['tool']}: {self.structure['error']}"
        return ""


def request_body(
    text: str | None, chat_filter: str, sly_data: dict[str, Any] | None, chat_context: dict[str, Any] | None
) -> dict[str, Any]:
    """Return the body of a request. Empty private data and contexts are omitted."""
    body: dict[str, Any] = {"user_message": {"type": "HUMAN", "text": text}}
    if sly_data:
        body["sly_data"] = sly_data
    if chat_context:
        body["chat_context"] = chat_context
    body["chat_filter"] = {"chat_filter_type": chat_filter}
    return body


def history_of(context: Any) -> list[tuple[str, str]]:
    """Return the earlier turns in a context made by `chat_context`, as (HUMAN or AI, text)."""
    histories = context.get("chat_histories") if isinstance(context, dict) else None
    messages = histories[0].get("messages", []) if isinstance(histories, list) and histories else []
    return [(str(m.get("type", "")), str(m.get("text", ""))) for m in messages if isinstance(m, dict)]


def chat_context(origin: list[dict[str, Any]], turns: Iterable[tuple[str, str]]) -> dict[str, Any]:
    messages = [{"type": kind, "text": text} for kind, text in turns]
    return {"chat_histories": [{"origin": origin, "messages": messages}]}


def is_too_deep(value: Any) -> bool:
    """Return True if JSON is nested more than MAX_DEPTH levels deep. Not recursive."""
    depth, layer = 0, [value]
    while layer and depth <= MAX_DEPTH:
        layer = [
            below
            for item in layer
            if isinstance(item, dict | list)
            for below in (item.values() if isinstance(item, dict) else item)
        ]
        depth += 1
    return depth > MAX_DEPTH


def loads(text: str) -> Any:
    """Parse untrusted JSON. Raises ProtocolError for invalid JSON, NaN, deep nesting and huge numbers."""
    try:
        value = STRICT.decode(text)
    except RecursionError:
        raise ProtocolError("The JSON is nested too deeply.") from None
    except ValueError:
        begins = " ".join(text[:60].split())
        raise ProtocolError(f"The answer is not JSON. It begins with: {begins}") from None
    if is_too_deep(value):
        raise ProtocolError("The JSON is nested too deeply.")
    return value


class AnswerReader:
    """Incremental reader of an answer: `feed` bytes as they arrive, then `finish`. Raises ProtocolError."""

    def __init__(self) -> None:
        self.answer = Answer()
        self._rest = b""
        self._bytes = 0

    def feed(self, data: bytes) -> None:
        self._bytes += len(data)
        if self._bytes > MAX_BYTES:
            raise ProtocolError(f"The answer has more than {MAX_BYTES:,} bytes.")
        *lines, last = data.split(b"\n")
        for line in lines:
            self._line(self._rest + line)
            self._rest = b""
        self._rest += last
        if len(self._rest) > MAX_LINE:
            raise ProtocolError(f"A line of the answer has more than {MAX_LINE:,} bytes.")

    def finish(self) -> Answer:
        self._line(self._rest)
        self._rest = b""
        return self.answer

    def _line(self, line: bytes) -> None:
        try:
            text = line.decode("utf-8").strip()
        except UnicodeDecodeError:
            raise ProtocolError("The answer is not UTF-8.") from None
        for value in self._values(text):
            if not isinstance(value, dict):
                raise ProtocolError("A line of the answer is not a JSON object.")
            self._message(value)

    @staticmethod
    def _values(text: str) -> list[Any]:
        """Return the JSON values of a line, normally one."""
        if not text:
            return []
        try:
            return [loads(text)]
        except ProtocolError:
            values = _concatenated(text)
            if len(values) < 2:
                raise
            return values

    def _message(self, line: dict[str, Any]) -> None:
        if "error" in line and "response" not in line:
            self.answer.error = str(line["error"])
            return
        message = line.get("response") or {}
        if not isinstance(message, dict):
            raise ProtocolError("The response in a line of the answer is not a JSON object.")
        kind, origin = _kind(message), message.get("origin") or []
        nested = isinstance(origin, list) and len(origin) > 1
        text, structure = message.get("text"), message.get("structure")
        if text is not None and not isinstance(text, str):
            raise ProtocolError("The text of an answer is not a string.")
        self._keep(kind, origin, text, structure)
        answer = self.answer
        if kind in ("AI", "AGENT_FRAMEWORK") and not nested and (text is not None or structure is not None):
            if text is not None:
                answer.text = text
            answer.structure = structure
        if kind == "AGENT_FRAMEWORK" and not nested and (reason := message.get("finish_reason")) is not None:
            answer.ending = reason if isinstance(reason, str) and reason in ENDINGS else ""
        if kind == "AGENT_FRAMEWORK" and message.get("chat_context") is not None:
            context = message["chat_context"]
            answer.chat_context = context if isinstance(context, dict) else None
            if message.get("sly_data") is not None:
                answer.sly_data = message["sly_data"]
            answer.retries += bool(text and text.startswith("Retrying:"))
        counts = isinstance(structure, dict) and structure.get("total_tokens") is not None
        if kind == "AGENT" and not nested and isinstance(structure, dict) and counts:
            answer.tokens = {key: structure[key] for key in TOKEN_KEYS if is_amount(structure.get(key))}

    def _keep(self, kind: str, origin: Any, text: str | None, structure: Any) -> None:
        """Add a message to the transcript without its private data. Skip progress and empty messages."""
        if kind == "AGENT_PROGRESS" or (not text and structure is None):
            return
        if len(self.answer.messages) >= MAX_MESSAGES:
            self.answer.left_out += 1
            return
        steps = origin[:MAX_ORIGIN] if isinstance(origin, list) else []
        tools = [cut(str(step.get("tool", "")), MAX_NAME) for step in steps if isinstance(step, dict)]
        kept: dict[str, Any] = {"type": kind, "origin": tools, "text": text or ""}
        if structure is not None:
            kept["structure"] = structure
        self.answer.messages.append(kept)


def _concatenated(text: str) -> list[Any]:
    """Parse several consecutive JSON values; empty if the text is anything else."""
    values, at = [], 0
    try:
        while at < len(text):
            value, at = STRICT.raw_decode(text, at)
            values.append(value)
            while at < len(text) and text[at] in " \t\r":
                at += 1
    except (ValueError, RecursionError):
        return []
    return [] if is_too_deep(values) else values


def _kind(message: dict[str, Any]) -> str:
    kind = message.get("type")
    return TYPES.get(kind, "UNKNOWN") if isinstance(kind, int) else cut(str(kind or "UNKNOWN"), MAX_NAME)
