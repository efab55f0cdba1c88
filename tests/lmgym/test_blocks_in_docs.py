"""Every fenced block of README.md and docs/ has a row that says what runs or reads it in CI, or why nothing does."""

from __future__ import annotations

import ast
import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from textwrap import dedent

import pytest
import yaml

from tests.lmgym.conftest import ROOT

ALL = "*"
"""In place of a heading: all blocks of the page in this language; their number may change."""
CALLS = "tests/lmgym/test_commands_in_docs.py"
"""Every call of `lmgym` is parsed with the options of the command."""
GUIDE = "tests/lmgym/test_library_guide.py"
EXAMPLES = "tests/lmgym/test_examples_in_docs.py"
HERE = "tests/lmgym/test_blocks_in_docs.py"
DEPLOY = ".ci/deploy-path"
CLIENT = "tests/process/test_client.py"
TUTORIALS = "tests/process/test_tutorials.py"
BROWSER = "tests/browser/test_tutorials.py"
FORMATS = "tests/lmgym/suites/formats/test_dialects.py"
HOURS = f"{HERE}: names of programs; they run for minutes to hours"
PAPER = "tests/conformance/test_published_results_by_command.py"
NOT = "not run: "

# page, heading, language, number of blocks, what runs or reads them
BLOCKS = [
    ("README.md", "In Python and the shell", "sh", 2, ".ci/three-commands"),
    ("README.md", "In Python and the shell", "python", 1, NOT + "its model is on the Hub; see library.md"),
    ("README.md", "As a site", "sh", 2, f".ci/wheel: starts the site; {CALLS}: the client"),
    ("README.md", "From a checkout", "sh", 1, ".ci/first-minute"),
    ("accounts.md", "Two-factor authentication", "sh", 1, "tests/test_house.py"),
    ("accounts.md", "Tokens", "sh", 1, CLIENT + ": requests of docs/api.md"),
    ("agents.md", ALL, "hocon", 0, EXAMPLES),
    ("agents.md", "Command line", "sh", 1, CALLS),
    ("api.md", ALL, "sh", 0, CLIENT),
    ("api.md", "From Python", "python", 1, CLIENT),
    ("api.md", "What does an error look like?", "json", 1, HERE),
    ("architectures.md", "Architectures", "sh", 1, HOURS),
    ("citing.md", "A methods paragraph", "latex", 1, "tests/lmgym/test_paper_compiles.py: a document with these lines"),
    ("coming-from.md", "LM Gym", "python", 1, GUIDE),
    ("coming-from.md", "minicons", "python", 1, "tests/lmgym/test_minicons_guide.py"),
    ("coming-from.md", "lm-eval", "", 1, HERE),
    ("coming-from.md", "lm-eval", "yaml", 1, HERE),
    ("coming-from.md", "lm-eval", "python", 1, NOT + "needs files that the page describes; only its syntax is checked"),
    ("coming-from.md", "syntaxgym", "", 2, NOT + "needs Docker, as the page says"),
    ("commands.md", "Commands", "sh", 1, CALLS),
    ("commands.md", "Completion", "sh", 1, "tests/lmgym/test_command_help.py: the scripts, not where they are written"),
    ("demo.md", "Rebuilding the models", "", 1, HOURS),
    ("demo.md", "The n-gram backend", "python", 1, EXAMPLES),
    ("deploy.md", "1. Packages, user, folders", "sh", 3, DEPLOY),
    ("deploy.md", "2. Database", "sh", 1, DEPLOY),
    ("deploy.md", "3. Keys and settings", "sh", 1, DEPLOY),
    ("deploy.md", "4. Tables and the first account", "sh", 1, DEPLOY),
    ("deploy.md", "5. Web server, workers, timers", "sh", 1, DEPLOY),
    ("deploy.md", "6. nginx with TLS", "sh", 1, DEPLOY),
    ("deploy.md", "7. Check", "sh", 1, DEPLOY),
    ("deploy.md", "Workers with different hardware", "sh", 1, NOT + "needs machines with GPUs"),
    ("deploy.md", "Backups", "sh", 1, DEPLOY),
    ("deploy.md", "Backups of SQLite", "sh", 2, "tests/test_deploy_files.py"),
    ("deploy.md", "Upgrade", "sh", 1, DEPLOY),
    ("deploy.md", "Docker", "sh", 1, ".ci/image-steps: the steps of the image, without Docker"),
    ("deploy.md", "Results from a cluster", "sh", 1, NOT + "needs a Slurm cluster"),
    ("deploy.md", "Behind a TLS proxy", "sh", 1, "tests/test_behind_a_proxy.py"),
    ("deploy.md", "Sign-in through other services", "sh", 1, "tests/accounts/test_openid_connect.py"),
    ("deploy.md", "Sign-in through other services", "nginx", 1, NOT + "needs a proxy that signs people in"),
    ("export.md", "Tables for papers", "python", 1, GUIDE),
    ("export.md", "Tables for papers", "sh", 1, GUIDE),
    ("export.md", "In Python and R", "python", 2, NOT + "needs files exported from a site; only the syntax is checked"),
    ("export.md", "In Python and R", "r", 1, NOT + "needs R"),
    ("export.md", "Mixed logit model of models and items", "r", 1, "tests/runs/test_mixed_logit_guide.py"),
    ("export.md", "Tasks", "", 1, ".ci/full: the same environments and tests"),
    ("factorial-designs.md", "In the file", "json", 1, HERE),
    ("formulas.md", "Prediction formulas", "", 1, EXAMPLES),
    ("formulas.md", "Equality", "", 1, NOT + "a formula of mathematics"),
    ("formulas.md", "In Python", "python", 1, EXAMPLES),
    ("grid.md", "Edits for programs", "json", 1, HERE),
    ("jobs.md", "States", "", 1, NOT + "a drawing"),
    ("jobs.md", "Writing a handler", "python", 2, NOT + "a pattern; syntax and imports are checked"),
    ("jobs.md", "Cancelling and time limits", "python", 1, NOT + "a pattern; only the syntax is checked"),
    ("library.md", ALL, "python", 0, GUIDE),
    ("library.md", "The command", "sh", 1, GUIDE),
    ("models.md", "Checkpoints", "sh", 1, CALLS),
    ("models.md", "Room on the disk", "sh", 1, "tests/test_house.py"),
    ("models.md", "Comparison with a reference", "python", 1, NOT + "needs a completion server; imports are checked"),
    ("models.md", "LM Zoo containers", "sh", 1, NOT + "needs Docker"),
    ("net.md", "How to use it", "python", 1, NOT + "a pattern; syntax and imports are checked"),
    ("net.md", "Keys for other servers", "python", 1, NOT + "a pattern; syntax and imports are checked"),
    ("people.md", "In Python", "python", 1, NOT + "needs results of an experiment; syntax and imports are checked"),
    ("performance.md", ALL, "sh", 0, HOURS),
    ("propara.md", "Score a file", "sh", 2, CALLS),
    ("propara.md", "Score a file", "python", 1, EXAMPLES),
    ("propara.md", "Check, convert and compare files", "sh", 1, CALLS),
    ("propara.md", "Score a language model", "sh", 1, CALLS),
    ("propara.md", "Use the REST API", "sh", 1, TUTORIALS + ": the same request"),
    ("propara.md", "Files", "json", 1, HERE),
    ("propara.md", "Differences from the reference", "sh", 1, HOURS),
    ("reliability.md", "Faults", "sh", 1, HOURS),
    ("reliability.md", "Downloads from the Hub", "sh", 1, HOURS),
    ("reliability.md", "Visitors", "sh", 1, HOURS),
    ("reliability.md", "A class on one laptop", "sh", 1, HOURS),
    ("staff.md", "Scored sentences", "sh", 1, "tests/test_house.py"),
    ("statistics.md", ALL, "python", 0, "tests/runs/test_intervals_from_exports.py"),
    ("suite-format.md", "JSON", "json", 1, FORMATS),
    ("suite-format.md", "Tables", "", 2, FORMATS),
    ("suite-format.md", "Critical words", "", 2, FORMATS),
    ("suite-format.md", "The right one of several texts", "", 1, EXAMPLES),
    ("suite-format.md", "Columns that may not be regions", "", 1, NOT + "a line of output"),
    ("suite-format.md", "Errors", "", 1, NOT + "messages of several files"),
    *(
        (f"tutorial-{name}.md", ALL, language, 0, TUTORIALS)
        for name in ("agents", "checkpoints", "lmchallenge", "people", "propara")
        for language in ("", "sh", "text")
    ),
    *(("tutorial-administrator.md", ALL, language, 0, TUTORIALS) for language in ("sh", "text")),
    *(("tutorial-teacher.md", ALL, language, 0, BROWSER) for language in ("", "sh", "text")),
    ("tutorial-checkpoints.md", "In continuous integration", "yaml", 1, HERE),
    ("trust.md", "Published cases", "sh", 1, ".ci/full: the same environments and command"),
    ("tutorial.md", ALL, "", 0, "tests/browser/test_factorial_design.py"),
    ("uploading-results.md", "Evaluated suite (JSON)", "json", 1, EXAMPLES),
    ("uploading-results.md", "Surprisals by region (CSV)", "", 1, EXAMPLES),
    ("uploading-results.md", "Surprisals by token (CSV)", "", 1, EXAMPLES),
    ("uploading-results.md", "LM Zoo (TSV and spec.json)", "", 1, EXAMPLES),
    ("uploading-results.md", "Outcomes only (CSV)", "", 1, EXAMPLES),
    ("uploading-results.md", "Load a paper's results with three commands", "", 1, PAPER),
    ("watching.md", "Metrics", "sh", 1, f"{HERE}: names of settings"),
    ("watching.md", "Metrics", "yaml", 2, HERE),
    ("watching.md", "Logs", "json", 1, HERE),
    ("watching.md", "Data retention", "sh", 1, "tests/test_house.py"),
    ("watching.md", "Requests for personal data", "sh", 1, "tests/test_house.py"),
]  # fmt: skip


@dataclass(frozen=True)
class Block:
    page: str
    heading: str
    language: str
    text: str


@cache
def blocks() -> tuple[Block, ...]:
    return tuple(_blocks())


def _blocks() -> Iterator[Block]:
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("[!R]*.md"))):
        heading, lines, language = "", [], None
        for line in path.read_text(encoding="utf-8").splitlines():
            if fence := re.match(r" *```(\w*)$", line):
                if language is None:
                    language, lines = fence[1], []
                else:
                    yield Block(path.name, heading, language, dedent("\n".join(lines)) + "\n")
                    language = None
            elif language is not None:
                lines.append(line)
            elif line.startswith("#"):
                heading = line.strip("# ")
        assert language is None, f"{path.name}: a block does not end"


def block(page: str, heading: str, language: str = "") -> str:
    """Return the text of the only block of this language under the heading."""
    [found] = [
        one.text for one in blocks() if (one.page, one.heading, one.language) == (page, heading, language)
    ]
    return found


def test_every_block_has_a_row_that_says_what_runs_it() -> None:
    whole = {(page, language) for page, heading, language, *_ in BLOCKS if heading == ALL}
    found = Counter(
        (one.page, ALL if (one.page, one.language) in whole else one.heading, one.language)
        for one in blocks()
    )
    rows = {(page, heading, language): n for page, heading, language, n, _ in BLOCKS}
    assert len(rows) == len(BLOCKS)
    counted = {key: 0 if key[1] == ALL else n for key, n in found.items()}
    assert counted == rows, "add a row to BLOCKS: the test that runs the block, or why it cannot be run"


@pytest.mark.parametrize("row", BLOCKS, ids=lambda row: f"{row[0]}: {row[1]}")
def test_the_named_test_is_there(row) -> None:
    how = row[-1]
    assert how.startswith(NOT) or (ROOT / how.split(":")[0]).is_file()


@pytest.mark.parametrize("language", ["json", "yaml"])
def test_data_can_be_parsed(language) -> None:
    texts = [one.text for one in blocks() if one.language == language]
    texts += [block("coming-from.md", "lm-eval")] if language == "json" else []
    assert len(texts) > 2
    for text in texts:
        if language == "yaml":
            yaml.safe_load(text)
        elif all(line.startswith("{") and line.endswith("}") for line in text.splitlines()):  # JSON Lines
            for line in text.splitlines():
                json.loads(line)
        else:
            json.loads(f"{{{text}}}" if text.startswith('"') else text)  # or a part of an object


@cache
def defined(module: str) -> set[str]:
    """Return what can be imported from a module of this repository: its names and, of a package, its modules."""
    path = ROOT.joinpath(*module.split("."))
    source = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    names = {name.stem for name in path.iterdir()} if path.is_dir() else set()
    for node in ast.parse(source.read_text(encoding="utf-8")).body:
        match node:
            case ast.ImportFrom(names=aliases) | ast.Import(names=aliases):
                names |= {alias.asname or alias.name for alias in aliases}
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                names.add(name)
            case ast.Assign(targets=targets):
                names |= {target.id for target in targets if isinstance(target, ast.Name)}
    return names


@pytest.mark.parametrize(
    "text",
    [pytest.param(one.text, id=f"{one.page}: {one.heading}") for one in blocks() if one.language == "python"],
)
def test_python_can_be_compiled_and_its_imports_are_there(text) -> None:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] in ("lmgym", "gym"):
            assert {alias.name for alias in node.names} <= defined(node.module), node.module


def test_programs_and_targets_in_shell_blocks_are_there() -> None:
    text = "\n".join(one.text for one in blocks() if one.language in ("sh", ""))
    modules = set(re.findall(r"python3? -m ((?:lmgym|gym|benchmarks|tests)[\w.]*)", text))
    assert len(modules) > 8
    for module in modules:
        path = ROOT.joinpath(*module.split("."))
        assert (path / "__main__.py").is_file() or path.with_suffix(".py").is_file(), module
    targets = set(re.findall(r"^make ([\w-]+)", text, re.MULTILINE))
    known = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert targets
    assert targets <= set(known)
    for name in re.findall(r"(?<![\w/])((?:tests|benchmarks)/[\w./]+\.py)", text):
        assert Path(ROOT / name).is_file(), name


def test_settings_in_shell_blocks_are_in_the_table_of_settings() -> None:
    """Of the pages for administrators; those for developers also set variables of tests and benchmarks."""
    table = (ROOT / "docs" / "deploy.md").read_text(encoding="utf-8")
    known = set(re.findall(r"`(GYM_[A-Z_]+)`", "\n".join(re.findall(r"^\| `GYM_.*?\|", table, re.MULTILINE))))
    pages = ("deploy.md", "models.md", "watching.md")
    text = "\n".join(one.text for one in blocks() if one.page in pages and one.language == "sh")
    used = set(re.findall(r"\b(GYM_[A-Z_]+)=", text))
    assert len(used) > 4
    assert {name.removesuffix("_FILE") for name in used} <= known
