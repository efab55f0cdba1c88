"""Agent tests of the demo site: the demo agents, with cases that pass, fail and vary."""

from __future__ import annotations

from collections.abc import Iterator

from gym.accounts.models import User
from gym.agents import services
from gym.agents.models import AgentServer, AgentSuite
from gym.sharing.models import Visibility
from models_registry.models import RegisteredModel

SERVER = "demo-agents"
SUITE = "demo-conversations"
CASES = {
    "memory/two-turns": """\
# Only an agent that remembers the first question can answer the second.
agent: music_nerd
connections: http
success_ratio: "3/3"
interactions: [
  {
    text: "Who did Yellow Submarine?"
    response: { text: { keywords: ["Beatles"], gist: "Mentions 'Beatles'" } }
  }
  {
    text: "Where were they from?"
    response: { text: { keywords: ["Liverpool"], not_keywords: "Manchester" } }
  }
]
""",
    "memory/clean-slate": """\
# After continue_conversation: false, the agent remembers nothing.
agent: music_nerd
connections: http
interactions: [
  { text: "Who did Yellow Submarine?", continue_conversation: false }
  { text: "Where were they from?", response: { text: { not_keywords: "Liverpool" } } }
]
""",
    "numbers/private-data": """\
# The operands and the result are private data, not text.
agent: math_guy
connections: http
success_ratio: "3/3"
interactions: [
  {
    text: "times"
    sly_data: { x: 847, y: 23 }
    response: {
      sly_data: { equals: { value: 19481.0, greater: 19000 } }
      structure: { op: { value: "times" } }
    }
  }
]
""",
    "manners/varies": """\
# This agent alternates between two answers: half of the iterations pass.
agent: echo
connections: http
success_ratio: "5/10"
interactions: [
  { text: "FLAKY greeting", response: { text: { keywords: "Hello", gist: "Mentions 'world'" } } }
]
""",
    "manners/answers-back": """\
# The agent only repeats the message, so a question fails.
agent: echo
connections: http
success_ratio: "2/3"
interactions: [
  { text: "What is the capital of France?", response: { text: { keywords: "Paris" } } }
]
""",
}


def load_agents(owner: User, *, run: bool) -> Iterator[str]:
    """Create missing rows; yield a line for each object created. `run`: also queue a run of a suite created now."""
    server = AgentServer.objects.filter(model__slug=SERVER).first()
    if server is None and not RegisteredModel.objects.filter(slug=SERVER).exists():
        server = services.register_server(
            actor=owner,
            name="Embedded agents",
            slug=SERVER,
            kind=AgentServer.Kind.EMBEDDED,
            visibility="public",
            description="Echo, a calculator and others. They need no model and are always available.",
        )
        yield f"agent {SERVER}"
    if server is None or AgentSuite.objects.filter(slug=SUITE).exists():
        return
    suite = AgentSuite(
        slug=SUITE,
        title="Conversations with the embedded agents",
        visibility=Visibility.PUBLIC,
        description="Example test cases for agents that are always available.",
        owner=owner,
        judge=server.model,
        judge_agent="judge",
    )
    suite.save()
    services.import_cases(suite, CASES, actor=owner)
    yield f"agent tests {SUITE}"
    if run:
        services.queue_run(suite, server, actor=owner, unchecked=True)
