"""File written by `lmgym login`: URL of a site and a token, readable only by its owner."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

from platformdirs import user_config_path

from lmgym.cli.shared import Failed


@dataclass(frozen=True)
class Login:
    site: str
    token: str = field(repr=False)


def path() -> Path:
    """Return the path of lm-gym/login.json in the user's configuration folder."""
    return user_config_path("lm-gym") / "login.json"


def stored() -> Login | None:
    """Return the stored login, or None. Raises Failed if the file is malformed or cannot be read."""
    try:
        data = json.loads(path().read_bytes())
        return Login(str(data["site"]), str(data["token"]))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise Failed(
            f"{path()} cannot be read. Delete it with lmgym logout, then run lmgym login."
        ) from error


def store(login: Login) -> Path:
    """Write the login with mode 0600, replacing any other. Raises OSError."""
    target = path()
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    fresh = target.with_name(f".{target.name}.{os.getpid()}")
    handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(asdict(login), file)
        fresh.replace(target)
    except OSError:
        with suppress(OSError):
            fresh.unlink()
        raise
    return target


def forget() -> bool:
    """Delete the login; return False if there was none."""
    try:
        path().unlink()
    except FileNotFoundError:
        return False
    return True
