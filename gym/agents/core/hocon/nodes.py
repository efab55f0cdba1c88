"""The syntax tree of a document, before substitutions are resolved, and its errors. `at`: offset in the text."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

Path: TypeAlias = tuple[str, ...]
Atom: TypeAlias = str | int | float | bool | None


class HoconError(ValueError):
    """A document that cannot be read.

    `code` is stable: syntax, include, limit, cycle, undefined, mixed, encoding. `line` and `column` count from 1;
    both are 0 where the document as a whole is meant.
    """

    def __init__(self, code: str, message: str, line: int = 0, column: int = 0, hint: str = "") -> None:
        self.code = code
        self.message = message
        self.line = line
        self.column = column
        self.hint = hint
        super().__init__(message)

    def __str__(self) -> str:
        place = f"line {self.line}, column {self.column}: " if self.line else ""
        return f"{place}{self.message}" + (f" {self.hint}" if self.hint else "")


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
    """`${path}` or `${?path}`. `looks_back`: it stands in a value of the same path and means the earlier value there,
    `before`, if any."""

    path: Path
    optional: bool
    at: int
    looks_back: bool = False
    before: Node | None = None


@dataclass(slots=True, eq=False)
class Concat:
    """Concatenated values. `blanks[k]` is the white space before piece k."""

    at: int
    pieces: list[Node]
    blanks: list[str]


@dataclass(slots=True, eq=False)
class Chain:
    """A key that was set several times. Only after resolving is it known whether these are objects to merge."""

    at: int
    values: list[Node]


Node: TypeAlias = Scalar | Array | Object | Substitution | Concat | Chain
