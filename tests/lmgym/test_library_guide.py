"""The examples of docs/library.md, and those of export.md and coming-from.md for lmgym alone, run as printed."""

from __future__ import annotations

import re
import shlex
import tomllib
from typing import Any

import pytest

from lmgym.cli import main
from tests.lmgym.conftest import ROOT

GUIDE = (ROOT / "docs" / "library.md").read_text(encoding="utf-8")
COMING_FROM = (ROOT / "docs" / "coming-from.md").read_text(encoding="utf-8")
TABLES = (
    (ROOT / "docs" / "export.md")
    .read_text(encoding="utf-8")
    .split("## Tables for papers\n")[1]
    .split("\n## ")[0]
)
COMMANDS = [
    line
    for text in (GUIDE, TABLES)
    for line in re.search(r"```sh\n(.*?)```", text, re.DOTALL)[1].splitlines()  # type: ignore[index]
]


@pytest.fixture
def here(tmp_path, monkeypatch):
    """Temporary working folder with a link to the repository's `gym`, so that the examples leave nothing
    behind.
    """
    (tmp_path / "gym").symlink_to(ROOT / "gym")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def python_blocks(text: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", text, re.DOTALL)


def test_the_python_examples(here, capsys):
    names: dict[str, object] = {}
    blocks = python_blocks(GUIDE)
    assert len(blocks) >= 7
    for block in blocks:
        exec(compile(block, "docs/library.md", "exec"), names)
    told = capsys.readouterr().out
    assert "agreement_pp" in told
    assert (here / "regions.svg").read_text().startswith("<svg")
    assert (here / "suites.tex").read_text().startswith("% needs")
    assert len(list((here / "study").iterdir())) == 9
    assert names["again"] == names["result"]
    verbs = names["verbs"]
    assert len(verbs) > 0  # type: ignore[arg-type]


def test_the_study_that_other_programs_need_more_lines_for_has_five_at_most(here):
    names: dict[str, Any] = {}
    [study] = [block for block in python_blocks(COMING_FROM) if "import lmgym" in block]
    assert len(study.splitlines()) <= 5
    exec(compile(study, "docs/coming-from.md", "exec"), names)
    rates = names["rates"]
    assert set(rates["model"]) == {"demo-gpt2", "demo-ngram"}
    assert set(rates["suite"]) == {path.stem for path in (here / "gym/demo/data/suites").glob("*.json")}
    assert rates["rate"].notna().all()


def test_the_tables_for_papers(here):
    [block] = python_blocks(TABLES)
    exec(compile(block, "docs/export.md", "exec"), {})
    assert "agreement" in (here / "predictions.tex").read_text()
    assert (here / "regions.tex").read_text().startswith("% needs")


@pytest.mark.parametrize("line", COMMANDS)
def test_a_command(here, capsys, line):
    command, *words = shlex.split(line)
    assert command == "lmgym"
    status = main(words)
    out, err = capsys.readouterr()
    assert status == 0, err
    assert out or "-o" in words


def test_every_extra_is_listed():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    install = GUIDE.split("\n## Install\n")[1].split("\n## ")[0]
    extras = re.findall(r"^\| `(\w+)` \|", install, re.MULTILINE)
    assert sorted(extras) == sorted(project["optional-dependencies"])
