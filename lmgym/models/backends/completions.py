"""Client for completion servers: requests log-probabilities of prompts, and reads the responses of two methods.

The methods are `echo` with `logprobs` (the server returns the prompt as tokens with natural log-probabilities), and
vLLM's `prompt_logprobs`. Both request one new token and discard it, since llama-cpp-python takes
`max_tokens=0` to mean "until the context is full".
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from lmgym import net
from lmgym.models.backends.base import BackendError, BackendUnavailable
from lmgym.models.engine.server_tokens import BROKEN, AmbiguousTokens, align_server_tokens
from lmgym.models.engine.token_alignment import TokenAlignmentError
from lmgym.text import listing

RETRIED = frozenset({429, 503})
WAITS = (1.0, 2.0, 4.0, 8.0)
"""Seconds before each retry, unless the server sends Retry-After."""
LONGEST_WAIT = 60.0
METHODS = ("echo", "prompt_logprobs")
REFUSED = frozenset({400, 413, 422})
"""Status codes of an invalid request; a different request may succeed."""


class NotEchoed(Exception):
    """The response does not contain log-probabilities of the prompt."""


class Unreadable(Exception):
    """The response for one text cannot be used; the message is the reason."""


@dataclass(frozen=True)
class Dialect:
    """Conventions for querying a server and reading its responses.

    Attributes:
        method: one of METHODS.
        before: start token prepended to each text; "" = none.
        early: each value is listed one token too early.
    """

    method: str
    before: str = ""
    early: bool = False


@dataclass(frozen=True)
class Response:
    """Choices in the order of the prompts; a single one includes the response's `usage`. `prompt_tokens` is the token
    count of all prompts, or None if unknown."""

    choices: list[dict[str, Any]]
    prompt_tokens: int | None


@dataclass(frozen=True)
class Prompt:
    """Tokens of one prompt and the characters they cover.

    Attributes:
        logs: natural log-probability of each token; None = no value.
        started: token 0 is a start token that the server added; its span is (0, 0).
    """

    tokens: list[str]
    ids: list[int]
    spans: list[tuple[int, int]]
    logs: list[float | None]
    started: bool


class Server:
    """One model on one server. `sleep` waits between retries."""

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

    def ask(self, prompts: Sequence[str], method: str) -> Response:
        """Request log-probabilities of prompts.

        Raises:
            NetError: the request failed.
            NotEchoed: the response is not a list of choices for the prompts.
        """
        how = {"prompt_logprobs": 0} if method == "prompt_logprobs" else {"echo": True, "logprobs": 1}
        return self._complete(prompts, how)

    def continuations(self, prompt: str, number: int) -> dict[str, float]:
        """Return the most likely next tokens with their natural log-probabilities.

        Empty if the server ends the text (llama-cpp-python does not list the end token). Errors are as in `ask`.
        """
        [choice] = self._complete([prompt], {"logprobs": number}).choices
        logprobs = choice.get("logprobs")
        likely = logprobs.get("top_logprobs") if isinstance(logprobs, dict) else None
        if not isinstance(likely, list) or not all(isinstance(entry, dict) for entry in likely):
            raise NotEchoed("the server does not list likely next tokens (top_logprobs)")
        numbers = {token: _number(value) for entry in likely[:1] for token, value in entry.items()}
        return {token: value for token, value in numbers.items() if value is not None}

    def _complete(self, prompts: Sequence[str], how: dict[str, Any]) -> Response:
        body = {"model": self.model, "prompt": list(prompts), "temperature": 1.0, "max_tokens": 1, **how}
        answer = self._send("POST", "completions", body)
        choices = answer.get("choices") if isinstance(answer, dict) else None
        if not isinstance(choices, list) or not all(isinstance(choice, dict) for choice in choices):
            raise NotEchoed("the response has no list of choices")
        if len(choices) != len(prompts):
            raise NotEchoed(
                f"the number of choices is {len(choices)}, but the number of prompts is {len(prompts)}"
            )
        usage = answer.get("usage")
        count = usage.get("prompt_tokens") if isinstance(usage, dict) else None
        prompt_tokens = count if isinstance(count, int) else None
        if len(choices) == 1:
            return Response([{**choices[0], "usage": usage}], prompt_tokens)
        if sorted(choice.get("index", -1) for choice in choices) != list(range(len(prompts))):
            raise NotEchoed("the indices of the choices do not match the prompts")
        return Response(sorted(choices, key=lambda choice: int(choice["index"])), prompt_tokens)

    def models(self) -> list[str]:
        """List the models that the server offers; empty if unknown."""
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
            requested = answer.retry_after
            self._sleep(min(wait if requested is None else requested, LONGEST_WAIT))
        return answer.raise_for_status().json()


def read_choice(choice: dict[str, Any], prompt: str, dialect: Dialect) -> Prompt:
    """Read the tokens of a prompt from a choice.

    Args:
        prompt: the text as sent, including `dialect.before`.

    Raises:
        NotEchoed: the choice has no log-probabilities of the prompt.
        Unreadable: its tokens cannot be aligned with the prompt.
    """
    if dialect.method == "prompt_logprobs":
        return _read_prompt_logprobs(choice, prompt, dialect)
    return _read_echo(choice, prompt, dialect)


def _read_echo(choice: dict[str, Any], prompt: str, dialect: Dialect) -> Prompt:
    logprobs = choice.get("logprobs")
    if not isinstance(logprobs, dict) or not isinstance(logprobs.get("tokens"), list):
        raise NotEchoed("the choice has no tokens in its logprobs")
    tokens, logs, offsets = logprobs["tokens"], logprobs.get("token_logprobs"), logprobs.get("text_offset")
    if not isinstance(logs, list) or len(logs) != len(tokens):
        raise NotEchoed("token_logprobs and tokens are not lists of equal length")
    if not all(isinstance(token, str) for token in tokens):
        raise NotEchoed("a token is not a string")
    places = _offsets(offsets, len(tokens))
    numbers = _in_place([_number(value) for value in logs], dialect)
    error: TokenAlignmentError | None = None
    readings: list[Prompt] = []
    for count in _counts(choice, len(tokens)):
        try:
            ends = places and places[: count + 1]
            readings.append(_prompt_of(prompt, tokens[:count], numbers[:count], ends, dialect))
        except AmbiguousTokens as reason:
            raise Unreadable(str(reason)) from reason
        except TokenAlignmentError as reason:
            error = error or reason
    if not readings:
        raise Unreadable(f"the tokens do not spell the sentence: {error}")
    if len(readings) > 1 and not readings[1].tokens[-1].strip(BROKEN):
        raise Unreadable(
            "a token without a spelling may have been generated, or be part of the prompt's last character"
        )
    return readings[0]


def _counts(choice: dict[str, Any], size: int) -> list[int]:
    """Return possible numbers of listed tokens that belong to the prompt.

    llama-cpp-python generates more than one token to finish a character, and may omit the last token from its response.
    """
    usage = choice.get("usage")
    new = usage.get("completion_tokens") if isinstance(usage, dict) else None
    most = size - (new if isinstance(new, int) and new >= 0 else 1)
    return sorted({max(0, most), max(0, min(size, most + 1))})


def _in_place(logs: list[float | None], dialect: Dialect) -> list[float | None]:
    return [None, *logs[:-1]] if dialect.early and logs else logs


def _offsets(value: Any, size: int) -> tuple[int, ...] | None:
    fits = isinstance(value, list) and len(value) == size
    return tuple(value) if fits and all(isinstance(place, int) and place >= 0 for place in value) else None


def _prompt_of(
    prompt: str,
    tokens: list[str],
    logs: list[float | None],
    offsets: tuple[int, ...] | None,
    dialect: Dialect,
) -> Prompt:
    """Align tokens with the prompt.

    Tries all tokens with the whole prompt; then all tokens but the first, which may be a start token added by the
    server; then, for a server that omits the start token from its response (llama-cpp-python) or does not spell it, the
    text after the start token.

    Raises:
        TokenAlignmentError: none of these alignments works.
        AmbiguousTokens: one of them works in several ways.
    """
    ids = [zlib.crc32(token.encode("utf-8", "surrogatepass")) for token in tokens]
    size = len(dialect.before)
    is_spelled = bool(tokens) and tokens[0].strip(BROKEN) != ""
    ways = [(0, 0, True), (0, 1, is_spelled), (size, 0, size > 0), (size, 1, size > 0 and not is_spelled)]
    error: TokenAlignmentError | None = None
    for begin, skipped, is_possible in ways:
        if not is_possible:
            continue
        moved = offsets and [offset - offsets[skipped] for offset in offsets[skipped:]]
        try:
            spans = align_server_tokens(prompt[begin:], tokens[skipped:], moved)
        except AmbiguousTokens:
            raise
        except TokenAlignmentError as reason:
            error = error or reason
            continue
        first = [(0, begin)] * skipped
        moved_spans = [(start + begin, end + begin) for start, end in spans]
        return Prompt(tokens, ids, [*first, *moved_spans], logs, started=skipped == 1 and not begin)
    assert error is not None
    raise error


def _number(value: Any) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Unreadable(f"{value!r} is not a log-probability")
    return float(value)


def _read_prompt_logprobs(choice: dict[str, Any], prompt: str, dialect: Dialect) -> Prompt:
    """Read a list with one entry per token: null for the first, {id: {logprob, decoded_token}} for the others."""
    entries = choice.get("prompt_logprobs")
    if not isinstance(entries, list) or not entries:
        raise NotEchoed("the choice has no prompt_logprobs")
    tokens, ids, logs = [], [], []
    for entry in entries[1:]:
        if not isinstance(entry, dict) or len(entry) != 1:
            raise NotEchoed("an entry of prompt_logprobs does not describe exactly one token")
        [(number, facts)] = entry.items()
        if not isinstance(facts, dict) or not isinstance(facts.get("decoded_token"), str):
            raise NotEchoed("an entry of prompt_logprobs has no decoded_token")
        tokens.append(facts["decoded_token"])
        ids.append(int(number) if str(number).isdecimal() else zlib.crc32(str(number).encode()))
        logs.append(_number(facts.get("logprob")))
    return _with_first(prompt, tokens, ids, logs, dialect)


def _with_first(
    prompt: str, tokens: list[str], ids: list[int], logs: list[float | None], dialect: Dialect
) -> Prompt:
    """Infer the first token, which is not listed: a start token if the others spell the whole prompt, else the
    beginning of the prompt that the others do not cover."""
    error: TokenAlignmentError | None = None
    readings: list[tuple[int, list[tuple[int, int]]]] = []
    longest = len(prompt) if len(tokens) < 2 else min(len(prompt), 100)
    sums = list(accumulate(map(len, tokens), initial=0))  # what vLLM returns as offsets
    are_spelled = all(token and BROKEN not in token for token in tokens)
    for size in range(longest + 1):
        try:
            readings.append((size, align_server_tokens(prompt[size:], tokens, sums)))
        except AmbiguousTokens as reason:
            raise Unreadable(str(reason)) from reason
        except TokenAlignmentError as reason:
            error = error or reason
        if readings and are_spelled:
            break
    if not readings:
        raise Unreadable(f"the tokens do not spell the sentence: {error}")
    size, spans = readings[0]
    is_in_character = size not in (0, len(dialect.before)) and bool(tokens) and not tokens[0].strip(BROKEN)
    if is_in_character or prompt[size : readings[-1][0]].strip():
        raise Unreadable(
            "the first token is not listed, and the next ones do not spell all parts of the first character; a start "
            "token avoids this"
        )
    first = prompt[:size]
    moved = [(start + size, end + size) for start, end in spans]
    number = zlib.crc32(first.encode("utf-8", "surrogatepass"))
    return Prompt(
        [first or "<start>", *tokens], [number, *ids], [(0, size), *moved], [None, *logs], not first
    )


def explained(error: net.NetError, server: Server) -> BackendError:
    """Convert a failed request to an error that tells the user what to do."""
    status = error.status if isinstance(error, net.HTTPStatus) else 0
    if status in (401, 403):
        return BackendError(
            f"The server rejects the API key: {error}", "Enter the correct key on the model's edit page."
        )
    if status == 404:
        names = server.models()
        hint = (
            f"Models on this server: {listing(names, 10)}." if names else "The address should end with /v1."
        )
        return BackendError(
            f"The server offers no completions for {server.model!r} at this address: {error}", hint
        )
    if isinstance(error, net.Refused | net.BadResponse | net.TooLarge) or (
        400 <= status < 500 and status not in RETRIED
    ):
        return BackendError(str(error))
    return BackendUnavailable(str(error), "Try again when the server is available.")
