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

from lmgym.models.backends import ExternalAccess
from lmgym.net import NetPolicy

BOS = "<s>"
NEXT = (" a", " big", " old", " door", " key", " red", ",", "s", "\n")
_PIECES = re.compile(r"<s>|</s>| ?[^\s<]{1,5}| ?<|\s")


def tokens_of(text: str) -> list[str]:
    """Split a text into pieces of up to five letters, each with the preceding space."""
    return _PIECES.findall(text)


def log_of(before: str, token: str) -> float:
    """Return the natural log probability of a token after a text, between -1 and -11, from a checksum."""
    return -1.0 - zlib.crc32(f"{before}|{token}".encode()) % 1000 / 100


@dataclass
class Behaviour:
    """Behaviour of the server, and the requests it received."""

    key: str = ""
    model: str = "tiny"
    adds_bos: bool = False
    echoes: bool = True
    leaves_out: bool = False  # omits the start token and the value of the next token
    counts: bool = False  # reports the number of tokens of the prompts
    new_token: bool = True  # the generated token is in the echo
    lists: bool = True  # accepts several prompts in one request; if not, answers 500
    early: bool = False  # each value comes one position before its token
    next_place: bool = (
        False  # values come from the distribution after each token, unless there is a start token
    )
    caches: bool = False  # values of a prefix shared with an earlier prompt are 0
    sharpness: float = 1.0  # factor of every value
    continues: bool = True  # lists likely next tokens
    ends: int = 0  # number of texts that are ended instead of continued
    offsets: bool = True
    prompt_logprobs: bool = False
    fragments: bool = False  # non-ASCII letters are split into parts
    busy: int = 0  # number of answers with this status before the first result
    busy_status: int = 429
    longest: int = 10_000  # maximum characters of a prompt
    spoil: Any = None  # a function that changes an answer before it is sent
    seen: list[dict[str, Any]] = field(default_factory=list)
    kept: set[str] = field(default_factory=set)
    keys: list[str | None] = field(default_factory=list)
    url: str = ""

    def external_access(self, **secrets: str) -> ExternalAccess:
        return ExternalAccess(net=NetPolicy.allowing("127.0.0.1", seconds=10), secrets=secrets)

    def answer(self, asked: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        if self.busy:
            self.busy -= 1
            return self.busy_status, {"error": "busy"}
        if asked["model"] != self.model:
            return 404, {"error": {"message": f"no model {asked['model']}"}}
        if isinstance(asked["prompt"], str):
            asked = asked | {"prompt": [asked["prompt"]]}
        if len(asked["prompt"]) > 1 and not self.lists:
            return 500, {"error": {"message": ""}}
        if any(len(prompt) > self.longest for prompt in asked["prompt"]):
            return 400, {"error": {"message": "the prompt is too long"}}
        choices = [self._choice(asked, number, prompt) for number, prompt in enumerate(asked["prompt"])]
        answer: dict[str, Any] = {
            "model": self.model,
            "choices": list(reversed(choices)),  # clients must use the index
        }
        if self.counts:
            tokens = [token for prompt in asked["prompt"] for token in self._tokens(prompt)]
            answer["usage"] = {"prompt_tokens": len(tokens)}
        return 200, self.spoil(answer) if self.spoil else answer

    def _tokens(self, prompt: str) -> list[str]:
        return ([BOS] if self.adds_bos else []) + tokens_of(prompt)

    def _log(self, before: str, token: str) -> float:
        return log_of(before, token) * self.sharpness

    def _logs(self, tokens: list[str]) -> list[float | None]:
        texts = ["".join(tokens[:k]) for k in range(len(tokens) + 1)]
        if self.next_place and tokens[:1] != [BOS]:
            return [None, *(self._log(texts[k + 1], tokens[k]) for k in range(1, len(tokens)))]
        logs = [
            0.0 if texts[k + 1] in self.kept else self._log(texts[k], token) for k, token in enumerate(tokens)
        ]
        if self.caches:
            self.kept.update(texts)
        return [*logs[1:], -0.5] if self.early else [None, *logs[1:]]

    def _choice(self, asked: dict[str, Any], number: int, prompt: str) -> dict[str, Any]:
        tokens = self._tokens(prompt)
        logs = self._logs(tokens)[: len(tokens)]
        if self.leaves_out and tokens[:1] == [BOS]:
            tokens, logs = tokens[1:], [None, *logs[2:]][: len(tokens) - 1]
        tokens, logs = self._in_parts(tokens, logs)
        choice: dict[str, Any] = {"index": number, "text": "", "logprobs": None}
        if self.prompt_logprobs and "prompt_logprobs" in asked:
            choice["prompt_logprobs"] = [
                None,
                *(
                    {str(zlib.crc32(token.encode())): {"logprob": log, "rank": 1, "decoded_token": token}}
                    for token, log in zip(tokens[1:], logs[1:], strict=True)
                ),
            ]
        elif not asked.get("echo") and "logprobs" in asked:
            choice |= self._continuation(prompt, asked["logprobs"])
        elif self.echoes and asked.get("echo"):
            new = [" and"] * self.new_token
            starts = [sum(len(token) for token in [*tokens, *new][:k]) for k in range(len(tokens) + len(new))]
            choice["text"] = prompt + "".join(new)
            choice["logprobs"] = {"tokens": [*tokens, *new], "token_logprobs": [*logs, *([-0.5] * len(new))]}
            if self.offsets:
                choice["logprobs"]["text_offset"] = starts
        return choice

    def _continuation(self, prompt: str, number: int) -> dict[str, Any]:
        before = "".join(self._tokens(prompt))
        values = {token: self._log(before, token) for token in NEXT}
        likely = dict(sorted(values.items(), key=lambda one: -one[1])[:number])
        [first, *_] = likely
        if self.ends:
            self.ends -= 1
            return {"logprobs": {"tokens": [], "token_logprobs": [], "top_logprobs": []}}
        told = {"tokens": [first], "token_logprobs": [likely[first]]}
        return {"text": first, "logprobs": told | ({"top_logprobs": [likely]} if self.continues else {})}

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
