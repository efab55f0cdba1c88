"""Putting a parsed field where its key says: merging objects, appending to arrays, looking back at earlier values."""

from __future__ import annotations

from dataclasses import dataclass

from gym.conversations.hocon.nodes import Array, Chain, Concat, Node, Object, Path, Scalar, Substitution
from gym.conversations.hocon.scan import Source, named


@dataclass(slots=True)
class Field:
    """`path = value` or `path += value`. `absolute`: no list element stands above it, so `${…}` can name it.
    `substitutions` are those inside the value."""

    path: Path
    value: Node
    at: int
    appends: bool
    absolute: bool
    substitutions: list[Substitution]


class Builder:
    def __init__(self, source: Source) -> None:
        self.source = source

    def put(self, into: Object, field: Field, absolute: Path) -> None:
        for part in field.path[:-1]:
            below = Object(field.at)
            self._set(into, part, below)
            into = self._object_of(into, part, below)
        key = field.path[-1]
        earlier = into.fields.get(key)
        if field.appends:
            self._append(into, key, earlier, field)
            return
        looks_back = False
        if field.absolute:
            for substitution in field.substitutions:
                if substitution.path == absolute and not substitution.looks_back:
                    substitution.looks_back, substitution.before = True, earlier
                    looks_back = True
        if looks_back and earlier is not None:
            into.fields[key] = Chain(field.at, [earlier, field.value])
        else:
            self._set(into, key, field.value)

    def _object_of(self, into: Object, key: str, new: Object) -> Object:
        """The object that now stands at `key`, into which fields can be put."""
        node = into.fields[key]
        if isinstance(node, Object):
            return node
        assert isinstance(node, Chain)
        last = node.values[-1]
        return last if isinstance(last, Object) else new

    def _set(self, into: Object, key: str, value: Node) -> None:
        """Set a key again: objects are merged, known non-objects replaced, and the rest is left to the resolver."""
        earlier = into.fields.get(key)
        if isinstance(earlier, Object) and isinstance(value, Object):
            for name, node in value.fields.items():
                self._set(earlier, name, node)
        elif earlier is None or isinstance(value, Scalar | Array) or isinstance(earlier, Scalar | Array):
            into.fields[key] = self._kept(earlier, value)
        elif isinstance(earlier, Chain):
            last = earlier.values[-1]
            if isinstance(last, Object) and isinstance(value, Object):
                for name, node in value.fields.items():
                    self._set(last, name, node)
            else:
                earlier.values.append(value)
        else:
            into.fields[key] = Chain(value.at, [earlier, value])

    @staticmethod
    def _kept(earlier: Node | None, value: Node) -> Node:
        """An optional substitution that turns out to be undefined leaves the earlier value in place."""
        if earlier is not None and isinstance(value, Substitution) and value.optional:
            return Chain(value.at, [earlier, value])
        return value

    def _append(self, into: Object, key: str, earlier: Node | None, field: Field) -> None:
        if isinstance(earlier, Array):
            earlier.items.append(field.value)
        elif earlier is None:
            into.fields[key] = Array(field.at, [field.value])
        elif isinstance(earlier, Scalar | Object):
            line, _ = self.source.place(earlier.at)
            message = f"+= appends to a list, but {named(field.path)} is no list (line {line})."
            raise self.source.error("mixed", message, field.at)
        elif isinstance(earlier, Concat) and isinstance(earlier.pieces[-1], Array):
            earlier.pieces[-1].items.append(field.value)
        else:
            into.fields[key] = Concat(field.at, [earlier, Array(field.at, [field.value])], ["", ""])
