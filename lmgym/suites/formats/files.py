"""Suites as files to download: formats, file names, and zip archives of several suites."""

from __future__ import annotations

import tempfile
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from typing import IO

from lmgym.files.zip_writer import add_to_zip


@dataclass(frozen=True)
class Form:
    """A file format. `name`: suffix of its file names, after suite and revision."""

    label: str
    name: str
    content_type: str


XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"

FORMS: dict[str, Form] = {
    "json": Form("JSON", ".json", "application/json"),
    "json-trimmed": Form("JSON, spaces trimmed", "-trimmed.json", "application/json"),
    "json-early": Form("JSON, early dialect", "-early.json", "application/json"),
    "csv": Form("long CSV", "-long.csv", "text/csv"),
    "tsv": Form("wide TSV", "-wide.tsv", "text/tab-separated-values"),
    "xlsx": Form("Excel workbook (.xlsx)", ".xlsx", XLSX),
    "csv-excel": Form("wide CSV with byte order mark, for Excel", "-excel.csv", "text/csv"),
}
"""Formats by key of `WRITERS`."""


def file_name(slug: str, number: int, form: str) -> str:
    """Build a file name from suite, revision and format: agreement-r2-long.csv."""
    return f"{slug}-r{number}{FORMS[form].name}"


@dataclass(frozen=True)
class SuiteFile:
    """One revision as a file. `sha256` is "" for a draft; `address` is the URL of its page."""

    slug: str
    number: int
    sha256: str
    title: str
    author: str
    licence: str
    address: str
    content: str | bytes


def suites_zip(suites: Iterable[SuiteFile], form: str) -> IO[bytes]:
    """Write a temporary zip archive with a README, keeping one suite in memory at a time. The caller closes it."""
    file = tempfile.TemporaryFile()  # noqa: SIM115  the caller closes it
    rows = ["Test suites from LM Gym", "", f"Format: {FORMS[form].label}. One file per suite:", ""]
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
