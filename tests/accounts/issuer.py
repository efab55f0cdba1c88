"""A small OpenID Connect issuer on loopback: discovery, authorisation, tokens, keys and user info."""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa

CLIENT_ID, CLIENT_SECRET = "gym", "a secret of the client"


def _key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


class Issuer:
    """What the issuer knows and, for tests of refusals, how it misbehaves."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.key = _key()
        self.signing_key = self.key
        self.person: dict[str, Any] = {"sub": "anna-17", "preferred_username": "anna"}
        self.forged: dict[str, Any] = {}
        """Claims that replace those of the ID token."""
        self.other_subject = ""
        """Subject that the user info names instead."""
        self.refuses = False
        """The person cancels."""
        self.codes: dict[str, dict[str, str]] = {}
        self.tokens: dict[str, dict[str, Any]] = {}

    def discovery(self) -> dict[str, Any]:
        ends = {
            "authorization_endpoint": "authorize",
            "token_endpoint": "token",
            "userinfo_endpoint": "userinfo",
            "jwks_uri": "keys",
        }
        return {"issuer": self.address} | {name: f"{self.address}/{path}" for name, path in ends.items()}

    def keys(self) -> dict[str, Any]:
        public = jwt.algorithms.RSAAlgorithm.to_jwk(self.key.public_key(), as_dict=True)
        return {"keys": [public | {"kid": "1", "use": "sig", "alg": "RS256"}]}

    def authorize(self, query: dict[str, str]) -> str:
        """Return the address to which the person is sent back."""
        assert query["client_id"] == CLIENT_ID
        assert query["response_type"] == "code"
        if self.refuses:
            return f"{query['redirect_uri']}?{urlencode({'error': 'access_denied', 'state': query['state']})}"
        code = secrets.token_urlsafe(12)
        self.codes[code] = query
        return f"{query['redirect_uri']}?{urlencode({'code': code, 'state': query['state']})}"

    def token(self, form: dict[str, str]) -> dict[str, Any]:
        """Exchange a code for tokens, once, for whoever has the PKCE verifier and the client's secret."""
        query = self.codes.pop(form["code"])
        challenge = hashlib.sha256(form["code_verifier"].encode()).digest()
        assert base64.urlsafe_b64encode(challenge).rstrip(b"=").decode() == query["code_challenge"]
        assert (form["client_id"], form["client_secret"]) == (CLIENT_ID, CLIENT_SECRET)
        assert form["redirect_uri"] == query["redirect_uri"]
        now = int(time.time())
        claims = {
            "iss": self.address,
            "aud": CLIENT_ID,
            "iat": now,
            "exp": now + 300,
            "nonce": query["nonce"],
        }
        claims |= {"sub": self.person["sub"]} | self.forged
        access = secrets.token_urlsafe(12)
        self.tokens[access] = dict(self.person)
        id_token = jwt.encode(claims, self.signing_key, algorithm="RS256", headers={"kid": "1"})
        return {"access_token": access, "token_type": "Bearer", "id_token": id_token}

    def userinfo(self, access: str) -> dict[str, Any]:
        info = self.tokens[access]
        return info | {"sub": self.other_subject or info["sub"]}


@contextmanager
def running_issuer() -> Iterator[Issuer]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            query = {name: values[0] for name, values in parse_qs(parts.query).items()}
            if parts.path == "/authorize":
                self.send_response(302)
                self.send_header("Location", issuer.authorize(query))
                self.send_header("Content-Length", "0")
                self.end_headers()
            elif parts.path == "/.well-known/openid-configuration":
                self._json(issuer.discovery())
            elif parts.path == "/keys":
                self._json(issuer.keys())
            else:
                self._json(issuer.userinfo(self.headers["Authorization"].removeprefix("Bearer ")))

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            self._json(issuer.token({name: values[0] for name, values in parse_qs(body).items()}))

        def _json(self, answer: dict[str, Any]) -> None:
            body = json.dumps(answer).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *parts: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    issuer = Issuer(f"http://127.0.0.1:{server.server_port}")
    thread = Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield issuer
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
