"""Sign-in by a header that a proxy sets, e.g. a single sign-on module of the web server. The header counts only on
connections from GYM_PROXY_ADDRESSES; anybody else could write it themselves."""

from __future__ import annotations

import ipaddress

from django.conf import settings
from django.http import HttpRequest

from gym.accounts.external import kinds
from gym.accounts.external.outside import Person

SESSION_KEY = "gym_proxy_user"
"""Name under which the proxy signed in the session."""


def user_name(request: HttpRequest) -> str:
    """Return the user name in the proxy's header; empty if there is none, sign-in by header is off, or the connection
    is not from the proxy."""
    if not (kinds.is_on("proxy") and _is_proxy(request.META.get("REMOTE_ADDR", ""))):
        return ""
    return _header(request, settings.GYM_PROXY_USER_HEADER)


def person(request: HttpRequest) -> Person | None:
    """Return who the proxy says the person is; None as for `user_name`."""
    name = user_name(request)
    if not name:
        return None
    groups = _header(request, settings.GYM_PROXY_GROUPS_HEADER).split(",")
    return Person(
        name=name,
        email=_header(request, settings.GYM_PROXY_EMAIL_HEADER),
        groups=tuple(group.strip() for group in groups if group.strip()),
    )


def _header(request: HttpRequest, name: str) -> str:
    return request.headers.get(name, "").strip() if name else ""


def _is_proxy(peer: str) -> bool:
    """Return True if the connection itself (not X-Forwarded-For, which clients write) comes from a trusted address."""
    try:
        address = ipaddress.ip_address(peer)
    except ValueError:
        return False
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return any((mapped or address) in network for network in settings.GYM_PROXY_ADDRESSES)
