"""Suites as files: names of the formats, and the contents of archives."""

from __future__ import annotations

import zipfile

from lmgym.suites.formats.files import FORMS, SuiteFile, file_name, suites_zip
from lmgym.suites.formats.write import WRITERS


def test_every_form_that_is_written_has_a_name_of_its_own() -> None:
    assert FORMS.keys() == WRITERS.keys()
    assert len({file_name("agreement", 2, form) for form in FORMS}) == len(FORMS)
    assert file_name("agreement", 2, "csv") == "agreement-r2-long.csv"


def test_the_readme_of_a_zip_says_which_revision_each_file_is() -> None:
    frozen = SuiteFile("a", 2, "0123", "Agreement", "Alice", "CC-BY", "https://x/a", "{}")
    draft = SuiteFile("b", 1, "", "NPI", "Bob", "", "https://x/b", "[]")
    with suites_zip([frozen, draft], "json") as file, zipfile.ZipFile(file) as archive:
        assert archive.namelist() == ["a-r2.json", "b-r1.json", "README.txt"]
        assert archive.read("b-r1.json") == b"[]"
        readme = archive.read("README.txt").decode()
    assert "Agreement, revision 2 (frozen, sha256 0123)\n  by Alice; licence: CC-BY\n  https://x/a" in readme
    assert "NPI, revision 1 (a draft, which may still change)\n  by Bob; licence: not stated" in readme
