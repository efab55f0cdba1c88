"""The OpenAPI description as text. It is kept in openapi.json, so that a change of the API is seen in a review; a test
holds the file against the code, and `manage.py api_schema` renews it."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

FILE = Path(__file__).with_name("openapi.json")


@cache
def text() -> bytes:
    """The kept description."""
    return FILE.read_bytes()


def generated() -> str:
    """What the code says now."""
    from drf_spectacular.generators import SchemaGenerator

    return json.dumps(SchemaGenerator().get_schema(public=True), indent=1, ensure_ascii=False) + "\n"
