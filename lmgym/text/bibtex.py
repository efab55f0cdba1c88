"""BibTeX entries of revisions, runs, models and collections."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from lmgym.text.tex import escape

_BREAKING = re.compile(r"[{}\\]")
_ENTRY = re.compile(r"@[A-Za-z]+\s*\{\s*([A-Za-z0-9_:./+-]+)\s*,")


@dataclass(frozen=True)
class Entry:
    """An entry and the key under which it is cited."""

    key: str
    text: str


def entry_in(text: str) -> Entry | None:
    """Return the entry that an author wrote; None unless it is a single one with a plain key and balanced braces."""
    stripped = text.strip()
    match = _ENTRY.match(stripped)
    if not match:
        return None
    depth = 0
    for place, character in enumerate(re.sub(r"\\[{}]", "  ", stripped)):
        depth += {"{": 1, "}": -1}.get(character, 0)
        if character == "}" and depth == 0:
            return Entry(match[1], stripped + "\n") if place == len(stripped) - 1 else None
    return None


def plain_key(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9_:-]", "-", text)


def bibtex(*, key: str, title: str, authors: Sequence[str], year: int | None, address: str, note: str) -> str:
    """Format an @misc entry, without empty fields. Braces and backslashes in user text are removed, so that they cannot
    break the file."""
    names = " and ".join(map(_name, authors))
    link = rf"\url{{{_BREAKING.sub('', address)}}}" if address else ""
    rows = {"title": f"{{{_text(title)}}}", "author": names, "year": str(year or "")}
    rows |= {"howpublished": link, "note": _text(note)}
    lines = ",\n".join(f"  {name} = {{{value}}}" for name, value in rows.items() if value)
    return f"@misc{{{plain_key(key)},\n{lines}\n}}\n"


def _name(name: str) -> str:
    """Format a name as First Last or Last, First; names that BibTeX would split wrongly are put in braces."""
    text = _text(name)
    return (
        f"{{{text}}}" if re.search(r"\band\b|[()\d]|,.*,", text, re.IGNORECASE) or " " not in text else text
    )


def _text(text: str) -> str:
    return escape(_BREAKING.sub("", " ".join(text.split())))
