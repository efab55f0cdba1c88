"""Allow rules for outbound connections, and the address ranges that never count as public.

A rule is `public`, a host name (`lab.example.org`, `*.example.org`), an address or a network (`10.1.0.0/16`, `[::1]`),
each with an optional scheme and port (`http://[::1]:8000`).
"""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Sequence
from dataclasses import dataclass

from lmgym.net.errors import NotAdmitted, Unreachable

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

_NEVER_PUBLIC: tuple[Network, ...] = tuple(
    ipaddress.ip_network(text)
    for text in (
        "0.0.0.0/8",  # this network
        "10.0.0.0/8",
        "100.64.0.0/10",  # carrier-grade NAT
        "127.0.0.0/8",
        "169.254.0.0/16",  # link-local, including metadata services of clouds
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.0.2.0/24",
        "192.31.196.0/24",
        "192.52.193.0/24",
        "192.88.99.0/24",  # 6to4 relays
        "192.168.0.0/16",
        "192.175.48.0/24",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",
        "2001::/23",  # Teredo, ORCHID and other IETF assignments
        "2001:db8::/32",
        "2002::/16",  # 6to4: carries an IPv4 address
        "2620:4f:8000::/48",
        "3fff::/20",
    )
)
_GLOBAL_UNICAST = ipaddress.IPv6Network("2000::/3")  # outside: mapped, NAT64, local, multicast ...
_PRIVATE = tuple(
    ipaddress.ip_network(text)
    for text in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "fc00::/7")
)
_LOOPBACK = (ipaddress.ip_network("127.0.0.0/8"), ipaddress.ip_network("::1/128"))
_METADATA = (ipaddress.ip_network("fd00:ec2::/32"), ipaddress.ip_network("100.100.100.200/32"))
_PUBLIC_PORTS = (80, 443)
_LABEL = r"[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?"
_NAME = re.compile(rf"(\*\.)?{_LABEL}(\.{_LABEL})*")
_ENTRY = re.compile(
    r"(?:(?P<scheme>https?)://)?"
    r"(?:\[(?P<bracketed>[0-9a-f:./]+)\]|(?P<host>[^\[\]:]+))(?::(?P<port>[0-9]{1,5}))?"
)
PUBLIC = "public"


def canonical(address: Address) -> Address:
    """Unwrap an IPv4-mapped IPv6 address."""
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return mapped or address


def is_public(address: Address) -> bool:
    """Return whether an address is on the public internet; transition forms (6to4, NAT64, Teredo) are not."""
    address = canonical(address)
    if isinstance(address, ipaddress.IPv6Address) and address not in _GLOBAL_UNICAST:
        return False
    return address.is_global and not _within(address, _NEVER_PUBLIC)


def _within(address: Address, networks: Sequence[Network]) -> bool:
    return any(address.version == network.version and address in network for network in networks)


@dataclass(frozen=True)
class Rule:
    """One allow rule. Either `name` or `network` is set, or neither to admit every public address."""

    scheme: str = ""
    name: str = ""
    network: Network | None = None
    port: int | None = None

    def admits(self, scheme: str, host: str, address: Address, port: int) -> bool:
        if self.scheme not in ("", scheme) or self.port not in (None, port):
            return False
        address = canonical(address)
        if self.network is not None:
            return address.version == self.network.version and address in self.network
        if self.name:
            return self.lists(host) and self._fits_a_name(address)
        public_port = self.port is not None or port in _PUBLIC_PORTS or port >= 1024
        return public_port and is_public(address)

    def lists(self, host: str) -> bool:
        """Return whether the rule names this host, ignoring scheme and port."""
        if not self.name:
            return False
        if self.name.startswith("*."):
            return host.endswith(self.name[1:])
        return host == self.name

    def _fits_a_name(self, address: Address) -> bool:
        """Return whether a rule with a name admits this address.

        The name localhost admits only loopback addresses, other names public and private addresses.
        Metadata services of clouds are always excluded.
        """
        if _within(address, _METADATA):
            return False
        if self.name == "localhost":
            return _within(address, _LOOPBACK)
        return is_public(address) or _within(address, _PRIVATE)

    @property
    def is_named(self) -> bool:
        return bool(self.name) or self.network is not None


def parse_rule(entry: str) -> Rule:
    """Parse one rule. Raises ValueError with the reason."""
    text = entry.strip().lower()
    match = _ENTRY.fullmatch(text)
    if match is None:
        raise ValueError(
            f"{entry!r} is not a valid rule; write public, host, host:port, 10.1.0.0/16 or [::1]:8000"
        )
    port = int(match["port"]) if match["port"] else None
    if port is not None and not 0 < port < 65536:
        raise ValueError(f"{entry!r}: {port} is not a valid port")
    scheme, host = match["scheme"] or "", match["bracketed"] or match["host"].rstrip(".")
    if host == PUBLIC:
        return Rule(scheme=scheme, port=port)
    try:
        return Rule(scheme=scheme, network=ipaddress.ip_network(host), port=port)
    except ValueError as error:
        if match["bracketed"] or re.fullmatch(r"[0-9./]+", host):
            raise ValueError(f"{entry!r} is not a valid rule: {error}") from None
    if not _NAME.fullmatch(host):
        raise ValueError(f"{entry!r} is not a valid host name")
    return Rule(scheme=scheme, name=host, port=port)


def require_admitted(
    rules: Sequence[Rule], scheme: str, host: str, addresses: Sequence[Address], port: int
) -> None:
    """Check that the rules admit every address of `host`.

    Raises:
        NotAdmitted: an address is not admitted. For a name that no rule lists, the message is the same whether the name
            exists or not, so that it does not reveal names of the internal network.
        Unreachable: a listed name has no address.
    """
    refused = [a for a in addresses if not any(rule.admits(scheme, host, a, port) for rule in rules)]
    if addresses and not refused:
        return
    if _is_name(host) and not any(rule.lists(host) for rule in rules):
        raise _not_admitted_name(scheme, host, port)
    if not addresses:
        raise Unreachable(f"The name {host} cannot be resolved.")
    raise _not_admitted(scheme, host, canonical(refused[0]), port)


def _is_name(host: str) -> bool:
    """Return whether `host` is neither localhost nor an address in any spelling (0x7f.1, 2130706433)."""
    if host == "localhost" or ":" in host:
        return False
    try:
        socket.inet_aton(host)
    except OSError:
        return True
    return False


def _not_admitted_name(scheme: str, host: str, port: int) -> NotAdmitted:
    reason = "does not exist, or is at an address or port that this site may not connect to"
    remedy = "Check the name; an administrator can allow the server, for example with GYM_NET_ALLOW=public,"
    return NotAdmitted(
        f"Not contacted: {host} {reason} ({scheme}://{host}:{port}). {remedy}{host}:{port}",
        f"Not contacted: the name of the server {reason}. {remedy}agents.example.org",
    )


def _not_admitted(scheme: str, host: str, address: Address, port: int) -> NotAdmitted:
    """Build the error. It suggests a rule, except for link-local, reserved and metadata addresses."""
    if _within(address, (*_PRIVATE, *_LOOPBACK)) and not _within(address, _METADATA):
        where, example = "private addresses or its own machine", "10.1.2.3:8080"
    elif is_public(address):
        where, example = "addresses that GYM_NET_ALLOW does not list", "agents.example.org"
    else:
        where, example = "link-local and reserved addresses", ""
    reason = f"Not contacted: this site may not connect to {where}"
    server = f"{scheme}://{_bracketed(host)}:{port}"
    if not example:
        return NotAdmitted(f"{reason} ({server}).", f"{reason}.")
    remedy = "An administrator can allow the server's address, for example with GYM_NET_ALLOW=public,"
    entry = _entry_for(scheme, host, address, port)
    return NotAdmitted(f"{reason} ({server}). {remedy}{entry}", f"{reason}. {remedy}{example}")


def _entry_for(scheme: str, host: str, address: Address, port: int) -> str:
    """Return a rule that admits the server: by name if possible, else by address."""
    entry = f"{_bracketed(host)}:{port}"
    try:
        admits = parse_rule(entry).admits(scheme, host, address, port)
    except ValueError:  # an address in an unusual spelling, such as 0x7f.1
        admits = False
    return entry if admits else f"{_bracketed(str(address))}:{port}"


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
