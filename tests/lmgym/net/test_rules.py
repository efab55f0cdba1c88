"""Permitted addresses."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmgym.net import NetPolicy, NotAdmitted, Refused, Unreachable
from lmgym.net.rules import is_public, parse_rule, require_admitted

INSIDE = [
    "0.0.0.0",
    "10.0.0.1",
    "100.64.0.1",
    "100.100.100.200",
    "127.0.0.1",
    "127.8.8.8",
    "169.254.169.254",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.8",
    "192.0.2.1",
    "192.88.99.1",
    "192.168.1.1",
    "198.18.0.1",
    "224.0.0.1",
    "239.255.255.250",
    "255.255.255.255",
    "::",
    "::1",
    "::ffff:127.0.0.1",
    "::ffff:10.0.0.1",
    "::ffff:169.254.169.254",
    "::127.0.0.1",
    "64:ff9b::7f00:1",
    "64:ff9b::8.8.8.8",
    "64:ff9b:1::a00:1",
    "100::1",
    "2001::1",
    "2001:db8::1",
    "2002:7f00:1::",
    "2002:0808:0808::",
    "3fff::1",
    "fc00::1",
    "fd00:ec2::254",
    "fe80::1",
    "fe80::1%eth0",
    "fec0::1",
    "ff02::1",
]
OUTSIDE = [
    "1.1.1.1",
    "8.8.8.8",
    "93.184.216.34",
    "2606:4700:4700::1111",
    "2a00:1450:4001::1",
    "::ffff:8.8.8.8",
]


def admitted(entries, scheme, host, address, port):
    rules = NetPolicy.allowing(*entries).rules
    try:
        require_admitted(rules, scheme, host, [ipaddress.ip_address(address)], port)
    except Refused:
        return False
    return True


@pytest.mark.parametrize("address", INSIDE)
def test_addresses_inside_networks_are_not_public(address):
    assert not is_public(ipaddress.ip_address(address))
    assert not admitted(["public"], "https", "somewhere.example", address, 443)


@pytest.mark.parametrize("address", OUTSIDE)
def test_addresses_of_the_internet_are_public(address):
    assert admitted(["public"], "https", "somewhere.example", address, 443)


@given(st.ip_addresses(v=4))
def test_an_ipv4_address_in_the_clothes_of_ipv6_is_judged_alike(address):
    mapped = ipaddress.IPv6Address(b"\0" * 10 + b"\xff\xff" + address.packed)
    assert is_public(mapped) == is_public(address)
    assert not is_public(ipaddress.IPv6Address(b"\x20\x02" + address.packed + b"\0" * 10))


@given(st.ip_addresses())
def test_nothing_is_public_that_the_standard_library_calls_private(address):
    if is_public(address):
        assert not address.is_private
        assert not address.is_multicast
        assert not address.is_link_local


@pytest.mark.parametrize(
    ("entries", "scheme", "host", "address", "port", "expected"),
    [
        ([], "https", "a.example", "8.8.8.8", 443, False),
        (["public"], "http", "a.example", "8.8.8.8", 80, True),
        (["public"], "http", "a.example", "8.8.8.8", 8000, True),
        (["public"], "http", "a.example", "8.8.8.8", 22, False),
        (["public"], "http", "a.example", "8.8.8.8", 25, False),
        (["https://public"], "http", "a.example", "8.8.8.8", 80, False),
        (["lab.example"], "http", "lab.example", "10.0.0.7", 8000, True),
        (["lab.example"], "http", "lab.example", "8.8.8.8", 80, True),
        (["lab.example"], "http", "evil.lab.example", "10.0.0.7", 8000, False),
        (["*.lab.example"], "http", "gpu.lab.example", "10.0.0.7", 8000, True),
        (["*.lab.example"], "http", "lab.example", "10.0.0.7", 8000, False),
        (["*.lab.example"], "http", "notlab.example", "10.0.0.7", 8000, False),
        (["lab.example:8000"], "http", "lab.example", "10.0.0.7", 8001, False),
        (["https://lab.example"], "http", "lab.example", "10.0.0.7", 80, False),
        (["lab.example"], "http", "lab.example", "127.0.0.1", 8000, False),
        (["lab.example"], "http", "lab.example", "169.254.169.254", 80, False),
        (["lab.example"], "http", "lab.example", "fd00:ec2::254", 80, False),
        (["localhost"], "http", "localhost", "127.0.0.1", 8000, True),
        (["localhost"], "http", "localhost", "::1", 8000, True),
        (["localhost"], "http", "127.0.0.1", "127.0.0.1", 8000, False),
        (["127.0.0.1:8000"], "http", "anything.example", "127.0.0.1", 8000, True),
        (["127.0.0.1:8000"], "http", "127.0.0.1", "127.0.0.1", 8001, False),
        (["127.0.0.1"], "http", "x", "::ffff:127.0.0.1", 8001, True),
        (["10.1.0.0/16"], "http", "x", "10.1.2.3", 1, True),
        (["10.1.0.0/16"], "http", "x", "10.2.2.3", 1, False),
        (["[::1]:8000"], "http", "::1", "::1", 8000, True),
        (["[fd00::/8]"], "http", "x", "fd12::1", 8000, True),
    ],
)
def test_rules(entries, scheme, host, address, port, expected):
    assert admitted(entries, scheme, host, address, port) is expected


def test_one_bad_address_of_several_is_enough():
    both = [ipaddress.ip_address("8.8.8.8"), ipaddress.ip_address("10.0.0.1")]
    with pytest.raises(Refused, match="GYM_NET_ALLOW"):
        require_admitted(NetPolicy.allowing("public").rules, "https", "two.example", both, 443)


def refusal(entries, host, address, port=8000):
    with pytest.raises(NotAdmitted) as caught:
        require_admitted(
            NetPolicy.allowing(*entries).rules, "http", host, [ipaddress.ip_address(address)], port
        )
    return caught.value


@pytest.mark.parametrize(
    ("entries", "host", "address", "port"),
    [
        (["public"], "127.0.0.1", "127.0.0.1", 8000),
        (["public"], "localhost", "127.0.0.1", 8000),
        (["public"], "localhost", "::1", 8000),
        (["public"], "::1", "::1", 8000),
        (["public"], "::ffff:127.0.0.1", "::ffff:127.0.0.1", 8000),
        (["public"], "gpu1", "10.1.2.3", 8000),
        (["public"], "10.1.2.3", "10.1.2.3", 8000),
        (["public"], "2130706433", "127.0.0.1", 8000),
        (["public"], "167772161", "10.0.0.1", 8000),
        (["public"], "fd12::1", "fd12::1", 8000),
        (["public"], "mail.example.org", "93.184.216.34", 25),
        (["gpu1"], "api.example.org", "93.184.216.34", 443),
    ],
)
def test_a_refusal_says_which_value_would_admit_the_server(entries, host, address, port):
    error = refusal(entries, host, address, port)
    assert str(error).startswith("Not contacted: ")
    assert host in str(error)
    value = str(error).partition("GYM_NET_ALLOW=")[2]
    assert value.startswith("public,")
    assert admitted(value.split(","), "http", host, address, port)


@pytest.mark.parametrize(
    ("entries", "address", "says"),
    [
        (["public"], "127.0.0.1", "private addresses"),
        (["public"], "10.1.9.9", "private addresses"),
        (["public"], "169.254.169.254", "link-local"),
        (["public"], "fd00:ec2::254", "link-local"),
        (["gpu1"], "8.8.8.8", "does not list"),
    ],
)
def test_who_may_not_know_the_server_reads_the_same_without_it(entries, address, says):
    error = refusal(entries, address, address)
    assert says in error.unnamed
    assert address not in error.unnamed
    assert ("GYM_NET_ALLOW=" in error.unnamed) == (says != "link-local")


@pytest.mark.parametrize("address", ["169.254.169.254", "fd00:ec2::254", "100.100.100.200", "224.0.0.1"])
def test_nobody_is_told_to_list_metadata_of_clouds_and_the_like(address):
    assert "GYM_NET_ALLOW=" not in str(refusal(["public"], address, address))


@pytest.mark.parametrize("host", ["hr.corp.example", "gpu1", "secret-"])
def test_of_names_that_are_not_listed_nobody_learns_whether_they_exist(host):
    """The error for a name in the private network is the same as for an unknown name."""
    said = set()
    for found in ([], ["10.1.2.3"], ["127.0.1.1"], ["169.254.169.254"], ["8.8.8.8", "10.0.0.1"]):
        addresses = [ipaddress.ip_address(address) for address in found]
        with pytest.raises(NotAdmitted) as caught:
            require_admitted(NetPolicy.allowing("public", "other").rules, "http", host, addresses, 8000)
        said.add((str(caught.value), caught.value.unnamed))
    assert len(said) == 1
    [(named, unnamed)] = said
    assert "does not exist, or is at an address or port that this site may not connect to" in named
    assert host in named
    assert host not in unnamed


def test_of_a_listed_name_everything_is_said():
    assert "127.0.1.1:8000" in str(refusal(["mybox:9000"], "mybox", "127.0.1.1"))
    with pytest.raises(Unreachable, match=r"The name gpu1\.lab\.example cannot be resolved"):
        require_admitted(NetPolicy.allowing("*.lab.example").rules, "http", "gpu1.lab.example", [], 8000)


@pytest.mark.parametrize(
    "entry",
    ["", "10.0.0.1/8", "10.0.0", "300.1.1.1", "host:0", "host:70000", "ftp://host", "a b", "[host]", "a/b"],
)
def test_a_wrong_entry_is_named(entry):
    with pytest.raises(ValueError, match=r"valid (rule|host name|port)"):
        parse_rule(entry)
