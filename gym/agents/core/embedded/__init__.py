"""An agent server for the demo and the tests, without model, key or network. Pure."""

from gym.agents.core.embedded.server import EmbeddedServer, EmbeddedTransport

__all__ = ["EmbeddedServer", "EmbeddedTransport"]
