"""Every line of README and docs that calls `lmgym` is accepted by the command's parser."""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Iterator
from importlib import import_module

import pytest

from lmgym.cli import COMMANDS, _site_apart
from tests.lmgym.conftest import ROOT

_BLOCK = re.compile(r"^ *```sh\n(.*?)^ *```", re.DOTALL | re.MULTILINE)
_CALL = re.compile(r"(?:^|\$\(|\| *|&& *)(?:[A-Z_]+=\S+ )*lmgym ([a-z].+)")
_ENDS = {"|", ">", ">>", "<", "&", "&&", "||", ";", "#"}


def calls() -> Iterator[tuple[str, list[str]]]:
    """Yield (file, words after `lmgym`) of each call in a shell block."""
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
        for block in _BLOCK.findall(path.read_text(encoding="utf-8")):
            for line in block.replace("\\\n", " ").splitlines():
                if found := _CALL.search(line.strip()):
                    yield path.name, words(found[1])


def words(line: str) -> list[str]:
    """Split a line as a shell does, up to a redirection, a pipe or a comment."""
    reader = shlex.shlex(re.sub(r"\$\([^)]*\)", "SUBSTITUTED", line), posix=True, punctuation_chars="|<>&;")
    reader.whitespace_split, reader.commenters = True, "#"
    found: list[str] = []
    for word in reader:
        if word in _ENDS:
            break
        found.append(word)
    return found


SITE = ("serve", "web", "worker", "doctor", "init", "manage")
"""Commands parsed by Django; tests/test_house.py checks them."""
ALL = [
    pytest.param(given, id=f"{file}: {' '.join(given)}"[:90])
    for file, given in calls()
    if given[0] not in SITE and not any(word.startswith("[") for word in given)  # a synopsis
]


def test_there_are_calls() -> None:
    assert len(ALL) > 45


@pytest.mark.parametrize("given", ALL)
def test_a_call_in_the_docs_is_understood(given) -> None:
    name, *rest = given
    module, rest = import_module(COMMANDS[name][0]), _site_apart(rest)
    parser: argparse.ArgumentParser = module.parser(f"lmgym {name}")
    if "--site=" in rest and hasattr(module, "site_parser"):
        parser = module.site_parser(f"lmgym {name}")
        rest.remove("--site=")
    several = [part for word in rest for part in ([word, word] if word == "SUBSTITUTED" else [word])]
    try:
        parser.parse_args(rest)
    except SystemExit:
        parser.parse_args(several)  # a substitution may expand to several words
