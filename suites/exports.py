"""Suites as files to take away: one revision in any form, or many in one zip."""

from __future__ import annotations

import tempfile
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from typing import IO

from gym.accounts.models import AnyUser
from lmgym.files.zip_writer import add_to_zip
from lmgym.suites.formats.write import WRITERS
from suites.models import Suite, SuiteRevision
from suites.permissions import may_know_owner
from suites.presenters import owner_name
from suites.selectors import export_document, revisions_for


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


def file_name(revision: SuiteRevision, form: str) -> str:
    """Names suite, revision and form: `agreement-r2-long.csv`."""
    return f"{revision.suite.slug}-r{revision.number}{FORMS[form].name}"


def file_content(revision: SuiteRevision, form: str, user: AnyUser) -> str | bytes:
    """What the file holds, for this reader."""
    document = export_document(revision, names_author=may_know_owner(user, revision.suite))
    return WRITERS[form](document)


def suites_zip(suites: Iterable[Suite], form: str, user: AnyUser, site: str) -> IO[bytes]:
    """A temporary zip of the newest revision of each that this user may read, frozen ones first, with a README.
    `site`: the address of the site, with a slash at its end."""
    file = tempfile.TemporaryFile()  # noqa: SIM115  the response closes it
    rows = ["Test suites from LM Gym", "", f"Form: {FORMS[form].label}. One file per suite:", ""]
    with zipfile.ZipFile(file, "w") as archive:
        for suite in suites:
            revision = revisions_for(user, suite).order_by("-state", "-number").first()
            if revision is None:
                continue
            revision.suite = suite
            name = file_name(revision, form)
            add_to_zip(archive, name, [file_content(revision, form, user)])
            rows += _about(revision, name, user, site)
        add_to_zip(archive, "README.txt", ["\n".join(rows)])
    return file


def _about(revision: SuiteRevision, name: str, user: AnyUser, site: str) -> list[str]:
    suite = revision.suite
    state = f"frozen, sha256 {revision.sha256}" if revision.is_frozen else "a draft, which may still change"
    return [
        name,
        f"  {suite.title}, revision {revision.number} ({state})",
        f"  by {owner_name(suite, user)}; licence: {suite.licence or 'not stated'}",
        f"  {site.rstrip('/')}{revision.get_absolute_url()}",
        "",
    ]
