"""The client's IP address, for rate limits."""

from __future__ import annotations

import ipaddress


def client_ip(peer: str, forwarded_for: str, *, behind_proxy: bool) -> str:
    """Return the client's IP address; "unknown" if it is not a valid address.

    Behind a proxy, it is the last entry of X-Forwarded-For, which the proxy itself added; the client may have forged
    earlier entries. IPv6 addresses are reduced to their /64, which usually belongs to one customer."""
    address = (forwarded_for.rpartition(",")[2].strip() if behind_proxy else "") or peer
    try:
        ip = ipaddress.ip_address(address.strip("[]"))
    except ValueError:
        return "unknown"
    if isinstance(ip, ipaddress.IPv6Address):
        if ip.ipv4_mapped:
            return str(ip.ipv4_mapped)
        return str(ipaddress.ip_network((int(ip), 64), strict=False).network_address)
    return str(ip)
