"""Resolve the syntax tree to plain values. Substitutions are looked up only in the document and in `variables`.

Every value has a weight, the number of values and blocks of text to which it expands, so that a document that doubles
in size with each line is rejected before its value is built.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lmgym.agents.hocon.parse import Array, Chain, Concat, Node, Object, Scalar, Substitution
from lmgym.agents.hocon.scan import HoconError, Path, Source, named

MAX_STEPS = 150
"""Maximum depth of recursion through values and substitutions."""
BLOCK = 16
"""Number of characters with the weight of one value."""
MAX_TEXT = 100_000
"""Maximum length of a concatenated text in characters."""


class _Missing:
    """Marker for an optional substitution without a value."""


MISSING = _Missing()


@dataclass(slots=True)
class Resolved:
    value: Any
    weight: int
    height: int = 0
    raw: str | None = None


NOTHING = Resolved(MISSING, 0)


def _plain(result: Resolved) -> str:
    """Format a value as part of a longer text."""
    if result.raw is not None:
        return result.raw
    if result.value is None:
        return "null"
    if isinstance(result.value, bool):
        return "true" if result.value else "false"
    return str(result.value)


class Resolver:
    def __init__(
        self, source: Source, root: Node, variables: Mapping[str, str], max_depth: int, max_weight: int
    ) -> None:
        self.source = source
        self.root = root
        self.variables = variables
        self.used: set[str] = set()
        self.max_depth = max_depth
        self.max_weight = max_weight
        self.known: dict[int, Resolved] = {}
        self.under_way: dict[int, str] = {}
        self.steps = 0
        self.work = 0

    def resolve(self, node: Node) -> Resolved:
        """Return the value of a node, cached."""
        if isinstance(node, Scalar):
            return Resolved(node.value, 1 + len(node.raw) // BLOCK, 0, node.raw)
        mark = id(node)
        if mark in self.known:
            return self.known[mark]
        if mark in self.under_way:
            raise self._cycle(node)
        self.steps += 1
        if self.steps > MAX_STEPS:
            raise self._error("limit", "Substitutions and values are nested too deeply here.", node)
        self.under_way[mark] = named(node.path) if isinstance(node, Substitution) else ""
        result = self._resolve(node)
        del self.under_way[mark]
        self.steps -= 1
        if result.weight > self.max_weight or self.work > 4 * self.max_weight:
            raise self._error("limit", "The document expands to too large a value.", node)
        if result.height > self.max_depth:
            raise self._error("limit", f"Nested more than {self.max_depth} levels deep.", node)
        self.known[mark] = result
        return result

    def _resolve(self, node: Array | Object | Substitution | Concat | Chain) -> Resolved:
        match node:
            case Array():
                items = [result for item in node.items if (result := self.resolve(item)).value is not MISSING]
                return self._collected([result.value for result in items], items)
            case Object():
                fields = {
                    key: result
                    for key, below in node.fields.items()
                    if (result := self.resolve(below)).value is not MISSING
                }
                return self._collected({key: result.value for key, result in fields.items()}, fields.values())
            case Substitution():
                return self._substitution(node)
            case Concat():
                return self._concat(node)
            case Chain():
                return self._chain(node)

    def _collected(self, value: Any, parts: Any) -> Resolved:
        weight, height = 1, 0
        for part in parts:
            weight += part.weight
            height = max(height, part.height)
        return Resolved(value, weight, height + 1)

    # --- substitutions ---

    def _substitution(self, node: Substitution) -> Resolved:
        result = NOTHING
        if node.looks_back:
            if node.before is not None:
                result = self.resolve(node.before)
        else:
            result = self._lookup(self.root, node.path)
        if result.value is not MISSING:
            return result
        name = ".".join(node.path)
        if name in self.variables:
            self.used.add(name)
            text = self.variables[name]
            return Resolved(text, 1 + len(text) // BLOCK, 0, text)
        if node.optional:
            return NOTHING
        name = named(node.path)
        if node.looks_back and node.before is None:
            raise self._error("cycle", f"{name} refers to itself and has no earlier value.", node)
        hint = f"Define it in this document or as a variable, or write ${{?{name}}} if it is optional."
        raise self._error("undefined", f"${{{name}}} has no value.", node, hint)

    def _lookup(self, node: Node, path: Path) -> Resolved:
        """Return the value at a path. Sibling values are resolved only if necessary."""
        for depth, part in enumerate(path):
            if isinstance(node, Concat | Chain):
                final = self._final_field(node, part)
                if final is not None:
                    node = final
                    continue
            if not isinstance(node, Object):
                return self._within(self.resolve(node), path[depth:])
            below = node.fields.get(part)
            if below is None:
                return NOTHING
            node = below
        return self.resolve(node)

    @staticmethod
    def _final_field(node: Concat | Chain, part: str) -> Node | None:
        """Return the field `part` of the last value, if no earlier value can be merged into it."""
        last = (node.pieces if isinstance(node, Concat) else node.values)[-1]
        field = last.fields.get(part) if isinstance(last, Object) else None
        return field if isinstance(field, Scalar | Array) else None

    @staticmethod
    def _within(parent: Resolved, path: Path) -> Resolved:
        value = parent.value
        for part in path:
            if not isinstance(value, dict) or part not in value:
                return NOTHING
            value = value[part]
        return Resolved(value, parent.weight, parent.height)

    # --- concatenation ---

    def _concat(self, node: Concat) -> Resolved:
        parts = [self.resolve(piece) for piece in node.pieces]
        present = [part for part in parts if part.value is not MISSING]
        if not present:
            return NOTHING
        if len(present) == 1 and not isinstance(present[0].value, str):
            return present[0]
        if all(isinstance(part.value, list) for part in present):
            self.work += sum(len(part.value) for part in present)
            return Resolved(
                [item for part in present for item in part.value],
                sum(part.weight for part in present),
                max(part.height for part in present),
            )
        if all(isinstance(part.value, dict) for part in present):
            merged = present[0]
            for part in present[1:]:
                merged = self._merged(merged, part)
            return merged
        if any(isinstance(part.value, dict | list) for part in present):
            message = "Text, lists and objects cannot be concatenated with each other."
            raise self._error("mixed", message, node, "Check for a missing comma or line break.")
        length = sum(len(_plain(part)) for part in present) + sum(map(len, node.blanks))
        self.work += length // BLOCK
        if length > MAX_TEXT:
            raise self._error("limit", "The document expands to too large a value.", node)
        text = "".join(
            gap + ("" if part.value is MISSING else _plain(part))
            for gap, part in zip(node.blanks, parts, strict=True)
        )
        return Resolved(text, 1 + len(text) // BLOCK, 0, text)

    def _chain(self, node: Chain) -> Resolved:
        result = NOTHING
        for value in node.values:
            current = self.resolve(value)
            if current.value is MISSING:
                continue
            both = isinstance(result.value, dict) and isinstance(current.value, dict)
            result = self._merged(result, current) if both else current
        return result

    def _merged(self, first: Resolved, second: Resolved, depth: int = 0) -> Resolved:
        self.work += len(first.value) + len(second.value)
        if self.work > 4 * self.max_weight:
            raise HoconError("limit", "The document expands to too large a value.")
        value = dict(first.value)
        for key, new in second.value.items():
            old = value.get(key)
            if isinstance(old, dict) and isinstance(new, dict):
                value[key] = self._merged(Resolved(old, 0), Resolved(new, 0), depth + 1).value
            else:
                value[key] = new
        return Resolved(value, first.weight + second.weight, max(first.height, second.height))

    # --- errors ---

    def _cycle(self, node: Node) -> HoconError:
        marks = list(self.under_way)
        names = [
            name
            for mark, name in self.under_way.items()
            if name and marks.index(mark) >= marks.index(id(node))
        ]
        shown = " → ".join([*names, names[0]] if names else ["this value"])
        return self._error("cycle", f"A value depends on itself, in a cycle: {shown}.", node)

    def _error(self, code: str, message: str, node: Node, hint: str = "") -> HoconError:
        return self.source.error(code, message, node.at, hint)
