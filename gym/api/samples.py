"""Examples for the OpenAPI description, generated from its schemas."""

from __future__ import annotations

import re
from typing import Any

RUN = "3f2a9c1d5e7b8a604c21"
TYPED = {
    "date-time": "2026-03-01T09:00:00Z",
    "uuid": "0b9f6a4e-5a0e-4d8b-9c3f-6f1f3f0c2a77",
    "uri": "https://gym.example.org/",
    "binary": "(a file)",
}
NAMED = {
    "slug": "agreement_orc",
    "suite": "agreement_orc",
    "title": "Agreement across relatives",
    "tag": "agreement",
    "tags": "agreement",
    "model": "demo-gpt2",
    "models": "demo-gpt2",
    "bos": "auto",
    "start_token": "<|endoftext|>",
    "agent": "demo-agents",
    "owner": "alice",
    "username": "alice",
    "id": RUN,
    "key": RUN,
    "run": RUN,
    "runs": RUN,
    "formula": "(2;%mismatch%) > (2;%match%)",
    "condition": "match",
    "header": "yes",
    "prediction": "match",
    "conditions": "match",
    "licence": "CC-BY-4.0",
    "sha256": "6d1f" * 16,
    "form": "csv",
}
TEXTS = ("text", "0123456789ab")
"""Samples for fields that `NAMED` lacks; the second matches patterns of hexadecimal digits."""


def sample(schema: dict[str, Any], schemas: dict[str, Any], name: str = "") -> Any:
    """Return an example for a JSON schema. `name`: the field's name; `schemas`: components it may refer to."""
    if "$ref" in schema:
        return sample(schemas[schema["$ref"].rpartition("/")[2]], schemas, name)
    for choice in ("allOf", "oneOf", "anyOf"):
        if choice in schema:
            return sample(schema[choice][0], schemas, name)
    if "default" in schema:
        return schema["default"]
    if "enum" in schema:
        return schema["enum"][0]
    kinds = schema.get("type", "object")
    kind = kinds[0] if isinstance(kinds, list) else kinds
    if kind == "object":
        return _object(schema, schemas)
    if kind == "array":
        return [sample(schema["items"], schemas, name)] * max(1, schema.get("minItems", 1))
    if kind == "boolean":
        return True
    if kind in {"integer", "number"}:
        return max(1 if kind == "integer" else 0.5, schema.get("minimum", 0))
    return _text(schema, name)


def _object(schema: dict[str, Any], schemas: dict[str, Any]) -> dict[str, Any]:
    example = {name: sample(inner, schemas, name) for name, inner in schema.get("properties", {}).items()}
    more = schema.get("additionalProperties")
    if isinstance(more, dict) and more:
        example["name"] = sample(more, schemas)
    return example


def _text(schema: dict[str, Any], name: str) -> str:
    if schema.get("format") in TYPED:
        return TYPED[schema["format"]]
    texts = [NAMED[name]] if name in NAMED else []
    return next(text for text in (*texts, *TEXTS) if re.search(schema.get("pattern", ""), text))
