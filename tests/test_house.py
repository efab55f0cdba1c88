"""Rules about the whole code base that tests of a single package cannot check."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest
from django.apps import apps
from django.core.management import get_commands, load_command_class

import lmgym
from lmgym.cli import site
from lmgym.cli.site_options import OPTIONS
from tests.lmgym.test_commands_in_docs import SITE, calls

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("lmgym", "gym", "suites", "models_registry")
WRITERS = {"lmgym/text/csv_writer.py", "lmgym/suites/formats/write.py"}
"""The only files that write tables."""


def sources() -> list[Path]:
    found = [
        path
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
        if "migrations" not in path.parts
    ]
    assert len(found) > 80
    return found


@cache
def named(path: Path) -> set[str]:
    """Return every dotted name and import of a file, except variables that it defines itself."""
    names: set[str] = set()
    own: set[str] = set()
    imported: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            imported |= {f"{node.module}.{alias.name}" for alias in node.names} | {str(node.module)}
        elif isinstance(node, ast.arg):
            own.add(node.arg)
        elif isinstance(node, ast.Attribute | ast.Name):
            names.add(ast.unparse(node))
            if isinstance(node.ctx, ast.Store):
                own.add(ast.unparse(node))
    return (names - own) | imported


@pytest.mark.parametrize(
    ("forbidden", "allowed"),
    [
        ({"csv.writer", "csv.DictWriter"}, WRITERS),
        ({"pickle", "cPickle", "dill", "joblib", "shelve", "marshal", "torch.load"}, set()),
        ({"eval", "exec", "os.system", "os.popen", "__import__"}, set()),
        (
            {
                "httpx2",
                "httpcore2",
                "httpx",
                "requests.get",
                "requests.post",
                "requests.Session",
                "urllib3",
                "urllib.request",
                "http.client",
                "aiohttp",
            },
            {
                "lmgym/net/client.py",
                "lmgym/net/wire.py",
                "lmgym/net/responses.py",
                "lmgym/client/transport.py",
            },
        ),
        ({"mark_safe", "django.utils.safestring.mark_safe", "django.utils.safestring.SafeString"}, set()),
    ],
    ids=["tables", "pickles", "code", "the way out", "markup"],
)
def test_dangerous_doors_are_used_nowhere_but_where_they_are_guarded(forbidden, allowed):
    users = {str(path.relative_to(ROOT)) for path in sources() if named(path) & forbidden}
    assert users == allowed


def test_the_site_does_not_use_its_own_client():
    """lmgym/client runs on users' machines and does not follow the site's outbound policy."""
    for path in sources():
        if path.relative_to(ROOT).parts[0] != "lmgym":
            assert not {name for name in named(path) if name.startswith("lmgym.client")}, path


def test_templates_switch_escaping_off_nowhere():
    for path in (ROOT / "templates").rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        for word in ("|safe", "autoescape off", "safeseq", "<style", " style=", "onclick=", "hx-on"):
            assert word not in text, (path.name, word)


def test_every_file_and_module_that_the_docs_name_is_there():
    missing = []
    for page in (*(ROOT / "docs").glob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"):
        text = page.read_text(encoding="utf-8")
        files = r"`((?:lmgym|gym|suites|models_registry|tests|benchmarks)/[\w./]+\.(?:py|js|json|html))\b"
        for name in re.findall(files, text):
            if not (ROOT / name).exists():
                missing.append(f"{page.name}: {name}")
        for name in re.findall(
            r"`((?!gym\.example)(?:lmgym|gym|suites|models_registry)(?:\.[a-z_]+)+)", text
        ):
            folder = ROOT.joinpath(*name.split(".")[:2])
            promised = name.startswith("lmgym.") and name.split(".")[1] in {*lmgym.__all__, "__all__"}
            if not (promised or folder.is_dir() or folder.with_suffix(".py").exists()):
                missing.append(f"{page.name}: {name}")
    assert missing == []


def test_the_index_of_the_docs_lists_every_page_once():
    index = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    listed = re.findall(r"\]\(([\w.-]+)\)", index)
    assert sorted(listed) == sorted(
        {path.name for path in (ROOT / "docs").iterdir() if path.is_file()} - {"README.md"}
    )


def test_the_promised_names_are_the_public_ones():
    text = (ROOT / "docs" / "stability.md").read_text(encoding="utf-8")
    names = re.findall(r"`(\w+)`", text.split("the names of `lmgym`: ")[1].split(";")[0])
    assert sorted(names) == sorted(lmgym.__all__)


def own_commands() -> list[str]:
    ours = {config.name for config in apps.get_app_configs() if config.name.split(".")[0] in PACKAGES}
    return sorted(name for name, app in get_commands().items() if app in ours)


@pytest.mark.parametrize("name", own_commands())
def test_every_command_explains_itself(name, capsys):
    command = load_command_class(get_commands()[name], name)
    assert command.help
    with pytest.raises(SystemExit) as left:
        command.run_from_argv(["manage.py", name, "--help"])
    assert left.value.code == 0
    assert f"usage: manage.py {name}" in capsys.readouterr().out


@pytest.mark.parametrize("name", OPTIONS)
def test_a_sites_command_has_the_options_that_docs_and_completion_list(name):
    listed = site.parser(f"lmgym {name}")._option_string_actions
    command = load_command_class(get_commands()[name], name).create_parser("lmgym", name)
    assert set(listed) <= set(command._option_string_actions)


@pytest.mark.parametrize(
    "given", [pytest.param(given, id=" ".join(given)) for _, given in calls() if given[0] in SITE]
)
def test_a_call_of_a_sites_command_in_the_docs_is_understood(given):
    name, *rest = given[1:] if given[0] == "manage" else given
    load_command_class(get_commands()[name], name).create_parser("lmgym", name).parse_args(rest)


def test_a_mark_that_leaves_a_test_out_stands_in_the_file_of_the_test():
    """.ci/run reads only tests/browser and the files that contain such a mark."""
    marks = re.compile(r"mark\.(?:service|process|foreign|real_model|browser)\b")
    helpers = [path for path in (ROOT / "tests").rglob("*.py") if not path.name.startswith("test_")]
    named_in = [path for path in helpers if marks.search(path.read_text(encoding="utf-8"))]
    assert named_in == [ROOT / "tests" / "browser" / "conftest.py"]
