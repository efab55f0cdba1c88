"""Transports and judges made from rows. For the worker only: models are loaded here."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from django.utils.crypto import salted_hmac

from gym.agents.models import ARROW, AgentServer, AgentSuite
from gym.outbound_policy import net_policy
from gym.secrets import reveal
from lmgym.agents.cases import Reading
from lmgym.agents.embedded import EmbeddedServer, EmbeddedTransport
from lmgym.agents.llm_judge import AgentJudge, Asked, SurprisalJudge, VotingJudge
from lmgym.agents.patience import for_a_run
from lmgym.agents.protocol import is_too_deep
from lmgym.agents.redact import header_words, redactor
from lmgym.agents.transport import (
    ChatTransport,
    ContinuingTransport,
    Deadline,
    HTTPTransport,
    Transport,
    TransportError,
    one_at_a_time,
)
from models_registry.models import RegisteredModel

EMBEDDED = EmbeddedServer()
"""One for the process, so that FLAKY alternates."""
MAX_NEW_TOKENS = 60
VERSION_SECONDS = 5.0


def transport_for(server: AgentServer) -> Transport:
    """Raises SecretError and BackendError."""
    if server.kind == AgentServer.Kind.EMBEDDED:
        return EmbeddedTransport(EMBEDDED)
    if server.kind == AgentServer.Kind.MODEL:
        assert server.wraps is not None
        return ContinuingTransport(server.wraps.slug, continuing(server.wraps))
    headers = {name: reveal(server.secrets, name) for name in server.secrets}
    hidden = headers_hidden(server)
    if server.kind == AgentServer.Kind.CHAT:
        return ChatTransport(
            server.url, server.chat_model, policy=net_policy, headers=headers, secrets=hidden
        )
    return HTTPTransport(server.url, policy=net_policy, headers=headers, secrets=hidden)


def version_in(health: Any) -> str:
    """The versions that a server reports, as text; may be empty."""
    versions = health.get("versions") if isinstance(health, dict) else None
    if not isinstance(versions, dict):
        return ""
    told = (f"{name[:40]} {str(value)[:20]}" for name, value in list(versions.items())[:3])
    return ", ".join(told).replace(ARROW, " -> ")[:100]


def ask_version(transport: Transport) -> str | None:
    """The version running now; empty if the server reports none, None if it does not answer."""
    try:
        health = transport.get("/healthz", Deadline(time.monotonic() + VERSION_SECONDS, "The question"))
    except TransportError:
        return None
    return None if is_too_deep(health) else version_in(redactor(transport.secrets)(health))


def headers_hidden(server: AgentServer) -> tuple[str, ...]:
    """The secrets in the headers, which must appear in no output. Raises SecretError."""
    return tuple(word for name in server.secrets for word in header_words(reveal(server.secrets, name)))


def judge_for(suite: AgentSuite, reading: Reading, hidden: Sequence[str]) -> VotingJudge | None:
    """The suite's judge, or None. Raises SecretError and BackendError."""
    model = suite.judge
    if model is None:
        return None
    server = AgentServer.objects.filter(model=model).select_related("wraps", "model").first()
    compatible = reading == "reference-compatible" and server is not None
    ask: Asked
    secrets: tuple[str, ...] = ()
    if server is not None:
        transport = for_a_run(transport_for(server))
        secrets = transport.secrets
        agent = suite.judge_agent or server.chat_model or "judge"
        server.version = ask_version(transport) or server.version
        ask = AgentJudge(transport, agent, identity_of(server), compiled=compatible)
    else:
        behind = _identity([model.slug, model.fingerprint, model.config])
        ask = SurprisalJudge(bits_of(model), behind)
    return VotingJudge(ask, suite.judge_votes, compatible, clean=redactor([*secrets, *hidden]))


def identity_of(server: AgentServer) -> str:
    """What makes the answers: verdicts of another address, model or version are not those of this judge."""
    wraps = server.wraps
    behind = [wraps.slug, wraps.fingerprint] if wraps is not None else []
    return _identity([server.model.slug, server.kind, server.url, server.chat_model, server.version, *behind])


def _identity(parts: list[Any]) -> str:
    """A keyed hash: results show what is made of it to people who may not see the address."""
    return salted_hmac("gym.agents.judge", json.dumps(parts, sort_keys=True), algorithm="sha256").hexdigest()


def bits_of(model: RegisteredModel) -> Callable[[str, Sequence[str], Deadline], list[float | None]]:
    """Bits of each continuation of a prompt. The model is loaded once and used by one thread at a time; a thread that
    waits until the deadline gets TransportError."""
    from lmgym.models.engine import ScoringFailure, ScoringPolicy
    from models_registry.warm import load_pinned

    backend = load_pinned(model)
    lock = threading.Lock()

    def bits(prompt: str, words: Sequence[str], deadline: Deadline) -> list[float | None]:
        texts = [prompt + word for word in words]
        spans = [[(len(prompt), len(text))] for text in texts]
        with one_at_a_time(lock, deadline.check):
            scored = backend.score(texts, ScoringPolicy(), spans)
        found: list[float | None] = []
        for result in scored:
            if isinstance(result, ScoringFailure):
                found.append(None)
                continue
            values = [
                value
                for value, (_, end), special in zip(result.bits, result.offsets, result.special, strict=True)
                if end > len(prompt) and not special
            ]
            found.append(
                None if not values or None in values else sum(value for value in values if value is not None)
            )
        return found

    return bits


def continuing(model: RegisteredModel) -> Callable[[str, float], tuple[str, int, int]]:
    """Greedy continuation of a text by a causal model, up to the end of a line."""
    from models_registry.warm import load_pinned

    backend: Any = load_pinned(model)

    def continue_text(text: str, seconds: float) -> tuple[str, int, int]:
        return backend.continue_text(text + "\n", max_tokens=MAX_NEW_TOKENS, seconds=seconds)  # type: ignore[no-any-return]

    return continue_text
