"""The OpenAPI description as text. openapi.json is committed, so that reviews show every change to the API; a test
compares it with the code, and `manage.py api_schema` writes it."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

FILE = Path(__file__).with_name("openapi.json")


@cache
def text() -> bytes:
    """Return the OpenAPI description as committed (openapi.json)."""
    return FILE.read_bytes()


def generated() -> str:
    """Generate the description from the code."""
    from drf_spectacular.generators import SchemaGenerator

    return json.dumps(SchemaGenerator().get_schema(public=True), indent=1, ensure_ascii=False) + "\n"
