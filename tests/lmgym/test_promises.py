"""Nothing that docs/stability.md promises is gone: names, API, columns, keys, options, exit statuses, settings, sha256.

golden/promised.json has a line for each thing with its words. More words are allowed, except for what is required.
`python -m tests.lmgym.test_promises` writes the file, before each minor release, for what was added.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import re
from collections.abc import Iterator
from typing import Any

import lmgym
from lmgym.cli.shared import EXIT_STATUS
from lmgym.runs.report import as_dict
from tests.lmgym.conftest import ROOT
from tests.lmgym.suites.formats.samples import GOLDEN, golden

FILE = GOLDEN.parent / "promised.json"
DEMO = ROOT / "gym" / "demo" / "data" / "suites"
REQUIRED = " requires"
"""End of the keys whose words may become fewer, but not more: callers would have to give them."""


def current() -> dict[str, list[str]]:
    lines = [*_python(), *_api(), *_codes(), *_commands(), *_columns(), *_keys(), *_settings(), *_suites()]
    return {key: sorted(set(words)) for key, words in lines}


def _python() -> Iterator[tuple[str, list[str]]]:
    for name in lmgym.__all__:
        thing = getattr(lmgym, name)
        if inspect.isclass(thing):
            yield from _class(f"lmgym.{name}", thing)
        elif inspect.isfunction(thing):
            yield from _function(f"lmgym.{name}", thing)
    errors = importlib.import_module("lmgym.errors")
    for name in errors.__all__:
        bases = [base.__name__ for base in getattr(errors, name).__mro__[1:] if base is not object]
        yield f"lmgym.errors.{name} is a", bases


def _class(name: str, kind: type) -> Iterator[tuple[str, list[str]]]:
    public = {key: getattr(kind, key) for key in dir(kind) if not key.startswith("_")}
    yield f"{name} has", [*public, *getattr(kind, "__dataclass_fields__", ())]
    for key, value in public.items():
        if callable(value):
            yield from _function(f"{name}.{key}", value)


def _function(name: str, function: Any) -> Iterator[tuple[str, list[str]]]:
    parameters = [one for one in inspect.signature(function).parameters.values() if one.name != "self"]
    yield f"{name} takes", [one.name for one in parameters]
    fixed = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    needed = [one.name for one in parameters if one.default is one.empty and one.kind not in fixed]
    yield f"{name}{REQUIRED}", needed


def _api() -> Iterator[tuple[str, list[str]]]:
    schema = json.loads((ROOT / "gym" / "api" / "openapi.json").read_text(encoding="utf-8"))
    parts = schema["components"]["schemas"]
    for address, methods in schema["paths"].items():
        for method, operation in methods.items():
            name = f"{method.upper()} {address}"
            given = operation.get("parameters", [])
            bodies = [one["schema"] for one in operation.get("requestBody", {}).get("content", {}).values()]
            needed = {one["name"] for one in given if one.get("required")}
            yield f"{name} takes", [*(one["name"] for one in given), *_fields(bodies, parts)]
            yield f"{name}{REQUIRED}", [*needed, *(word for body in bodies for word in _needed(body, parts))]
            yield f"{name} responds", list(operation["responses"])
            for status, response in operation["responses"].items():
                if status < "300":
                    shapes = [one["schema"] for one in response.get("content", {}).values()]
                    yield f"{name} {status}", list(_fields(shapes, parts))


def _codes() -> Iterator[tuple[str, list[str]]]:
    """Yield the codes of errors that are written as constants in the calls that raise them."""
    found = []
    for path in (
        path for name in ("gym", "suites", "models_registry") for path in (ROOT / name).rglob("*.py")
    ):
        source = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(source)) if "ApiProblem" in source else ():
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "ApiProblem":
                values = [*node.args[2:3], *(one.value for one in node.keywords if one.arg == "code")]
                found += [str(one.value) for one in values if isinstance(one, ast.Constant)]
    yield "codes of errors", found


def _fields(shapes: list[Any], parts: dict[str, Any], seen: tuple[str, ...] = ()) -> Iterator[str]:
    for shape in shapes:
        name = shape.get("$ref", "").rpartition("/")[2]
        if name and name not in seen:
            yield from _fields([parts[name]], parts, (*seen, name))
        inner = [one for key in ("allOf", "anyOf", "oneOf") for one in shape.get(key, ())]
        yield from _fields([*inner, *([shape["items"]] if "items" in shape else [])], parts, seen)
        for key, field in shape.get("properties", {}).items():
            yield key
            yield from (f"{key}.{word}" for word in _fields([field], parts, seen))


def _needed(shape: dict[str, Any], parts: dict[str, Any]) -> list[str]:
    """Return the fields that a body must have, at its top."""
    if "$ref" in shape:
        shape = parts[shape["$ref"].rpartition("/")[2]]
    return list(shape.get("required", ()))


def _commands() -> Iterator[tuple[str, list[str]]]:
    """Other tests compare docs/commands.md with the parsers."""
    text = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    for section in re.split(r"^##+ (?=lmgym )", text, flags=re.MULTILINE)[1:]:
        title, body = section.split("\n", 1)
        yield (
            title,
            re.findall(
                r"(?<=[`, ])(--?[a-z][\w-]*)(?=[ `])",
                "\n".join(re.findall(r"^\* (.*?)(?:: |$)", body, re.MULTILINE)),
            ),
        )
        yield f"{title}{REQUIRED}", re.findall(r"^\* `(-[\w-]+)[^:]*: required", body, re.MULTILINE)
    yield "exit statuses", [str(status) for status in EXIT_STATUS]


def _columns() -> Iterator[tuple[str, list[str]]]:
    """Other tests compare docs/names.md with the classes."""
    text = (ROOT / "docs" / "names.md").read_text(encoding="utf-8")
    for section in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        rows = re.findall(r"^\| `(.+?)` \| (.+?) \| (.+?) \|", section, re.MULTILINE)
        yield f"columns: {section.splitlines()[0]}", [f"{name} ({kind}, {unit})" for name, kind, unit in rows]


def _keys() -> Iterator[tuple[str, list[str]]]:
    """Yield the keys of the JSON files that docs/names.md describes; an inner key follows its outer key and a dot."""

    class Lengths:
        def score(self, texts: list[str]) -> list[list[tuple[str, float]]]:
            return [[(word, float(len(word))) for word in text.split()] for text in texts]

    result = lmgym.evaluate(DEMO / "npi.json", Lengths())
    (run,) = result.runs
    yield "keys: a run", list(_inner_keys(as_dict(run.suite, run.result, {})))
    yield "keys: a chart", list(result.plot("rates").as_json())


def _inner_keys(value: Any) -> Iterator[str]:
    if isinstance(value, list):
        for one in value:
            yield from _inner_keys(one)
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from (f"{key}.{word}" for word in _inner_keys(inner))


def _settings() -> Iterator[tuple[str, list[str]]]:
    """Other tests compare docs/deploy.md with the settings."""
    text = (ROOT / "docs" / "deploy.md").read_text(encoding="utf-8")
    yield "settings", re.findall(r"^\| `(GYM_[A-Z0-9_]+)` \|", text, re.MULTILINE)


def _suites() -> Iterator[tuple[str, list[str]]]:
    for path in sorted(GOLDEN.iterdir()):
        yield f"sha256: {path.name}", [golden(path.name).sha256()]
    for path in sorted(DEMO.glob("*.json")):
        yield f"sha256: {path.name}", [lmgym.load_suite(path).sha256()]


def test_what_is_promised_is_still_there() -> None:
    now = current()
    lost = {}
    for key, words in json.loads(FILE.read_text(encoding="utf-8")).items():
        old, new = set(words.split("\t")) - {""}, set(now.get(key, ()))
        if missing := (new - old if key.endswith(REQUIRED) else old - new):
            lost[key] = sorted(missing)
    assert lost == {}, "only a major release may change this (docs/stability.md)"


def test_supported_versions_are_the_lower_bounds_of_the_package() -> None:
    page = (ROOT / "docs" / "stability.md").read_text(encoding="utf-8")
    package = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    for stated, bound in (
        (r"\| Python \| ([\d.]+) and later", r'^requires-python = ">=([\d.]+)'),
        (r"\| Django \| ([\d.]+) ", r'^  "Django>=([\d.]+),'),
        (r"torch ([\d.]+) and later", r'^  "torch>=([\d.]+),'),
        (r"transformers ([\d.]+) and later", r'^  "transformers>=([\d.]+),'),
    ):
        assert re.findall(stated, page) == re.findall(bound, package, re.MULTILINE) != []


if __name__ == "__main__":
    lines = {key: "\t".join(words) for key, words in current().items()}
    FILE.write_text(json.dumps(lines, ensure_ascii=False, indent=0) + "\n", encoding="utf-8")
