"""Suites as files to take away: their forms, their names, and many of them in one zip."""

from __future__ import annotations

import tempfile
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from typing import IO

from lmgym.files.zip_writer import add_to_zip


@dataclass(frozen=True)
class Form:
    """`name` is what the names of its files have after suite and revision."""

    label: str
    name: str
    content_type: str


XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"

FORMS: dict[str, Form] = {
    "json": Form("JSON", ".json", "application/json"),
    "json-trimmed": Form("JSON, blanks trimmed", "-trimmed.json", "application/json"),
    "json-early": Form("JSON, early dialect", "-early.json", "application/json"),
    "csv": Form("long CSV", "-long.csv", "text/csv"),
    "tsv": Form("wide TSV", "-wide.tsv", "text/tab-separated-values"),
    "xlsx": Form("Excel workbook (.xlsx)", ".xlsx", XLSX),
    "csv-excel": Form("wide CSV with byte order mark, for Excel", "-excel.csv", "text/csv"),
}
"""By the names of `WRITERS`."""


def file_name(slug: str, number: int, form: str) -> str:
    """Names suite, revision and form: `agreement-r2-long.csv`."""
    return f"{slug}-r{number}{FORMS[form].name}"


@dataclass(frozen=True)
class SuiteFile:
    """One revision as a file among others. `sha256`: empty for a draft. `address`: of its page."""

    slug: str
    number: int
    sha256: str
    title: str
    author: str
    licence: str
    address: str
    content: str | bytes


def suites_zip(suites: Iterable[SuiteFile], form: str) -> IO[bytes]:
    """A temporary zip of these files, one in memory at a time, with a README. The caller closes it."""
    file = tempfile.TemporaryFile()  # noqa: SIM115  the caller closes it
    rows = ["Test suites from LM Gym", "", f"Form: {FORMS[form].label}. One file per suite:", ""]
    with zipfile.ZipFile(file, "w") as archive:
        for suite in suites:
            name = file_name(suite.slug, suite.number, form)
            add_to_zip(archive, name, [suite.content])
            rows += _about(suite, name)
        add_to_zip(archive, "README.txt", ["\n".join(rows)])
    return file


def _about(suite: SuiteFile, name: str) -> list[str]:
    state = f"frozen, sha256 {suite.sha256}" if suite.sha256 else "a draft, which may still change"
    return [
        name,
        f"  {suite.title}, revision {suite.number} ({state})",
        f"  by {suite.author}; licence: {suite.licence or 'not stated'}",
        f"  {suite.address}",
        "",
    ]
