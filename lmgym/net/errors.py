"""What can go wrong on the way out. Messages name the server, never headers, queries or bodies that were sent."""

from __future__ import annotations


class NetError(Exception):
    """A request did not bring an answer. `str()` is a sentence for the person who asked for it."""


class Refused(NetError):
    """This site does not send such a request: address, port, scheme or header are not allowed."""


class NotAdmitted(Refused):
    """GYM_NET_ALLOW does not list the address, or the name is unknown and not listed. `.unnamed` says it to people who
    may not know where the server is."""

    def __init__(self, message: str, unnamed: str) -> None:
        super().__init__(message)
        self.unnamed = unnamed


class Unreachable(NetError):
    """A listed name is unknown, nobody listens there or takes the connection in time, or the certificate is wrong.
    Asking again may help."""


class HungUp(Unreachable):
    """The connection was made, and ended without an answer."""


class TimedOut(NetError):
    """The whole request took longer than it may."""


class TooLarge(NetError):
    """The answer, one of its lines or its headers are larger than they may be."""


class BadAnswer(NetError):
    """What came is not what was promised: cut off, not HTTP, wrongly packed, not JSON."""


class HTTPStatus(NetError):
    """The server answered with a status that is not a success."""

    def __init__(
        self, message: str, status: int, excerpt: str = "", retry_after: float | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.excerpt = excerpt
        self.retry_after = retry_after
        """Seconds the server asked to wait, where it did."""
