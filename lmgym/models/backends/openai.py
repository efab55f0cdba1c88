"""Models on an OpenAI-compatible completion server (vLLM, llama.cpp) that returns log-probabilities of prompts.

Nothing is scored before `completions_proof` has verified that values belong to the tokens they are listed with.
"""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lmgym import net
from lmgym.models.backends.base import BackendError, ExternalAccess, ModelFacts, require_possible
from lmgym.models.backends.completions import (
    METHODS,
    REFUSED,
    RETRIED,
    Dialect,
    NotEchoed,
    Prompt,
    Server,
    Unreadable,
    explained,
    read_choice,
)
from lmgym.models.backends.completions_proof import Proof, Unproven, prove
from lmgym.models.engine.policy import ScoringPolicy
from lmgym.models.engine.scores import ScoringFailure, TokenScores

_PROBE = "The keys are on the table."
_MOST_BYTES = 100_000_000
_NO_CHANCE = -9000.0
"""vLLM returns -9999 for a log-probability of minus infinity."""
_NOISE = 1e-3
"""Log-probabilities up to this are rounding errors of 0, not probabilities above 1."""


@dataclass(frozen=True)
class _Manner:
    """Behaviour of a server, detected with a probe sentence.

    Attributes:
        tokens: tokens of a probe sentence, as spelled by the server.
        started: the server adds a start token to each text.
        hidden: the response omits this start token.
        batch: prompts in one request.
        lists_fail: why prompts are sent one by one, or "".
    """

    method: str
    tokens: list[str]
    started: bool
    hidden: bool
    batch: int
    lists_fail: str

    @property
    def start_token(self) -> str | None:
        return self.tokens[0] if self.started and not self.hidden else None


def _find_manner(server: Server, method: str, batch: int) -> _Manner:
    """Detect how a server processes one prompt and a list. Raises NetError, NotEchoed or Unreadable."""
    response = server.ask([_PROBE], method)
    probe = read_choice(response.choices[0], _PROBE, Dialect(method))
    hidden = response.prompt_tokens == len(probe.tokens) + 1
    lists_fail = ""
    if batch > 1:
        try:
            server.ask([_PROBE, _PROBE], method)
        except (NotEchoed, net.NetError) as error:
            if not _may_be_the_list(error):
                raise
            reason = f"status {error.status}" if isinstance(error, net.HTTPStatus) else str(error)
            batch, lists_fail = 1, f"Prompts are sent one by one: the server fails on a list ({reason})."
    return _Manner(method, probe.tokens, probe.started or hidden, hidden, batch, lists_fail)


def _start(manner: _Manner, bos: str) -> str:
    if manner.hidden:
        return "The server adds a start token to each text and omits it from its response."
    if manner.started:
        return "The server adds a start token to each text."
    return f"{bos} is prepended to each text." if bos else "No start token is used."


class OpenAIBackend:
    """Backend that computes surprisals from the log-probabilities that a server returns."""

    def __init__(self, server: Server, config: dict[str, Any], manner: _Manner, proof: Proof) -> None:
        self._server = server
        self._manner = manner
        self._proven = {proof.dialect.before: proof}
        self._bos, self._eos = config.get("bos_token", ""), config.get("eos_token", "")
        self.facts = ModelFacts(
            parameters=None,
            vocabulary_size=None,
            tokenizer="the server's own",
            context_length=None,
            bos=manner.start_token if manner.started else self._bos or None,
            eos=self._eos or None,
            dtype="as served",
            device="elsewhere",
            revision="",
            fingerprint=_fingerprint(config, manner, proof),
            architecture=f"{config['model']} at {config['base_url']}",
            notes=(
                f"Method: {manner.method}. {_start(manner, self._bos)}",
                *([manner.lists_fail] if manner.lists_fail else []),
                *proof.notes,
                "The server may change the model without notice; the fingerprint covers only the address, the model's "
                "name, its start and end tokens, the scoring method and the tokens of a probe sentence.",
            ),
        )

    @property
    def start_policy(self) -> str:
        """`ScoringPolicy.bos` with which another model reads texts after the same start token as the server; "auto" if
        the server does not name the token that it adds."""
        return "auto" if self._manner.hidden else self.facts.bos or "never"

    def score(
        self,
        texts: Sequence[str],
        policy: ScoringPolicy,
        needed: Sequence[Sequence[tuple[int, int]]] | None = None,
    ) -> list[TokenScores | ScoringFailure]:
        """Score all tokens of texts. See `Backend.score`.

        Returns:
            One result per text; a text whose response cannot be aligned gives a ScoringFailure.

        Raises:
            BackendError: the server cannot follow the policy.
            BackendUnavailable: the server is unavailable.
        """
        before, after = self._around(policy)
        dialect = self._proven_dialect(before)
        results: list[TokenScores | ScoringFailure] = []
        for start in range(0, len(texts), self._manner.batch):
            results += self._score_batch(texts[start : start + self._manner.batch], dialect, after)
        return results

    def _proven_dialect(self, before: str) -> Dialect:
        """Return the proven dialect for a start token.

        Each start token is tested when it is first used, because values may be correct only after a start token.
        """
        if before not in self._proven:
            try:
                dialect = Dialect(self._manner.method, before)
                self._proven[before] = prove(self._server, dialect, self._manner.batch)
            except (NotEchoed, Unreadable) as error:
                raise Unproven(f"The server's responses cannot be used: {error}.") from error
        return self._proven[before].dialect

    def _around(self, policy: ScoringPolicy) -> tuple[str, str]:
        """Return the start and end token to add to each text."""
        require_possible("openai", policy)
        if policy.eos and not self._eos:
            raise BackendError(
                "The end token of this model is unknown.", "Register the model with an end token."
            )
        if policy.bos == "never" and self._manner.started:
            raise BackendError("The server adds a start token to every text, so bos=never is not supported.")
        if policy.bos == "always" and not (self._manner.started or self._bos):
            raise BackendError(
                "The start token of this model is unknown.", "Register the model with a start token."
            )
        named_bos = policy.named_bos
        if named_bos and self._manner.started and named_bos != self.facts.bos:
            raise BackendError(
                f"The server adds a start token to every text, so {named_bos!r} cannot be used as well."
            )
        before = "" if policy.bos == "never" or self._manner.started else named_bos or self._bos
        return before, self._eos if policy.eos else ""

    def _score_batch(
        self, texts: Sequence[str], dialect: Dialect, after: str
    ) -> list[TokenScores | ScoringFailure]:
        distinct = [text for text in dict.fromkeys(texts) if dialect.before + text + after]
        results: dict[str, TokenScores | ScoringFailure] = {"": TokenScores([], [], [], [], [])}
        results |= dict(zip(distinct, self._ask(distinct, dialect, after), strict=True)) if distinct else {}
        return [results[text] for text in texts]

    def _ask(self, texts: list[str], dialect: Dialect, after: str) -> list[TokenScores | ScoringFailure]:
        prompts = [dialect.before + text + after for text in texts]
        try:
            choices = self._server.ask(prompts, self._manner.method).choices
        except (NotEchoed, net.NetError) as error:
            if len(texts) > 1 and _may_be_the_list(error):
                return [result for text in texts for result in self._ask([text], dialect, after)]
            if isinstance(error, net.HTTPStatus) and error.status in REFUSED:
                return [ScoringFailure(f"the server rejects this sentence: {error}")]
            if isinstance(error, NotEchoed | net.TooLarge):
                return [ScoringFailure(str(error))]
            raise explained(error, self._server) from error
        return [
            _scores(text, prompt, choice, dialect, after)
            for text, prompt, choice in zip(texts, prompts, choices, strict=True)
        ]


def _may_be_the_list(error: NotEchoed | net.NetError) -> bool:
    """Return whether the same prompts may succeed if they are sent one by one."""
    if isinstance(error, net.HTTPStatus):
        return error.status in REFUSED or (error.status >= 500 and error.status not in RETRIED)
    return isinstance(error, NotEchoed | net.TooLarge)


def _scores(
    text: str, prompt: str, choice: Any, dialect: Dialect, after: str
) -> TokenScores | ScoringFailure:
    try:
        return _to_bits(text, read_choice(choice, prompt, dialect), dialect.before, after)
    except (NotEchoed, Unreadable) as error:
        return ScoringFailure(str(error))


def _to_bits(text: str, prompt: Prompt, before: str, after: str) -> TokenScores:
    """Convert spans of the prompt to spans of the text, and natural logarithms to bits. Raises Unreadable."""
    shift, size = len(before), len(text)
    offsets, special = [], []
    last = len(prompt.tokens) - 1
    for number, (start, end) in enumerate(prompt.spans):
        is_start = number == 0 and (prompt.started or start < shift)
        is_end = number == last and bool(after)
        if (is_start and end > shift) or (is_end and start < shift + size):
            raise Unreadable(
                "the start or end token is not a separate token; check its spelling in the model's vocabulary"
            )
        special.append(is_start or is_end)
        offsets.append((0, 0) if is_start else (size, size) if is_end else (start - shift, end - shift))
        if not special[-1] and not 0 <= start - shift <= end - shift <= size:
            raise Unreadable(
                "a token extends beyond the sentence; check the spelling of the start token in the model's vocabulary"
            )
    return TokenScores(prompt.tokens, prompt.ids, offsets, _bits(prompt), special)


def _bits(prompt: Prompt) -> list[float | None]:
    bits: list[float | None] = []
    for index, (token, log) in enumerate(zip(prompt.tokens, prompt.logs, strict=True)):
        if log is None or index == 0:  # some servers return 0 for an unscored first token
            if index:
                raise Unreadable(f"the token {token!r} has no value")
            bits.append(None)
        elif log <= _NO_CHANCE or not math.isfinite(log):
            raise Unreadable(f"the token {token!r} has the probability 0")
        elif log > _NOISE:
            raise Unreadable(f"the token {token!r} has the log-probability {log}, a probability above 1")
        else:
            bits.append(max(0.0, -log) / math.log(2))
    return bits


def _fingerprint(config: dict[str, Any], manner: _Manner, proof: Proof) -> str:
    names = ("base_url", "model", "bos_token", "eos_token")
    moved = ["values one place early"] if proof.dialect.early else []
    parts = [
        "openai 1",
        *(config.get(name, "") for name in names),
        manner.method,
        manner.started,
        manner.tokens,
    ]
    return hashlib.sha256(json.dumps(parts + moved).encode()).hexdigest()


def load(
    config: dict[str, Any],
    *,
    model_dir: Path,
    hub_allowed: bool,
    external_access: ExternalAccess,
    sleep: Callable[[float], None] = time.sleep,
) -> OpenAIBackend:
    """Build a backend with the first method that works and is verified. Raises BackendError if none is."""
    if external_access.net is None:
        raise BackendError("This model may not send requests: it was loaded without a network policy.")
    policy = replace(external_access.net, seconds=float(config.get("seconds", 60)), max_bytes=_MOST_BYTES)
    server = Server(
        config["base_url"], config["model"], external_access.secrets.get("api_key", ""), policy, sleep
    )
    configured = config.get("method", "auto")
    refusals: list[str] = []
    unproven: list[Unproven] = []
    for method in [name for name in METHODS if configured in ("auto", name)]:
        try:
            manner = _find_manner(server, method, int(config.get("batch", 16)))
            before = "" if manner.started else config.get("bos_token", "")
            return OpenAIBackend(server, config, manner, prove(server, Dialect(method, before), manner.batch))
        except Unproven as error:
            unproven.append(error)
        except (NotEchoed, Unreadable) as error:
            refusals.append(f"{method}: {error}")
        except net.HTTPStatus as error:
            if error.status not in REFUSED:
                raise explained(error, server) from error
            refusals.append(f"{method}: {error}")
        except net.NetError as error:
            raise explained(error, server) from error
    if unproven:
        raise unproven[0]
    raise BackendError(
        f"The server does not return log-probabilities of prompts ({'; '.join(refusals)}).",
        "Use a server that echoes log-probabilities, such as vLLM or llama-cpp-python.",
    )
