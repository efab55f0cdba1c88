"""python -m gym.agents.core.embedded [--host 127.0.0.1] [--port 8080]"""

from __future__ import annotations

import argparse
import contextlib
import socketserver
import wsgiref.simple_server

from gym.agents.core.embedded import EmbeddedServer


class Server(socketserver.ThreadingMixIn, wsgiref.simple_server.WSGIServer):
    daemon_threads = True


class Quiet(wsgiref.simple_server.WSGIRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


def make(host: str = "127.0.0.1", port: int = 0) -> wsgiref.simple_server.WSGIServer:
    """A server that has yet to be told to serve; port 0 finds a free one."""
    return wsgiref.simple_server.make_server(
        host, port, EmbeddedServer(), server_class=Server, handler_class=Quiet
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Serve the embedded agents.")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8080)
    given = parser.parse_args()
    with contextlib.suppress(KeyboardInterrupt), make(given.host, given.port) as server:
        server.serve_forever()


if __name__ == "__main__":
    main()
