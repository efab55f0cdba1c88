"""Authors of a suite as text: one per line, in citation order, each with an optional affiliation in brackets.

Files also list authors in one line, separated by commas, semicolons or "and".
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

_OUTSIDE = r"(?![^()]*\))"
"""Lookahead: not inside brackets."""
_BETWEEN = re.compile(rf"\s*;\s*{_OUTSIDE}|\s+(?:and|&)\s+{_OUTSIDE}")
_COMMA = re.compile(rf"\s*,\s*{_OUTSIDE}")
_AFFILIATED = re.compile(r"(?P<name>[^()]+?)\s*\((?P<affiliation>.*)\)")


@dataclass(frozen=True, slots=True)
class Author:
    """An author; `affiliation` is "" if not stated."""

    name: str
    affiliation: str = ""

    def __str__(self) -> str:
        return f"{self.name} ({self.affiliation})" if self.affiliation else self.name


def read_authors(text: str) -> list[Author]:
    """Parse authors. Commas separate names only if each name has two words: “Hu, Jennifer” is one person."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    parts = [part.strip() for line in lines for part in _BETWEEN.split(line) if part.strip()]
    if len(lines) == 1:
        parts = [name for part in parts for name in _between_commas(part)]
    return [_author(part) for part in parts]


def _between_commas(part: str) -> list[str]:
    names = _COMMA.split(part)
    return names if all(len(re.sub(r"\([^()]*\)", "", name).split()) > 1 for name in names) else [part]


def _author(part: str) -> Author:
    match = _AFFILIATED.fullmatch(part)
    return Author(match["name"], match["affiliation"].strip()) if match else Author(part)


def write_authors(authors: Iterable[Author]) -> str:
    """Format authors, one per line."""
    return "\n".join(map(str, authors))
