"""The address that a limit counts for."""

from __future__ import annotations

import ipaddress


def client_ip(peer: str, forwarded_for: str, *, behind_proxy: bool) -> str:
    """Who asks: the other end of the connection, or what our proxy says of it; "unknown" where that is no address.

    Behind our proxy it is the last entry of X-Forwarded-For, the one that the proxy wrote itself: everything before it
    is what the client claims. An IPv6 customer has a /64, so that is one client."""
    address = (forwarded_for.rpartition(",")[2].strip() if behind_proxy else "") or peer
    try:
        found = ipaddress.ip_address(address.strip("[]"))
    except ValueError:
        return "unknown"
    if isinstance(found, ipaddress.IPv6Address):
        if found.ipv4_mapped:
            return str(found.ipv4_mapped)
        return str(ipaddress.ip_network((int(found), 64), strict=False).network_address)
    return str(found)
