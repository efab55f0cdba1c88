"""An agent server of our own, for the demo and the tests. It needs no model, no key and no network. Pure."""

from gym.conversations.embedded.server import EmbeddedServer, EmbeddedTransport

__all__ = ["EmbeddedServer", "EmbeddedTransport"]
