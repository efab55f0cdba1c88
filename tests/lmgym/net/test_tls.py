"""TLS: the certificate must be valid for the requested name, whatever its address."""

from __future__ import annotations

import ipaddress
import ssl
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from lmgym import net
from lmgym.net import NetPolicy, TimedOut, Unreachable
from tests.lmgym.net.hostile import answer, server


@pytest.fixture(scope="module")
def lab(tmp_path_factory) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """TLS contexts of a server with a certificate for lab.example, and of a client that trusts only that
    certificate."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "lab.example")])
    now = datetime.now(UTC)  # noqa: TID251  no Django here
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("lab.example")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, SHA256())
    )
    file = tmp_path_factory.mktemp("tls") / "lab.pem"
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    file.write_bytes(private + certificate.public_bytes(Encoding.PEM))
    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    serving.load_cert_chain(file)
    trusting = ssl.create_default_context(cadata=certificate.public_bytes(Encoding.PEM).decode())
    return serving, trusting


def policy(trusting: ssl.SSLContext | None, **limits) -> NetPolicy:
    here = [ipaddress.ip_address("127.0.0.1")]
    return NetPolicy.allowing(
        "127.0.0.1", tls=trusting, lookup=lambda host, port: here, **{"seconds": 5, **limits}
    )


def test_the_name_is_verified_though_the_address_was_chosen_before(lab):
    serving, trusting = lab
    with server(answer(b'"safe"'), tls=serving) as there:
        url = f"https://lab.example:{there.port}/"
        assert net.request("GET", url, policy=policy(trusting)).json() == "safe"
        with pytest.raises(Unreachable, match="certificate"):
            net.request("GET", f"https://other.example:{there.port}/", policy=policy(trusting))
        with pytest.raises(Unreachable, match="certificate"):
            net.request("GET", url, policy=policy(None))
    assert len(there.seen) == 1


def test_a_handshake_that_never_comes_does_not_outlive_the_deadline(lab):
    _, trusting = lab
    with server(b"not TLS") as there, pytest.raises(TimedOut):
        net.request("GET", f"https://lab.example:{there.port}/", policy=policy(trusting, seconds=0.4))
