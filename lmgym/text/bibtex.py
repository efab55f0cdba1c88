"""How a revision, a run or a collection is cited. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

_BREAKING = re.compile(r"[{}\\]")
_NAMED = str.maketrans({"^": r"\textasciicircum{}", "~": r"\textasciitilde{}"})


def bibtex(*, key: str, title: str, authors: Sequence[str], year: int, address: str, note: str) -> str:
    """An @misc entry; braces and backslashes of user text are taken out, so that it cannot break the file. Authors are
    joined by “and”, as BibTeX takes names apart."""
    names = " and ".join(map(_name, authors))
    rows = {"title": f"{{{_text(title)}}}", "author": names, "year": str(year)}
    rows |= {"howpublished": rf"\url{{{_BREAKING.sub('', address)}}}", "note": _text(note)}
    lines = ",\n".join(f"  {name} = {{{value}}}" for name, value in rows.items())
    plain_key = re.sub(r"[^A-Za-z0-9_:-]", "-", key)
    return f"@misc{{{plain_key},\n{lines}\n}}\n"


def _name(name: str) -> str:
    """A person as First Last or Last, First; what BibTeX would take apart wrongly stands in braces."""
    text = _text(name)
    return (
        f"{{{text}}}" if re.search(r"\band\b|[()\d]|,.*,", text, re.IGNORECASE) or " " not in text else text
    )


def _text(text: str) -> str:
    plain = _BREAKING.sub("", " ".join(text.split()))
    return re.sub(r"([&%$#_])", r"\\\1", plain).translate(_NAMED)
