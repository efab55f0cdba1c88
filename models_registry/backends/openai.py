"""Models behind an OpenAI-compatible completion server (vLLM, llama.cpp) that tells how likely a prompt is.

There are two ways to ask: `echo=true, logprobs=1` (the prompt comes back as tokens with natural logarithms), and vLLM's
`prompt_logprobs`. Servers that insist on one new token get `max_tokens=1`; the new token is thrown away.
"""

from __future__ import annotations

import hashlib
import json
import math
import time
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gym import net
from models_registry.backends.base import (
    BackendError,
    BackendUnavailable,
    ExternalAccess,
    ModelFacts,
    require_possible,
)
from models_registry.engine.policy import ScoringPolicy
from models_registry.engine.scores import ScoringFailure, TokenScores
from models_registry.engine.token_alignment import TokenAlignmentError, align_server_tokens

RETRIED = frozenset({429, 503})
WAITS = (1.0, 2.0, 4.0, 8.0)
"""Seconds before each further try, unless the server names others."""
LONGEST_WAIT = 60.0
METHODS = ("echo", "echo-1", "prompt_logprobs")
_PROBE = "The keys are on the table."
_MOST_BYTES = 100_000_000
_NO_CHANCE = -9000.0
"""vLLM writes -9999 where a logarithm is minus infinity."""
_NOISE = 1e-3
"""Natural logarithms a little above 0 are rounding, not probabilities above 1."""
_ONE_BY_ONE = frozenset({400, 413, 422})


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


class OpenAIBackend:
    """Scores prompts by what the server says about them."""

    def __init__(
        self, server: Server, config: dict[str, Any], method: str, started: bool, tokens: list[str]
    ) -> None:
        self._server = server
        self._method = method
        self._started = started
        self._bos, self._eos = config.get("bos_token", ""), config.get("eos_token", "")
        self._batch = int(config.get("batch", 16))
        start = "The server puts a start token before each text by itself."
        if not started:
            start = f"{self._bos} is put before each text." if self._bos else "There is no start token."
        self.facts = ModelFacts(
            parameters=None,
            vocabulary_size=None,
            tokenizer="the server's own",
            context_length=None,
            bos=tokens[0] if started else self._bos or None,
            eos=self._eos or None,
            dtype="as served",
            device="elsewhere",
            revision="",
            fingerprint=_fingerprint(config, method, started, tokens),
            architecture=f"{config['model']} at {config['base_url']}",
            notes=(
                f"Asked by {method}. {start}",
                "The server may change what it serves without notice; the fingerprint covers address, name and how "
                "a probe sentence is cut into tokens.",
            ),
        )

    def score(
        self,
        texts: Sequence[str],
        policy: ScoringPolicy,
        needed: Sequence[Sequence[tuple[int, int]]] | None = None,
    ) -> list[TokenScores | ScoringFailure]:
        """One result per text, everything scored. A text whose answer cannot be mapped is a named failure.

        Raises BackendError when the policy cannot be followed, BackendUnavailable when the server does not answer."""
        before, after = self._around(policy)
        results: list[TokenScores | ScoringFailure] = []
        for start in range(0, len(texts), self._batch):
            results += self._score_batch(texts[start : start + self._batch], before, after)
        return results

    def _around(self, policy: ScoringPolicy) -> tuple[str, str]:
        """What is put before and after each text."""
        require_possible("openai", policy)
        if policy.eos and not self._eos:
            raise BackendError("The end token of this model is not known.", "Register it with an end token.")
        if policy.bos == "never" and self._started:
            raise BackendError(
                "The server puts a start token before every text, so bos=never cannot be followed."
            )
        if policy.bos == "always" and not (self._started or self._bos):
            raise BackendError(
                "The start token of this model is not known.", "Register it with a start token."
            )
        before = self._bos if policy.bos != "never" and not self._started else ""
        return before, self._eos if policy.eos else ""

    def _score_batch(
        self, texts: Sequence[str], before: str, after: str
    ) -> list[TokenScores | ScoringFailure]:
        asked = [text for text in dict.fromkeys(texts) if before + text + after]
        known: dict[str, TokenScores | ScoringFailure] = {"": TokenScores([], [], [], [], [])}
        known |= dict(zip(asked, self._ask(asked, before, after), strict=True)) if asked else {}
        return [known[text] for text in texts]

    def _ask(self, texts: list[str], before: str, after: str) -> list[TokenScores | ScoringFailure]:
        prompts = [before + text + after for text in texts]
        try:
            choices = self._server.ask(prompts, self._method)
        except net.HTTPStatus as error:
            if error.status not in _ONE_BY_ONE:
                raise explained(error, self._server) from error
            if len(texts) == 1:
                return [ScoringFailure(f"the server refuses this sentence: {error}")]
            return [result for text in texts for result in self._ask([text], before, after)]
        except (NotEchoed, net.TooLarge) as error:
            if len(texts) == 1:
                return [ScoringFailure(str(error))]
            return [result for text in texts for result in self._ask([text], before, after)]
        except net.NetError as error:
            raise explained(error, self._server) from error
        return [
            self._scores(text, prompt, choice, before, after)
            for text, prompt, choice in zip(texts, prompts, choices, strict=True)
        ]

    def _scores(
        self, text: str, prompt: str, choice: Any, before: str, after: str
    ) -> TokenScores | ScoringFailure:
        try:
            return _to_bits(text, read_choice(choice, prompt, self._method), before, after)
        except (NotEchoed, Unreadable) as error:
            return ScoringFailure(str(error))


def _to_bits(text: str, prompt: Prompt, before: str, after: str) -> TokenScores:
    """Spans of the text instead of the prompt, bits instead of natural logarithms. Unreadable when that fails."""
    shift, size = len(before), len(text)
    offsets, special = [], []
    last = len(prompt.tokens) - 1
    for number, (start, end) in enumerate(prompt.spans):
        is_start = number == 0 and (prompt.started or bool(before))
        is_end = number == last and bool(after)
        if (is_start and end > shift) or (is_end and start < shift + size):
            raise Unreadable(
                "the start or end token is not a token of its own; is it spelled as the model does?"
            )
        special.append(is_start or is_end)
        offsets.append((0, 0) if is_start else (size, size) if is_end else (start - shift, end - shift))
        if not special[-1] and not 0 <= start - shift <= end - shift <= size:
            raise Unreadable(
                "a token reaches beyond the sentence; is the start token spelled as the model does?"
            )
    return TokenScores(prompt.tokens, prompt.ids, offsets, _bits(prompt), special)


def _bits(prompt: Prompt) -> list[float | None]:
    bits: list[float | None] = []
    for place, (token, log) in enumerate(zip(prompt.tokens, prompt.logs, strict=True)):
        if log is None or place == 0:  # some servers write 0 for a first token they did not score
            if place:
                raise Unreadable(f"the token {token!r} has no value")
            bits.append(None)
        elif log <= _NO_CHANCE or not math.isfinite(log):
            raise Unreadable(f"the token {token!r} has the probability 0")
        elif log > _NOISE:
            raise Unreadable(f"the token {token!r} has a logarithm of {log}, a probability above 1")
        else:
            bits.append(max(0.0, -log) / math.log(2))
    return bits


def _fingerprint(config: dict[str, Any], method: str, started: bool, tokens: list[str]) -> str:
    names = ("base_url", "model", "bos_token", "eos_token")
    parts = ["openai 1", *(config.get(name, "") for name in names), method, started, tokens]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def load(
    config: dict[str, Any],
    *,
    model_dir: Path,
    hub_allowed: bool,
    external_access: ExternalAccess,
    sleep: Callable[[float], None] = time.sleep,
) -> OpenAIBackend:
    """Ask the server about one sentence, in each way until one works. Raises BackendError."""
    if external_access.net is None:
        raise BackendError("This site lends no way out to this model.")
    policy = replace(external_access.net, seconds=float(config.get("seconds", 60)), max_bytes=_MOST_BYTES)
    server = Server(
        config["base_url"], config["model"], external_access.secrets.get("api_key", ""), policy, sleep
    )
    wanted = config.get("method", "auto")
    refusals = []
    for method in [name for name in METHODS if wanted == "auto" or name.startswith(wanted)]:
        try:
            found = read_choice(server.ask([_PROBE], method)[0], _PROBE, method)
        except (NotEchoed, Unreadable) as error:
            refusals.append(f"{method}: {error}")
        except net.HTTPStatus as error:
            if error.status not in _ONE_BY_ONE:
                raise explained(error, server) from error
            refusals.append(f"{method}: {error}")
        except net.NetError as error:
            raise explained(error, server) from error
        else:
            return OpenAIBackend(server, config, method, found.started, found.tokens)
    raise BackendError(
        f"The server does not tell how likely a prompt is ({'; '.join(refusals)}).",
        "Surprisals need a server that echoes log-probabilities, as vLLM and llama-cpp-python do.",
    )
