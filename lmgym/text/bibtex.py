"""BibTeX entries of revisions, runs and collections."""

from __future__ import annotations

import re
from collections.abc import Sequence

_BREAKING = re.compile(r"[{}\\]")
_NAMED = str.maketrans({"^": r"\textasciicircum{}", "~": r"\textasciitilde{}"})


def bibtex(*, key: str, title: str, authors: Sequence[str], year: int, address: str, note: str) -> str:
    """Format an @misc entry. Braces and backslashes in user text are removed, so that they cannot break the file."""
    names = " and ".join(map(_name, authors))
    rows = {"title": f"{{{_text(title)}}}", "author": names, "year": str(year)}
    rows |= {"howpublished": rf"\url{{{_BREAKING.sub('', address)}}}", "note": _text(note)}
    lines = ",\n".join(f"  {name} = {{{value}}}" for name, value in rows.items())
    plain_key = re.sub(r"[^A-Za-z0-9_:-]", "-", key)
    return f"@misc{{{plain_key},\n{lines}\n}}\n"


def _name(name: str) -> str:
    """Format a name as First Last or Last, First; names that BibTeX would split wrongly are put in braces."""
    text = _text(name)
    return (
        f"{{{text}}}" if re.search(r"\band\b|[()\d]|,.*,", text, re.IGNORECASE) or " " not in text else text
    )


def _text(text: str) -> str:
    plain = _BREAKING.sub("", " ".join(text.split()))
    return re.sub(r"([&%$#_])", r"\\\1", plain).translate(_NAMED)
