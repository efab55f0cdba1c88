"""Models behind an OpenAI-compatible completion server (vLLM, llama.cpp) that tells how likely a prompt is."""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from gym import net
from models_registry.backends.base import BackendError, ExternalAccess, ModelFacts
from models_registry.backends.openai_wire import (
    METHODS,
    NotEchoed,
    Prompt,
    Server,
    Unreadable,
    explained,
    read_choice,
)
from models_registry.backends.policies import require_possible
from models_registry.engine.policy import ScoringPolicy
from models_registry.engine.scores import ScoringFailure, TokenScores

_PROBE = "The keys are on the table."
_MOST_BYTES = 100_000_000
_NO_CHANCE = -9000.0
"""vLLM writes -9999 where a logarithm is minus infinity."""
_NOISE = 1e-3
"""Natural logarithms a little above 0 are rounding, not probabilities above 1."""
_ONE_BY_ONE = frozenset({400, 413, 422})


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
