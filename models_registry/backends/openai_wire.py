"""Requests to a completion server that tells how likely its prompt was, and what its answers mean.

Two ways: `echo=true, logprobs=1` (the prompt comes back as tokens with natural logarithms), and vLLM's
`prompt_logprobs`. Servers that insist on one new token get `max_tokens=1`; the new token is thrown away.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from gym import net
from models_registry.backends.base import BackendError, BackendUnavailable
from models_registry.engine.server_token_alignment import TokenAlignmentError, align_server_tokens

RETRIED = frozenset({429, 503})
WAITS = (1.0, 2.0, 4.0, 8.0)
"""Seconds before each further try, unless the server names others."""
LONGEST_WAIT = 60.0
METHODS = ("echo", "echo-1", "prompt_logprobs")


class NotEchoed(Exception):
    """The server answered, but not with the likelihood of the prompt in this way."""


class Unreadable(Exception):
    """The answer about this one text cannot be used; the message says why."""


@dataclass(frozen=True)
class Prompt:
    """Tokens of one prompt and the characters they cover.

    `logs[k]` is the natural logarithm; None where the server gives none."""

    tokens: list[str]
    ids: list[int]
    spans: list[tuple[int, int]]
    logs: list[float | None]
    started: bool
    """Whether token 0 is a start token that the server put there by itself; its span is (0, 0)."""


class Server:
    """One model on one server. `sleep` waits between tries."""

    def __init__(
        self,
        url: str,
        model: str,
        key: str,
        policy: net.NetPolicy,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._url = url.rstrip("/")
        self.model = model
        self._key = key
        self._policy = policy
        self._sleep = sleep

    def ask(self, prompts: Sequence[str], method: str) -> list[Any]:
        """The choices for these prompts, in their order. NetError when no answer comes, NotEchoed when it is none."""
        body: dict[str, Any] = {"model": self.model, "prompt": list(prompts), "temperature": 1.0}
        if method == "prompt_logprobs":
            body |= {"max_tokens": 1, "prompt_logprobs": 0}
        else:
            body |= {"max_tokens": 0 if method == "echo" else 1, "echo": True, "logprobs": 1}
        answer = self._send("POST", "completions", body)
        choices = answer.get("choices") if isinstance(answer, dict) else None
        if not isinstance(choices, list) or not all(isinstance(choice, dict) for choice in choices):
            raise NotEchoed("the answer has no list of choices")
        if len(choices) != len(prompts):
            raise NotEchoed(f"{len(choices)} choices came for {len(prompts)} prompts")
        if len(choices) == 1:
            return choices
        if sorted(choice.get("index", -1) for choice in choices) != list(range(len(prompts))):
            raise NotEchoed("the choices are not numbered like the prompts")
        return sorted(choices, key=lambda choice: int(choice["index"]))

    def models(self) -> list[str]:
        """Names of the models the server offers; empty when it does not say."""
        try:
            answer = self._send("GET", "models", None)
        except net.NetError:
            return []
        entries = answer.get("data") if isinstance(answer, dict) else None
        names = [entry.get("id") for entry in entries or [] if isinstance(entry, dict)]
        return [name for name in names if isinstance(name, str)]

    def _send(self, method: str, path: str, body: Any) -> Any:
        headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
        for wait in (*WAITS, None):
            answer = net.request(
                method, f"{self._url}/{path}", json=body, headers=headers, policy=self._policy
            )
            if answer.status not in RETRIED or wait is None:
                break
            asked = answer.retry_after
            self._sleep(min(wait if asked is None else asked, LONGEST_WAIT))
        return answer.raise_for_status().json()


def read_choice(choice: dict[str, Any], prompt: str, method: str) -> Prompt:
    """What a choice says about its prompt. NotEchoed when it says nothing, Unreadable when it cannot be mapped."""
    if method == "prompt_logprobs":
        return _read_prompt_logprobs(choice, prompt)
    return _read_echo(choice, prompt, generated=method == "echo-1")


def _read_echo(choice: dict[str, Any], prompt: str, *, generated: bool) -> Prompt:
    found = choice.get("logprobs")
    if not isinstance(found, dict) or not isinstance(found.get("tokens"), list):
        raise NotEchoed("the choice has no logprobs with tokens")
    tokens, logs, offsets = found["tokens"], found.get("token_logprobs"), found.get("text_offset")
    if not isinstance(logs, list) or len(logs) != len(tokens):
        raise NotEchoed("token_logprobs is not a list as long as tokens")
    if not all(isinstance(token, str) for token in tokens):
        raise NotEchoed("a token is not text")
    if len(tokens) <= int(generated) and prompt.strip():
        raise NotEchoed("the tokens of the prompt are not among the tokens")
    usable = _offsets(offsets, len(tokens))
    error: TokenAlignmentError | None = None
    for count in [len(tokens) - 1, len(tokens)] if generated else [len(tokens)]:
        try:
            return _prompt_of(prompt, tokens[:count], logs[:count], usable and usable[:count], None)
        except TokenAlignmentError as reason:
            error = error or reason
    raise Unreadable(f"the tokens do not spell the sentence: {error}")


def _offsets(given: Any, size: int) -> list[int] | None:
    fits = isinstance(given, list) and len(given) == size and all(isinstance(value, int) for value in given)
    return given if fits else None


def _prompt_of(
    prompt: str, tokens: list[str], logs: list[Any], offsets: list[int] | None, ids: list[int] | None
) -> Prompt:
    """Aligned with and, if that fails, without a start token in front. TokenAlignmentError when neither fits."""
    ids = ids or [zlib.crc32(token.encode("utf-8", "surrogatepass")) for token in tokens]
    numbers = [_number(value) for value in logs]
    try:
        return Prompt(tokens, ids, align_server_tokens(prompt, tokens, offsets), numbers, started=False)
    except TokenAlignmentError:
        if not tokens or numbers[0] is not None:  # what was predicted is no start
            raise
        shifted = offsets and [place - offsets[1] for place in offsets[1:]] if len(tokens) > 1 else None
        spans = align_server_tokens(prompt, tokens[1:], shifted)
        return Prompt(tokens, ids, [(0, 0), *spans], numbers, started=True)


def _number(value: Any) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Unreadable(f"{value!r} is no logarithm")
    return float(value)


def _read_prompt_logprobs(choice: dict[str, Any], prompt: str) -> Prompt:
    """A list with one entry per token: null for the first, {id: {logprob, decoded_token}} for the others."""
    found = choice.get("prompt_logprobs")
    if not isinstance(found, list) or not found:
        raise NotEchoed("the choice has no prompt_logprobs")
    tokens, ids, logs = [], [], []
    for entry in found[1:]:
        if not isinstance(entry, dict) or len(entry) != 1:
            raise NotEchoed("an entry of prompt_logprobs is not about exactly one token")
        [(number, facts)] = entry.items()
        if not isinstance(facts, dict) or not isinstance(facts.get("decoded_token"), str):
            raise NotEchoed("an entry of prompt_logprobs has no decoded_token")
        tokens.append(facts["decoded_token"])
        ids.append(int(number) if str(number).isdecimal() else zlib.crc32(str(number).encode()))
        logs.append(_number(facts.get("logprob")))
    return _with_first(prompt, tokens, ids, logs)


def _with_first(prompt: str, tokens: list[str], ids: list[int], logs: list[float | None]) -> Prompt:
    """The first token is not told: it is a start token if the others spell the prompt, else what they leave over."""
    error: TokenAlignmentError | None = None
    longest = len(prompt) if len(tokens) < 2 else min(len(prompt), 100)
    for size in range(longest + 1):
        try:
            spans = align_server_tokens(prompt[size:], tokens)
        except TokenAlignmentError as reason:
            error = error or reason
            continue
        first = prompt[:size]
        moved = [(start + size, end + size) for start, end in spans]
        number = zlib.crc32(first.encode("utf-8", "surrogatepass"))
        return Prompt(
            [first or "<start>", *tokens], [number, *ids], [(0, size), *moved], [None, *logs], not first
        )
    raise Unreadable(f"the tokens do not spell the sentence: {error}")


def explained(error: net.NetError, server: Server) -> BackendError:
    """A check's sentence about why no answer came, and what to do."""
    status = error.status if isinstance(error, net.HTTPStatus) else 0
    if status in (401, 403):
        return BackendError(
            f"The server refuses the API key: {error}", "Give the right key on the model's edit page."
        )
    if status == 404:
        names = server.models()
        known = f"It offers {', '.join(names[:10])}." if names else "The address should end with /v1."
        return BackendError(f"The server knows no completions of {server.model!r} there: {error}", known)
    if isinstance(error, net.Refused | net.BadAnswer | net.TooLarge) or (
        400 <= status < 500 and status not in RETRIED
    ):
        return BackendError(str(error))
    return BackendUnavailable(str(error), "Try again when the server answers.")
