"""What the parser makes of the text, before substitutions are resolved. `at` is an offset into the text."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

Path: TypeAlias = tuple[str, ...]
Atom: TypeAlias = str | int | float | bool | None


@dataclass(slots=True, eq=False)
class Scalar:
    value: Atom
    raw: str
    at: int


@dataclass(slots=True, eq=False)
class Array:
    at: int
    items: list[Node] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Object:
    at: int
    fields: dict[str, Node] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class Substitution:
    """`${path}` or `${?path}`. `looks_back` says that it stands in a value of that very path, and then means what
    the path was before: `before`, or nothing."""

    path: Path
    optional: bool
    at: int
    looks_back: bool = False
    before: Node | None = None


@dataclass(slots=True, eq=False)
class Concat:
    """Values side by side. `blanks[k]` is the white space in front of piece k."""

    at: int
    pieces: list[Node]
    blanks: list[str]


@dataclass(slots=True, eq=False)
class Chain:
    """A key that was set several times, where only resolving tells whether these are objects to be merged."""

    at: int
    values: list[Node]


Node: TypeAlias = Scalar | Array | Object | Substitution | Concat | Chain
