"""What others wrote is listed in THIRD-PARTY.txt, with its licence: in the wheel, next to LICENSE."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from itertools import chain

import pytest

from tests.test_house import ROOT

TEXT = (ROOT / "THIRD-PARTY.txt").read_text(encoding="utf-8")
PARTS, _, LICENCES = re.split(r"\n(?:Reimplemented|Licences)\n-+\n", TEXT.partition("\nParts\n-----\n")[2])
FOLDERS = ("lmgym", "gym", "suites", "models_registry", "templates", "static", "docs", "deploy")
NOTICE = re.compile(
    r"copyright (\(c\)|©|\d{4})|@licen[cs]e|@preserve|SPDX-License|sourceMappingURL", re.IGNORECASE
)
OWN_KINDS = {"", ".css", ".env", ".example", ".html", ".ipynb", ".js", ".json", ".md", ".py", ".txt", ".yaml"}
OWN_KINDS |= {".conf", ".sbatch", ".service", ".timer", ".typed"}
OWN_KINDS |= {".svg", ".webp"}  # the icon of the site and the pictures of README.md
LONGEST_LINE = 2_000
"""Of scripts and styles. Longer lines are those of minified files."""


@cache
def listed() -> dict[str, set[str]]:
    """Return the SPDX identifiers of each listed path."""
    entries = re.findall(r"^(\S+)\n    From: .+\n    Licence: (.+)$", PARTS, re.MULTILINE)
    assert len(entries) == len(re.findall(r"^\S", PARTS, re.MULTILINE))
    return {path: set(re.split(", | and ", licences)) for path, licences in entries}


@pytest.mark.parametrize("path", listed())
def test_every_listed_part_exists(path):
    assert (ROOT / path).exists()


def test_every_licence_is_in_the_metadata_and_its_text_in_the_file():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    licences = set(chain.from_iterable(listed().values()))
    assert set(project["license"].split(" AND ")) == licences | {"MIT"}
    assert licences == set(re.findall(r"^\S.*: (\S+)$", LICENCES, re.MULTILINE))


def test_every_file_that_looks_like_the_work_of_others_is_listed():
    unlisted = []
    for path in chain.from_iterable((ROOT / folder).rglob("*") for folder in FOLDERS):
        name = path.relative_to(ROOT).as_posix()
        if not path.is_file() or "__pycache__" in path.parts or name.startswith(tuple(listed())):
            continue
        text = "" if path.suffix == ".webp" else path.read_text(encoding="utf-8", errors="replace")
        minified = path.suffix in {".css", ".js"} and max(map(len, text.split("\n"))) > LONGEST_LINE
        if path.suffix not in OWN_KINDS or NOTICE.search(text) or minified:
            unlisted.append(name)
    assert unlisted == []
