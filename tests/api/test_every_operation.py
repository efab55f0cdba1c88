"""Invariants of all operations: a row in the permission table, a description, valid examples."""

from __future__ import annotations

import json

import pytest
from django.core.management import call_command
from django.urls import URLPattern, get_resolver
from jsonschema import Draft202012Validator

from gym.api.description import FILE, generated
from gym.api.permissions import TokenScope
from tests.permissions.test_every_url import ROWS

METHODS = ("get", "post", "put", "patch", "delete")
SCHEMA = json.loads(FILE.read_text(encoding="utf-8"))
OPERATIONS = [
    pytest.param(operation, id=operation["operationId"])
    for address in SCHEMA["paths"].values()
    for operation in address.values()
]


def views():
    def walk(patterns):
        for pattern in patterns:
            if isinstance(pattern, URLPattern):
                yield pattern
            else:
                yield from walk(pattern.url_patterns)

    api = next(item for item in get_resolver().url_patterns if str(item.pattern) == "api/v1/")
    for pattern in walk(api.url_patterns):
        kind = getattr(pattern.callback, "cls", None)
        if kind is not None and pattern.name:
            yield pattern.name, kind


def test_every_operation_has_a_row_in_the_permission_table():
    rows = {(method, name) for method, name, _, _ in ROWS}
    missing = {
        (method.upper(), name) for name, kind in views() for method in METHODS if hasattr(kind, method)
    } - rows
    assert not missing


def test_every_method_is_described_and_asks_for_scopes():
    found = list(views())
    assert len(found) > 30
    for name, kind in found:
        assert any(issubclass(permission, TokenScope) for permission in kind.permission_classes), name
        for method in METHODS:
            if hasattr(kind, method):
                assert hasattr(getattr(kind, method), "operation"), (name, method)


def test_the_kept_description_is_what_the_code_says():
    call_command("api_schema", check=True)
    assert json.loads(generated()) == SCHEMA
    assert SCHEMA["openapi"].startswith("3.1")


def bodies(operation):
    """Yield (name, schema and example) for request bodies and successful responses."""
    for media, content in operation.get("requestBody", {}).get("content", {}).items():
        yield f"request {media}", content
    for status, response in operation["responses"].items():
        for media, content in response.get("content", {}).items():
            yield f"{status} {media}", content


def test_every_operation_has_examples_that_are_as_it_says():
    found = [
        (f"{method} {address}: {what}", content)
        for address, methods in SCHEMA["paths"].items()
        for method, operation in methods.items()
        for what, content in bodies(operation)
    ]
    assert len(found) > 200
    for what, content in found:
        whole = Draft202012Validator({**content["schema"], "components": SCHEMA["components"]})
        assert whole.is_valid(content["example"]), (what, content["example"])


@pytest.mark.parametrize("operation", OPERATIONS)
def test_every_part_of_an_address_has_an_example(operation):
    for parameter in operation.get("parameters", []):
        if parameter["in"] == "path":
            assert parameter["example"], parameter["name"]


@pytest.mark.parametrize("operation", OPERATIONS)
def test_every_operation_says_what_it_does_and_which_scope_it_takes(operation):
    assert operation["summary"]
    assert "Scope: `" in operation["description"]


@pytest.mark.parametrize("operation", OPERATIONS)
def test_every_operation_describes_the_common_errors(operation):
    """409 comes from gym.conflicts and exports, 503 from gym.open_streams and gym.time_limits."""
    assert {"401", "403", "409", "429", "503"} <= set(operation["responses"])


def test_every_post_describes_the_errors_of_idempotency_keys():
    found = [methods["post"]["responses"] for methods in SCHEMA["paths"].values() if "post" in methods]
    assert found
    assert all({"413", "415", "422"} <= set(responses) for responses in found)


@pytest.mark.parametrize("room", ["suites", "compare", "lmc/corpora", "propara/answer-sets"])
def test_operations_on_movable_addresses_describe_the_redirect(room):
    found = [
        operation["responses"]
        for address, methods in SCHEMA["paths"].items()
        if address.startswith(f"/api/v1/{room}/{{slug}}/")
        for operation in methods.values()
    ]
    assert found
    assert all({"307", "410"} <= set(responses) for responses in found)
