"""Validation of input from forms and the API: secrets and uploaded case files."""

from __future__ import annotations

import re
from typing import Any

from gym.uploads import read_upload
from lmgym.agents.archives import MAX_TOTAL, ArchiveError, name_of, read_archive, text_of
from lmgym.agents.case_reader import HEADER, RESERVED_HEADERS
from lmgym.agents.redact import TOO_SHORT, can_be_hidden, header_words

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,60}")


def secret_problem(name: str, value: str, *, headers: bool) -> str:
    """Return why this is not a valid secret header or variable, without repeating the value; empty if it is valid."""
    allowed = (
        HEADER.fullmatch(name) and name.lower() not in RESERVED_HEADERS if headers else NAME.fullmatch(name)
    )
    if not allowed:
        return f"{name[:40]!r} cannot be the name of a {'header' if headers else 'variable'}."
    if headers and not (value.isascii() and value.isprintable()):
        return f"The value of {name} contains characters that headers cannot have. Use printable ASCII characters."
    if value and not all(map(can_be_hidden, header_words(value) if headers else (value,))):
        return f"The value of {name} is too short. {TOO_SHORT}"
    return ""


def cases_in(uploads: list[tuple[str, Any]]) -> dict[str, str]:
    """Read uploaded files and archives, given as (path, upload), into {name: text}. Raises ArchiveError."""
    if sum(upload.size for _, upload in uploads) > MAX_TOTAL:
        raise ArchiveError(f"The files exceed {MAX_TOTAL // 1_000_000} MB in total.")
    cases: dict[str, str] = {}
    for path, upload in uploads:
        data = read_upload(upload, MAX_TOTAL)
        is_archive = path.lower().endswith(".zip")
        new = read_archive(data) if is_archive else {name_of(path): text_of(data, path)}
        if twice := sorted(set(cases) & set(new)):
            raise ArchiveError(f"Several files have the case name {twice[0]!r}.")
        cases |= new
    return cases
