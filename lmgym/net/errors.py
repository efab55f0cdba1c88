"""Errors of outbound requests. Messages name the server, but contain no header values, query or body of the request."""

from __future__ import annotations


class NetError(Exception):
    """A request failed. `str()` is a sentence for the user who started it."""


class Refused(NetError):
    """The request or one of its redirects was not sent: its address, port, scheme, method, size or a header is not
    allowed, or there were too many redirects."""


class NotAdmitted(Refused):
    """No rule (GYM_NET_ALLOW) admits the address, or the name cannot be resolved and no rule lists it.

    Attributes:
        unnamed: the message without the server's address, for users who may not see it.
    """

    def __init__(self, message: str, unnamed: str) -> None:
        super().__init__(message)
        self.unnamed = unnamed


class Unreachable(NetError):
    """No connection: unknown name, nothing listening, no connection in time, or an invalid certificate.

    A retry may succeed.
    """


class HungUp(Unreachable):
    """The server closed the connection without a response."""


class TimedOut(NetError):
    """The whole request exceeded its time limit."""


class TooLarge(NetError):
    """The response, one of its lines or its headers exceed a size limit."""


class BadResponse(NetError):
    """The response is invalid: cut off, not HTTP, incorrectly encoded, or not JSON."""


class HTTPStatus(NetError):
    """The server returned a status other than 2xx."""

    def __init__(
        self, message: str, status: int, excerpt: str = "", retry_after: float | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.excerpt = excerpt
        self.retry_after = retry_after
        """Seconds to wait as requested by the server, or None."""
