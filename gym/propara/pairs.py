"""JSON in which nothing is lost: of two values under one key, Python's reader keeps the last and says nothing."""

from __future__ import annotations

from typing import Any

from gym.bounded import Limits, load


def loads(text: str, limits: Limits | None = None) -> Any:
    """The value. Raises ValueError, also for an object in which a key stands twice."""
    return load(text, limits or Limits(), object_pairs_hook=_object)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"the key {key[:60]!r} stands twice in one object")
        found[key] = value
    return found
