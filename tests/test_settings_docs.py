"""docs/deploy.md and gym/settings.py name the same environment variables."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from gym import env

ROOT = Path(__file__).resolve().parents[1]
DOCS = (ROOT / "docs" / "deploy.md").read_text(encoding="utf-8")
ROWS = dict(re.findall(r"^\| `(GYM_[A-Z0-9_]+)` \| (.*?) \|", DOCS, re.MULTILINE))


def calls() -> dict[str, tuple[str, object]]:
    """Return {variable: (reader of gym.env, default if it is written as a constant)}."""
    found = {}
    for node in ast.walk(ast.parse((ROOT / "gym" / "settings.py").read_text(encoding="utf-8"))):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and isinstance(node.func.value, ast.Name)
            and node.func.value.id == "env"
        ):
            name, *default = node.args
            assert isinstance(name, ast.Constant), ast.unparse(node)
            constant = default[0].value if default and isinstance(default[0], ast.Constant) else None
            found[str(name.value)] = (node.func.attr, constant)
    return found


CALLS = calls()


def test_every_variable_has_a_row_and_every_row_a_variable():
    assert set(CALLS) == set(ROWS)


def test_settings_read_the_environment_only_through_gym_env():
    source = (ROOT / "gym" / "settings.py").read_text(encoding="utf-8")
    assert not {"os.environ", "os.getenv", "import os"} & set(re.findall(r"os\.\w+|import os\b", source))


@pytest.mark.parametrize("name", sorted(CALLS))
def test_the_documented_default_is_the_one_in_the_code(name):
    _, default = CALLS[name]
    documented = re.fullmatch(r"`(.*)`", ROWS[name].strip())
    if isinstance(default, bool):
        default = str(int(default))
    if default in (None, "") or documented is None or "/" in documented[1].removeprefix("http://"):
        if default not in (None, ""):
            assert str(default) == documented[1] if documented else ROWS[name]
        return
    assert documented[1] == str(default)


WRONG = {
    "flag": ["maybe", "2", "wahr"],
    "number": ["many", "1.5", "1e3", "-1"],
    "choice": ["debug", "LOUD"],
    "quota": ["500", "500 MB", "many, 5 MB", "5, 5 TB", "-1, 5 MB", "5; 5 MB"],
    "database": ["mysql://host/name", "sqlite://file", "postgresql://host", "postgresql://host:port/name"],
    "email": ["smtp.example.org", "smtp://", "https://host", "smtp://host:port", "smtp://host/folder"],
    "commands": ["docker", "[]", '{"a": "docker run"}', '{"a": []}', '{"a": [1]}', '{"a;b": ["x"]}'],
    "sizes": ["large=much", "=5", "large=", "large=5=6", "two words", "large=-1"],
    "broker": ["reddis://host", "localhost:6379"],
    "folder": [__file__],
    "time_zone": ["Europe/Berlim", "CET+1"],
    "networks": ["localhost", "10.0.0.0/33", "10.1.2.3/16"],
    "mail_addresses": ["admin", "a@b, c"],
    "issuer": [
        "login.example.org",
        "http://login.example.org",
        "https://",
        "https://a:b@host",
        "https://host?x=1",
    ],
    "directory": ["ldap.example.org", "https://host", "ldap://"],
    "choices": ["saml", "oidc; ldap"],
    "pairs": ["editors", "=editors", "lab="],
    "secret": [],
    "text": [],
    "words": [],
}


DEFAULTS = {
    "issuer": "",
    "directory": "",
    "choices": "",
    "pairs": "",
    "commands": "{}",
    "quota": "5, 5 MB",
    "broker": "database://",
    "time_zone": "UTC",
}


@pytest.mark.parametrize("name", sorted(CALLS))
def test_a_wrong_value_is_refused_by_name(monkeypatch, tmp_path, name):
    kind, _ = CALLS[name]
    read = getattr(env, kind)
    default = DEFAULTS.get(kind, tmp_path / "x" if kind in ("database", "folder") else "INFO")
    more = [["INFO", "DEBUG"]] if kind in ("choice", "choices") else []
    for value in WRONG[kind]:
        monkeypatch.setenv(name, value)
        with pytest.raises(env.EnvError, match=name):
            read(name, default, *more)
    monkeypatch.setenv(name, "")
    read(name, default, *more)
