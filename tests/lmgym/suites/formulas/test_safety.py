"""Formulas are data: nothing in the packages runs text as code, and the language needs no web framework."""

from __future__ import annotations

import ast
import re
import subprocess
import sys

from tests.lmgym.conftest import ROOT

FORBIDDEN = {"eval", "exec", "compile", "__import__"}
WORDS = re.compile(r"(?<![\w.])(eval|exec|compile|__import__)\b|builtins")
"""Sources without any of these words have no such calls and need not be parsed."""


def calls_that_run_text(source: str) -> list[int]:
    """Return the line numbers of calls to eval, exec, compile or __import__, by name or through builtins."""
    found = []
    for node in ast.walk(ast.parse(source)) if WORDS.search(source) else ():
        if not isinstance(node, ast.Call):
            continue
        function = node.func
        by_name = isinstance(function, ast.Name) and function.id in FORBIDDEN
        through_builtins = (
            isinstance(function, ast.Attribute)
            and function.attr in FORBIDDEN
            and isinstance(function.value, ast.Name)
            and function.value.id in ("builtins", "__builtins__")
        )
        if by_name or through_builtins:
            found.append(node.lineno)
    return found


def test_no_package_runs_text_as_code() -> None:
    offenders = [
        f"{path.relative_to(ROOT)}:{line}"
        for package in ("lmgym", "suites", "gym", "models_registry")
        for path in sorted((ROOT / package).rglob("*.py"))
        for line in calls_that_run_text(path.read_text(encoding="utf-8"))
    ]
    assert offenders == []


def test_the_search_finds_what_it_looks_for() -> None:
    assert calls_that_run_text("eval('1')\nbuiltins.exec('1')\nmodel.eval()\nre.compile('x')") == [1, 2]


def test_the_language_imports_neither_django_nor_torch() -> None:
    script = (
        "import sys, lmgym.suites.formulas\n"
        "found = {name.split('.')[0] for name in sys.modules} & {'django', 'torch', 'rest_framework'}\n"
        "print(*sorted(found))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout.strip()) == (0, ""), done.stderr
