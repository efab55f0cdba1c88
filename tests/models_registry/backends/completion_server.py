"""A tiny OpenAI-compatible completion server over a model that can be computed by hand."""

from __future__ import annotations

import contextlib
import json
import re
import threading
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from gym.net import NetPolicy
from models_registry.backends import ExternalAccess

BOS = "<s>"
_PIECES = re.compile(r"<s>|</s>| ?[^\s<]{1,5}| ?<|\s")


def tokens_of(text: str) -> list[str]:
    """Pieces of up to five letters with the blank before them; they spell the text."""
    return _PIECES.findall(text)


def log_of(before: str, token: str) -> float:
    """Natural logarithm of a token after a text, from a checksum: between -1 and -11."""
    return -1.0 - zlib.crc32(f"{before}|{token}".encode()) % 1000 / 100


@dataclass
class Behaviour:
    """What the server does, and what it saw."""

    key: str = ""
    model: str = "tiny"
    adds_bos: bool = False
    least_tokens: int = 0  # "max_tokens must be at least 1"
    echoes: bool = True
    offsets: bool = True
    prompt_logprobs: bool = False
    fragments: bool = False  # letters beyond ASCII come in parts
    busy: int = 0  # so many answers 429 first
    longest: int = 10_000  # characters of a prompt
    spoil: Any = None  # a function that changes an answer before it is sent
    seen: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str | None] = field(default_factory=list)
    url: str = ""

    def external_access(self, **secrets: str) -> ExternalAccess:
        return ExternalAccess(net=NetPolicy.allowing("127.0.0.1", seconds=10), secrets=secrets)

    def answer(self, asked: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        if self.busy:
            self.busy -= 1
            return 429, {"error": "busy"}
        if asked["model"] != self.model:
            return 404, {"error": {"message": f"no model {asked['model']}"}}
        if asked["max_tokens"] < self.least_tokens:
            return 400, {"error": {"message": f"max_tokens must be at least {self.least_tokens}"}}
        if any(len(prompt) > self.longest for prompt in asked["prompt"]):
            return 400, {"error": {"message": "the prompt is too long"}}
        choices = [self._choice(asked, number, prompt) for number, prompt in enumerate(asked["prompt"])]
        answer = {"choices": list(reversed(choices))}  # clients have to go by the index
        return 200, self.spoil(answer) if self.spoil else answer

    def _choice(self, asked: dict[str, Any], number: int, prompt: str) -> dict[str, Any]:
        tokens = ([BOS] if self.adds_bos else []) + tokens_of(prompt)
        texts = ["".join(tokens[:k]) for k in range(len(tokens))]
        logs: list[float | None] = [None, *(log_of(texts[k], tokens[k]) for k in range(1, len(tokens)))]
        tokens, logs = self._in_parts(tokens, logs[: len(tokens)])
        choice: dict[str, Any] = {"index": number, "text": "", "logprobs": None}
        if self.prompt_logprobs and "prompt_logprobs" in asked:
            choice["prompt_logprobs"] = [
                None,
                *(
                    {str(zlib.crc32(token.encode())): {"logprob": log, "rank": 1, "decoded_token": token}}
                    for token, log in zip(tokens[1:], logs[1:], strict=True)
                ),
            ]
        if self.echoes and asked.get("echo"):
            new = [" and"] * asked["max_tokens"]
            starts = [sum(len(token) for token in [*tokens, *new][:k]) for k in range(len(tokens) + len(new))]
            choice["text"] = prompt + "".join(new)
            choice["logprobs"] = {"tokens": [*tokens, *new], "token_logprobs": [*logs, *([-0.5] * len(new))]}
            if self.offsets:
                choice["logprobs"]["text_offset"] = starts
        return choice

    def _in_parts(self, tokens: list[str], logs: list[Any]) -> tuple[list[str], list[Any]]:
        if not self.fragments:
            return tokens, logs
        cut: list[tuple[str, Any]] = []
        for token, log in zip(tokens, logs, strict=True):
            for sign in re.findall(r"[ -~]+|[^ -~]", token):
                data = sign.encode()
                parts = [sign] if sign.isascii() else [f"bytes:\\x{byte:02x}" for byte in data]
                cut += [
                    (part, log if k == 0 and token.startswith(sign) else -0.25)
                    for k, part in enumerate(parts)
                ]
        return [token for token, _ in cut], [log for _, log in cut]


@contextlib.contextmanager
def completion_server(**how: Any) -> Iterator[Behaviour]:
    behaviour = Behaviour(**how)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._send(200, {"data": [{"id": behaviour.model}, {"id": "other"}]})

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            behaviour.seen.append(asked)
            behaviour.keys.append(self.headers.get("Authorization"))
            if behaviour.key and self.headers.get("Authorization") != f"Bearer {behaviour.key}":
                self._send(401, {"error": "wrong key"})
            else:
                self._send(*behaviour.answer(asked))

        def _send(self, status: int, body: Any) -> None:
            data = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.send_header("Retry-After", "0")
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    behaviour.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield behaviour
    finally:
        server.shutdown()
        server.server_close()
