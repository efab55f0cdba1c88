"""Which agent calls which, as an indented list. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

MAX_LINES = 200
MAX_LEVEL = 12


@dataclass(frozen=True)
class Line:
    """`again`: its calls are listed further up."""

    level: int
    name: str
    kind: str
    again: bool = False


def call_tree(nodes: Sequence[dict[str, Any]]) -> list[Line]:
    """The graph from its first node, depth first; then the nodes not reached from there."""
    known = {str(node["origin"]): node for node in nodes}
    lines: list[Line] = []
    seen: set[str] = set()

    def walk(name: str, level: int) -> None:
        if len(lines) >= MAX_LINES or level > MAX_LEVEL:
            return
        node = known.get(name, {})
        again = name in seen and bool(node.get("tools"))
        lines.append(Line(level, name, str(node.get("display_as", "")).replace("_", " "), again))
        if name in seen:
            return
        seen.add(name)
        for tool in node.get("tools", []):
            walk(str(tool), level + 1)

    for name in known:
        if name not in seen:
            walk(name, 0)
    return lines
