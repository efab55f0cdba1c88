"""Typed readers of environment variables. Invalid values raise EnvError at startup."""

from __future__ import annotations

import ipaddress
import json
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, parse_qs, unquote, urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

COMMAND_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,79}")


class EnvError(ValueError):
    """Invalid value of an environment variable."""


_names: set[str] = set()


def names_read() -> list[str]:
    """Return the names of all variables that were read, in alphabetical order."""
    return sorted(_names)


def _read(name: str) -> str | None:
    _names.add(name)
    return os.environ.get(name)


def text(name: str, default: str = "") -> str:
    value = _read(name)
    return default if value is None else value


def folder(name: str, default: Path) -> Path:
    """Read the path of a folder, which may not exist yet."""
    path = Path(text(name) or default)
    if path.exists() and not path.is_dir():
        raise EnvError(f"{name} names {path}, which is not a folder")
    return path


def time_zone(name: str, default: str) -> str:
    zone = text(name) or default
    try:
        ZoneInfo(zone)
    except (ValueError, OSError, ZoneInfoNotFoundError):
        raise EnvError(f"{name}={zone!r} is not a time zone; use a name such as Europe/Berlin") from None
    return zone


BROKERS = ("database", "redis", "rediss", "amqp", "amqps")


def broker(name: str, default: str) -> str:
    """Read the address of a message broker. It may contain a password, so errors do not repeat it."""
    url = text(name) or default
    scheme, separator, _ = url.partition("://")
    if not separator and url != "database":
        raise EnvError(f"{name} is not the address of a broker; use database://, redis://… or amqp://…")
    if scheme not in BROKERS:
        raise EnvError(f"{name} starts with {scheme[:40]!r}; use database://, redis://… or amqp://…")
    return url


def secret(name: str, default: str = "") -> str:
    """Read NAME, or the file whose path is in NAME_FILE (for container secrets)."""
    path = _read(f"{name}_FILE")
    value = _read(name)
    if not path:
        return default if value is None else value
    try:
        content = Path(path).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise EnvError(f"{name}_FILE names {path}, which cannot be read: {error}") from error
    if not content:
        raise EnvError(f"{name}_FILE names {path}, which is empty")
    return content


def flag(name: str, default: bool) -> bool:
    value = _read(name)
    if value is None or value == "":
        return default
    if value.lower() in {"1", "true", "yes", "on"}:
        return True
    if value.lower() in {"0", "false", "no", "off"}:
        return False
    raise EnvError(f"{name}={value!r} is neither yes nor no; use 1 or 0")


def number(name: str, default: int, *, least: int = 0) -> int:
    value = _read(name)
    if value is None or value == "":
        return default
    try:
        parsed = int(value)
    except ValueError as error:
        raise EnvError(f"{name}={value!r} is not a whole number") from error
    if parsed < least:
        raise EnvError(f"{name}={value!r} is too small; use {least} or more")
    return parsed


def quota(name: str, default: str) -> tuple[int, int]:
    """Read a number of objects and a size in bytes: `500, 500 MB`; 0 = no limit."""
    value = _read(name) or default
    match = re.fullmatch(r"\s*(\d{1,12})\s*,\s*(\d{1,12})\s*(kB|MB|GB)?\s*", value)
    if match is None:
        raise EnvError(f"{name}={value!r} is not a number and a size, as in {default}")
    return int(match[1]), int(match[2]) * {"kB": 10**3, "MB": 10**6, "GB": 10**9}.get(match[3] or "", 1)


def choice(name: str, default: str, allowed: Sequence[str]) -> str:
    value = _read(name) or default
    if value not in allowed:
        raise EnvError(f"{name}={value!r} is not one of {', '.join(allowed)}")
    return value


def words(name: str, default: str = "") -> list[str]:
    return [word.strip() for word in text(name, default).split(",") if word.strip()]


def choices(name: str, default: str, allowed: Sequence[str]) -> list[str]:
    """Read some of the `allowed` words: `oidc, ldap`."""
    chosen = words(name, default)
    for word in chosen:
        if word not in allowed:
            raise EnvError(f"{name}: {word!r} is not one of {', '.join(allowed)}")
    return chosen


def pairs(name: str, default: str = "") -> dict[str, str]:
    """Read names with names: `linguistics=editors, it=operators`."""
    parsed: dict[str, str] = {}
    for word in words(name, default):
        left, separator, right = (part.strip() for part in word.partition("="))
        if not (left and separator and right):
            raise EnvError(f"{name}: {word!r} is not a pair of names, as in linguistics=editors")
        parsed[left] = right
    return parsed


def issuer(name: str, default: str = "") -> str:
    """Read the address of an OpenID Connect issuer, without a slash at its end. Plain HTTP is accepted from this
    machine only, because whoever can change the answers can sign in as anybody."""
    value = (text(name) or default).rstrip("/")
    host = _parts_of(name, value, {"https", "http"}, "https://login.example.org").hostname or ""
    if value.startswith("http://") and host not in {"localhost", "127.0.0.1", "::1"}:
        raise EnvError(f"{name}={value!r} is not encrypted; use https://")
    return value


def directory(name: str, default: str = "") -> str:
    """Read the address of an LDAP server."""
    value = text(name) or default
    _parts_of(name, value, {"ldap", "ldaps"}, "ldaps://ldap.example.org")
    return value


def _parts_of(name: str, value: str, schemes: set[str], example: str) -> SplitResult:
    """Return the parts of an address without user, query and fragment; empty parts for an empty value."""
    wrong = EnvError(f"{name}={value!r} is not an address such as {example}")
    try:
        parts = urlsplit(value)
        has_host = bool(parts.hostname) and parts.port != 0
    except ValueError:
        raise wrong from None
    if value and not (
        has_host and parts.scheme in schemes and not (parts.username or parts.query or parts.fragment)
    ):
        raise wrong
    return parts


def networks(name: str, default: str = "") -> list[ipaddress.IPv4Network | ipaddress.IPv6Network]:
    """Read IP addresses and networks: `127.0.0.1, 10.1.0.0/16`."""
    try:
        return [ipaddress.ip_network(word) for word in words(name, default)]
    except ValueError as error:
        raise EnvError(f"{name}: {error}; use addresses or networks such as 10.1.0.0/16") from None


def mail_addresses(name: str, default: str = "") -> list[str]:
    """Read e-mail addresses, separated by commas."""
    addresses = words(name, default)
    for address in addresses:
        if not re.fullmatch(r"[^@\s<>]+@[^@\s<>]+", address):
            raise EnvError(f"{name}: {address!r} is not an e-mail address")
    return addresses


def sizes(name: str, default: str = "") -> dict[str, int | None]:
    """Read names with optional integers: `gpu, large=16000`. A name without an integer maps to None."""
    parsed: dict[str, int | None] = {}
    for word in words(name, default):
        parts = re.fullmatch(r"([a-z0-9][a-z0-9_-]{0,39})(?:\s*=\s*(\d{1,9}))?", word)
        if parts is None:
            raise EnvError(f"{name}: {word!r} is neither a name (gpu) nor a name with a number (large=16000)")
        parsed[parts[1]] = int(parts[2]) if parts[2] else None
    return parsed


def commands(name: str, default: str = "{}") -> dict[str, list[str]]:
    """Read argument lists by name, as JSON: {"gpt2": ["docker", "run", "--rm", "-i", "--network=none", "image"]}."""
    value = _read(name) or default
    try:
        parsed = json.loads(value)
    except ValueError as error:
        raise EnvError(f"{name} is not JSON: {error}") from error
    if not isinstance(parsed, dict):
        raise EnvError(
            f'{name} is not an object that maps names to argument lists, as in {{"gpt2": ["docker", "run"]}}'
        )
    for key, argv in parsed.items():
        if not isinstance(argv, list) or not argv or not all(isinstance(part, str) and part for part in argv):
            raise EnvError(
                f"{name}: {key!r} has no list of arguments; write each argument as a separate string"
            )
        if not COMMAND_NAME.fullmatch(key):
            raise EnvError(
                f"{name}: {key!r} is not a valid name; use letters, digits, dots, hyphens and underscores"
            )
    return parsed


SQLITE_OPTIONS = {
    "transaction_mode": "IMMEDIATE",
    "timeout": 20,
    "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA foreign_keys=ON;",
}

POSTGRESQL_OPTIONS = {
    "connect_timeout": "10",
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "25000",
    "options": "-c max_parallel_workers_per_gather=0 -c random_page_cost=1.1",
}
"""Options of PostgreSQL connections. They detect an unreachable server within half a minute. Parallel workers
are disabled, since starting them takes longer than most queries; random_page_cost suits SSDs. Parameters of
the URL take precedence."""


def database(name: str, default_path: Path) -> dict[str, Any]:
    """Read a DATABASES entry from `sqlite:///file` or `postgresql://user:password@host:port/name`; default: SQLite at
    `default_path`, whose folder is created."""
    url = text(name)
    if not url:
        try:
            default_path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise EnvError(
                f"the data folder {default_path.parent} cannot be created: {error.strerror}"
            ) from error
        return _sqlite(default_path)
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:  # the URL may contain a password, so it is not repeated
        raise EnvError(f"{name} is not the address of a database; use sqlite:/// or postgresql://") from None
    if parts.scheme in {"sqlite", "sqlite3"}:
        if parts.netloc or len(parts.path) < 2:
            raise EnvError(f"{name} does not name a file; use sqlite:///file or sqlite:////absolute/file")
        return _sqlite(Path(unquote(parts.path.removeprefix("/"))))
    if parts.scheme in {"postgres", "postgresql"}:
        if len(parts.path) < 2:
            raise EnvError(f"{name} does not name a database; use postgresql://user:password@host:port/name")
        if find_spec("psycopg") is None:
            raise EnvError(f'{name} needs psycopg, which is not installed: pip install "lm-gym[scale]"')
        query = {key: values[-1] for key, values in parse_qs(parts.query).items()}
        return {
            "ENGINE": "django.db.backends.postgresql",
            "NAME": unquote(parts.path.removeprefix("/")),
            "USER": unquote(parts.username or ""),
            "PASSWORD": unquote(parts.password or ""),
            "HOST": query.pop("host", "") or parts.hostname or "",
            "PORT": str(port or ""),
            "OPTIONS": POSTGRESQL_OPTIONS | query,
            "CONN_MAX_AGE": 0,
        }
    raise EnvError(f"{name} starts with {parts.scheme!r}; use sqlite:/// or postgresql://")


def _sqlite(path: Path) -> dict[str, Any]:
    return {"ENGINE": "django.db.backends.sqlite3", "NAME": path, "OPTIONS": dict(SQLITE_OPTIONS)}


@dataclass(frozen=True)
class Email:
    """Mail settings. Without a server, mail is printed on the console."""

    backend: str = "django.core.mail.backends.console.EmailBackend"
    host: str = ""
    port: int = 0
    user: str = ""
    password: str = field(default="", repr=False)
    starttls: bool = False
    tls: bool = False


def email(name: str, default: str = "") -> Email:
    """Read `smtp://user:password@host:587` (STARTTLS; without encryption if `?tls=0`) or `smtps://…` (implicit TLS).

    The URL may contain a password, so it can be read from the file NAME_FILE, and errors do not repeat it."""
    url = secret(name, default)
    if not url or url == "console:":
        return Email()
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise EnvError(f"{name} is not the address of a mail server; use smtp://host:587") from None
    if parts.scheme not in {"smtp", "smtps"} or not parts.hostname or parts.path not in {"", "/"}:
        raise EnvError(f"{name} is not the address of a mail server; use smtp://host:587 or smtps://host:465")
    tls = parts.scheme == "smtps"
    plain = parse_qs(parts.query).get("tls", ["1"])[-1] == "0"
    return Email(
        backend="django.core.mail.backends.smtp.EmailBackend",
        host=parts.hostname,
        port=port or (465 if tls else 587),
        user=unquote(parts.username or ""),
        password=unquote(parts.password or ""),
        starttls=not tls and not plain,
        tls=tls,
    )
