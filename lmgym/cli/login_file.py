"""The site that `lmgym login` stored: its address and a token, in one file that only its owner may read."""

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
    """lm-gym/login.json in the user's configuration folder."""
    return user_config_path("lm-gym") / "login.json"


def stored() -> Login | None:
    """None without a login. Raises Failed for a file that cannot be read."""
    try:
        found = json.loads(path().read_bytes())
        return Login(str(found["site"]), str(found["token"]))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise Failed(f"{path()} cannot be read. Run: lmgym logout") from error


def store(login: Login) -> Path:
    """Write it with mode 0600, whatever was there. Raises OSError."""
    place = path()
    place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    fresh = place.with_name(f".{place.name}.{os.getpid()}")
    handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(asdict(login), file)
        fresh.replace(place)
    except OSError:
        with suppress(OSError):
            fresh.unlink()
        raise
    return place


def forget() -> bool:
    """Whether there was one."""
    try:
        path().unlink()
    except FileNotFoundError:
        return False
    return True
