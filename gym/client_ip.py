"""The client's IP address, for rate limits and lists of allowed clients."""

from __future__ import annotations

import ipaddress


def client_address(
    peer: str, forwarded_for: str, *, behind_proxy: bool
) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Return the client's IP address; None if it is not valid.

    Behind a proxy, it is the last entry of X-Forwarded-For, which the proxy itself added; the client may have forged
    earlier entries."""
    text = (forwarded_for.rpartition(",")[2].strip() if behind_proxy else "") or peer
    try:
        address = ipaddress.ip_address(text.strip("[]"))
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return mapped or address


def client_ip(peer: str, forwarded_for: str, *, behind_proxy: bool) -> str:
    """Return `client_address` as the subject of a rate limit; "unknown" if it is not valid. IPv6 addresses are reduced
    to their /64, which usually belongs to one customer."""
    address = client_address(peer, forwarded_for, behind_proxy=behind_proxy)
    if address is None:
        return "unknown"
    if isinstance(address, ipaddress.IPv6Address):
        return str(ipaddress.ip_network((int(address), 64), strict=False).network_address)
    return str(address)
