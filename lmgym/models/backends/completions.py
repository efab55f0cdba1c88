"""Prompts as completion servers answer about them: requests, and answers in either dialect as tokens, places and
natural logarithms.

There are two ways to ask: `echo` with `logprobs` (the prompt comes back as tokens with natural logarithms), and vLLM's
`prompt_logprobs`. Both generate one new token, which is thrown away: llama-cpp-python reads `max_tokens=0` as "until
the context is full".
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from lmgym import net
from lmgym.models.backends.base import BackendError, BackendUnavailable
from lmgym.models.engine.token_alignment import TokenAlignmentError, align_server_tokens

RETRIED = frozenset({429, 503})
WAITS = (1.0, 2.0, 4.0, 8.0)
"""Seconds before each further try, unless the server names others."""
LONGEST_WAIT = 60.0
METHODS = ("echo", "prompt_logprobs")
REFUSED = frozenset({400, 413, 422})
"""What is wrong with these is the request, and another may do."""


class NotEchoed(Exception):
    """The server answered, but not with the likelihood of the prompt in this way."""


class Unreadable(Exception):
    """The answer about this one text cannot be used; the message says why."""


@dataclass(frozen=True)
class Dialect:
    """How to ask one server and how to read its answers.

    method  one of METHODS
    before  start token put in front of each text; empty: none is
    early   each value stands one place before its token
    """

    method: str
    before: str = ""
    early: bool = False


@dataclass(frozen=True)
class Answer:
    """Choices in the order of the prompts. `prompt_tokens` are the tokens of all prompts, where the server counts
    them."""

    choices: list[dict[str, Any]]
    prompt_tokens: int | None


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

    def ask(self, prompts: Sequence[str], method: str) -> Answer:
        """Ask how likely the prompts are. NetError when no answer comes, NotEchoed when it is none."""
        how = {"prompt_logprobs": 0} if method == "prompt_logprobs" else {"echo": True, "logprobs": 1}
        return self._complete(prompts, how)

    def continuations(self, prompt: str, number: int) -> dict[str, float]:
        """The likeliest next tokens with their natural logarithms; none where the server ended the text instead of
        going on (llama-cpp-python lists no end token). NetError or NotEchoed as in `ask`."""
        [choice] = self._complete([prompt], {"logprobs": number}).choices
        found = choice.get("logprobs")
        likely = found.get("top_logprobs") if isinstance(found, dict) else None
        if not isinstance(likely, list) or not all(isinstance(one, dict) for one in likely):
            raise NotEchoed("the server does not list likely next tokens (top_logprobs)")
        numbers = {token: _number(value) for one in likely[:1] for token, value in one.items()}
        return {token: value for token, value in numbers.items() if value is not None}

    def _complete(self, prompts: Sequence[str], how: dict[str, Any]) -> Answer:
        body = {"model": self.model, "prompt": list(prompts), "temperature": 1.0, "max_tokens": 1, **how}
        answer = self._send("POST", "completions", body)
        choices = answer.get("choices") if isinstance(answer, dict) else None
        if not isinstance(choices, list) or not all(isinstance(choice, dict) for choice in choices):
            raise NotEchoed("the answer has no list of choices")
        if len(choices) != len(prompts):
            raise NotEchoed(f"{len(choices)} choices came for {len(prompts)} prompts")
        usage = answer.get("usage")
        count = usage.get("prompt_tokens") if isinstance(usage, dict) else None
        prompt_tokens = count if isinstance(count, int) else None
        if len(choices) == 1:
            return Answer(choices, prompt_tokens)
        if sorted(choice.get("index", -1) for choice in choices) != list(range(len(prompts))):
            raise NotEchoed("the choices are not numbered like the prompts")
        return Answer(sorted(choices, key=lambda choice: int(choice["index"])), prompt_tokens)

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


def read_choice(choice: dict[str, Any], prompt: str, dialect: Dialect) -> Prompt:
    """Read a choice about its prompt, `dialect.before` included. NotEchoed when it tells nothing, Unreadable when it
    cannot be mapped."""
    if dialect.method == "prompt_logprobs":
        return _read_prompt_logprobs(choice, prompt)
    return _read_echo(choice, prompt, dialect)


def _read_echo(choice: dict[str, Any], prompt: str, dialect: Dialect) -> Prompt:
    found = choice.get("logprobs")
    if not isinstance(found, dict) or not isinstance(found.get("tokens"), list):
        raise NotEchoed("the choice has no logprobs with tokens")
    tokens, logs, offsets = found["tokens"], found.get("token_logprobs"), found.get("text_offset")
    if not isinstance(logs, list) or len(logs) != len(tokens):
        raise NotEchoed("token_logprobs is not a list as long as tokens")
    if not all(isinstance(token, str) for token in tokens):
        raise NotEchoed("a token is not text")
    usable = _offsets(offsets, len(tokens))
    numbers = _in_place([_number(value) for value in logs], dialect)
    error: TokenAlignmentError | None = None
    for count in (len(tokens) - 1, len(tokens)):  # llama-cpp-python may leave the new token out
        try:
            return _prompt_of(prompt, tokens[:count], numbers[:count], usable and usable[:count], dialect)
        except TokenAlignmentError as reason:
            error = error or reason
    raise Unreadable(f"the tokens do not spell the sentence: {error}")


def _in_place(logs: list[float | None], dialect: Dialect) -> list[float | None]:
    return [None, *logs[:-1]] if dialect.early and logs else logs


def _offsets(given: Any, size: int) -> list[int] | None:
    fits = isinstance(given, list) and len(given) == size and all(isinstance(value, int) for value in given)
    return given if fits else None


def _prompt_of(
    prompt: str, tokens: list[str], logs: list[float | None], offsets: list[int] | None, dialect: Dialect
) -> Prompt:
    """Align all tokens; or those after a start token of the server's own; or, where the server leaves the start token
    out of its answer (llama-cpp-python), the tokens with the text behind it. TokenAlignmentError when none fits."""
    ids = [zlib.crc32(token.encode("utf-8", "surrogatepass")) for token in tokens]
    try:
        return Prompt(tokens, ids, align_server_tokens(prompt, tokens, offsets), logs, started=False)
    except TokenAlignmentError:
        size = len(dialect.before)
        with suppress(TokenAlignmentError):
            moved = offsets and [place - offsets[1] for place in offsets[1:]] if len(tokens) > 1 else None
            spans = align_server_tokens(prompt, tokens[1:], moved)
            return Prompt(tokens, ids, [(0, 0), *spans], logs, started=True)
        if not size:
            raise
        spans = align_server_tokens(prompt[size:], tokens, offsets)
        return Prompt(tokens, ids, [(start + size, end + size) for start, end in spans], logs, started=False)


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
