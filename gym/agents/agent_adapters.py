"""Build transports and judges from rows. This decrypts secrets, so only workers may call it."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from typing import Any

from django.utils.crypto import salted_hmac

from gym.agents.models import ARROW, AgentServer, AgentSuite
from gym.outbound_policy import net_policy
from gym.secrets import reveal
from lmgym.agents.cases import Reading
from lmgym.agents.demo_server import DemoServer, DemoTransport
from lmgym.agents.llm_judge import AgentJudge, VotingJudge
from lmgym.agents.protocol import is_too_deep
from lmgym.agents.redact import header_words, redactor
from lmgym.agents.retries import run_transport
from lmgym.agents.transport import ChatTransport, Deadline, HTTPTransport, Transport, TransportError

EMBEDDED = DemoServer()
"""Demo server, shared within a process because its counter makes the answers to FLAKY alternate."""
VERSION_SECONDS = 5.0
UNSUPPORTED_KIND = "Servers of the kind “{}” are no longer supported."


def transport_for(server: AgentServer) -> Transport:
    """Return the transport for a server, including its secret headers.

    Raises:
        SecretError: a secret cannot be decrypted.
        TransportError: `unsendable`, for a kind of server that is no longer supported.
    """
    if server.kind == AgentServer.Kind.EMBEDDED:
        return DemoTransport(EMBEDDED)
    if server.kind not in AgentServer.Kind.values:
        raise TransportError("unsendable", UNSUPPORTED_KIND.format(server.kind))
    headers = {name: reveal(server.secrets, name) for name in server.secrets}
    hidden = headers_hidden(server)
    if server.kind == AgentServer.Kind.CHAT:
        return ChatTransport(
            server.url, server.chat_model, policy=net_policy, headers=headers, secrets=hidden
        )
    return HTTPTransport(server.url, policy=net_policy, headers=headers, secrets=hidden)


def version_in(health: Any) -> str:
    """Return the first three versions in a health report as text; empty if it has none."""
    versions = health.get("versions") if isinstance(health, dict) else None
    if not isinstance(versions, dict):
        return ""
    parts = (f"{name[:40]} {str(value)[:20]}" for name, value in list(versions.items())[:3])
    return ", ".join(parts).replace(ARROW, " -> ")[:100]


def fetch_version(transport: Transport) -> str | None:
    """Return the server's current version: empty if it reports none, None if its health report cannot be read."""
    try:
        health = transport.get(
            "/healthz", Deadline(time.monotonic() + VERSION_SECONDS, "The version request")
        )
    except TransportError:
        return None
    return None if is_too_deep(health) else version_in(redactor(transport.secrets)(health))


def headers_hidden(server: AgentServer) -> tuple[str, ...]:
    """Return the secrets in a server's headers, which must be hidden in all output. Raises SecretError."""
    return tuple(word for name in server.secrets for word in header_words(reveal(server.secrets, name)))


def judge_for(suite: AgentSuite, reading: Reading, hidden: Sequence[str]) -> VotingJudge | None:
    """Return the suite's judge, or None if it has none. Raises SecretError and TransportError like `transport_for`."""
    server = AgentServer.objects.filter(model=suite.judge_id).select_related("model").first()
    if server is None:
        return None
    compatible = reading == "reference-compatible"
    transport = run_transport(transport_for(server))
    agent = suite.judge_agent or server.chat_model or "judge"
    server.version = fetch_version(transport) or server.version
    judge = AgentJudge(transport, agent, identity_of(server), compiled=compatible)
    return VotingJudge(judge, suite.judge_votes, compatible, clean=redactor([*transport.secrets, *hidden]))


def identity_of(server: AgentServer) -> str:
    """Return a keyed hash of what determines a judge's answers: server, kind, address, model and version.

    Verdicts are only reused for the same identity. The hash is keyed because results show it to users who are not
    allowed to see the address.
    """
    parts = [server.model.slug, server.kind, server.url, server.chat_model, server.version]
    return salted_hmac("gym.agents.judge", json.dumps(parts, sort_keys=True), algorithm="sha256").hexdigest()
