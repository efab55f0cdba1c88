"""Factories of agent servers, suites, cases and runs."""

from __future__ import annotations

from typing import Any

from gym.accounts.models import User
from gym.agents import services
from gym.agents.models import AgentCase, AgentRun, AgentServer, AgentSuite
from gym.jobs.testing import run_pending

GOOD = "agent: echo\ninteractions: [{text: hello, response: {text: {keywords: hello}}}]\n"
FLAKY = (
    'agent: echo\nsuccess_ratio: "2/4"\ninteractions: [{text: FLAKY, response: {text: {keywords: world}}}]\n'
)


def make_server(owner: User, slug: str = "embedded", *, ready: bool = True, **more: Any) -> AgentServer:
    """Create a server with the embedded agents; `ready`: run its check."""
    values = {"name": slug.title(), "kind": "embedded", "visibility": "public"} | more
    server = services.register_server(actor=owner, slug=slug, **values)
    if ready:
        run_pending()
        server.refresh_from_db()
        server.model.refresh_from_db()
        assert server.model.is_ready, server.model.status_reason
    return server


def make_suite(
    owner: User, slug: str = "manners", cases: dict[str, str] | None = None, **more: Any
) -> AgentSuite:
    variables = more.pop("variables", None)
    suite = AgentSuite(slug=slug, title=slug.title(), **({"visibility": "public"} | more))
    services.save_suite(suite, actor=owner, variables=variables)
    services.import_cases(suite, cases or {"hello": GOOD}, actor=owner)
    return suite


def make_case(suite: AgentSuite, name: str = "hello") -> AgentCase:
    return suite.cases.get(name=name)


def make_run(suite: AgentSuite, server: AgentServer, *, actor: User | None = None, **more: Any) -> AgentRun:
    """Create a finished run."""
    run = services.queue_run(suite, server, actor=actor or suite.owner, **more)
    run_pending()
    run.refresh_from_db()
    return run
