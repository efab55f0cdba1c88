"""Detection of sites that other machines can reach, which must not use the published secret key or demo accounts."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence

from gym.env import EnvError

MAKE_KEY = "python3 -c 'import secrets; print(secrets.token_urlsafe(48))'"


def is_loopback(host: str) -> bool:
    """Return True if the host is localhost or a loopback address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def is_local_only(hosts: Sequence[str], listens_on: str) -> bool:
    """Return True if a site with these host names and this listening address is reachable from this machine only."""
    return all(map(is_loopback, [*hosts, listens_on]))


def require_own_secret(secret: str, published: str, *, is_local: bool) -> None:
    """Raise EnvError if a site that others can reach uses the published key, with which they could forge sessions and
    read stored keys."""
    if not secret:
        raise EnvError(f"GYM_SECRET_KEY is empty. Set it to the output of: {MAKE_KEY}")
    if secret == published and not is_local:
        raise EnvError(
            "GYM_SECRET_KEY is not set, and other machines can reach this site (GYM_ALLOWED_HOSTS, --host). "
            f"Set it to a secret of your own, for instance to the output of: {MAKE_KEY}"
        )
