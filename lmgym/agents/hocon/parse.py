"""One-pass recursive descent parser of bounded depth for the grammar of the HOCON specification.

`include` is rejected wherever it could be a directive.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TypeAlias

from lmgym.agents.hocon.scan import Atom, HoconError, Path, Piece, Remark, Source, named, of_pieces

END = frozenset("\n,}]#")
INCLUDED = re.compile(r"(?:[^\S\n]+|(?<=include))(?:\"|(?:file|url|classpath|package|required)\s*\()")
MAX_REMARKS = 1_000
QUOTE_IT = "Put text with special characters in double quotes."


# --- syntax tree before substitutions are resolved; `at`: offset in the text ---


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
    """`${path}` or `${?path}`. `looks_back`: the substitution is in a value at the same path and refers to the earlier
    value, `before`, if there is one."""

    path: Path
    optional: bool
    at: int
    looks_back: bool = False
    before: Node | None = None


@dataclass(slots=True, eq=False)
class Concat:
    """Concatenated values. `blanks[k]` is the whitespace before piece k."""

    at: int
    pieces: list[Node]
    blanks: list[str]


@dataclass(slots=True, eq=False)
class Chain:
    """Values of a key that was set several times. Only resolving shows whether they are objects to merge."""

    at: int
    values: list[Node]


Node: TypeAlias = Scalar | Array | Object | Substitution | Concat | Chain


# --- parser ---


class Parser:
    def __init__(self, text: str, max_depth: int, max_parts: int) -> None:
        self.source = Source(text)
        self.text = text
        self.at = 0
        self.depth = 0
        self.max_depth = max_depth
        self.parts = 0
        self.max_parts = max_parts
        self.substitutions: list[Substitution] = []
        self.places: dict[tuple[str | int, ...], int] = {}
        self.remarks: list[Remark] = []
        self.builder = Builder(self.source)

    # --- document ---

    def document(self) -> Node:
        self._skip()
        if self._peek() in ("{", "["):
            root = self._object(()) if self._peek() == "{" else self._array(())
            self._skip()
            if self.at < len(self.text):
                raise self._error(f"Expected the end of the document, not {self._shown()}.")
            return root
        root = Object(self.at)
        self._fields(root, (), closing="")
        return root

    # --- objects ---

    def _object(self, prefix: tuple[str | int, ...]) -> Object:
        node = Object(self.at)
        self._deeper()
        self.at += 1
        self._fields(node, prefix, closing="}")
        self.depth -= 1
        return node

    def _fields(self, into: Object, prefix: tuple[str | int, ...], closing: str) -> None:
        opened = into.at
        while True:
            self._skip()
            if self._peek() == closing:
                self.at += len(closing)
                return
            if self.at >= len(self.text):
                raise self.source.error("syntax", "This { is not closed.", opened)
            self._field(into, prefix)
            self._separator(closing)

    def _field(self, into: Object, prefix: tuple[str | int, ...]) -> None:
        start = self.at
        path = self._key()
        self._skip()
        appends = self.text.startswith("+=", self.at)
        if appends:
            self.at += 2
        elif self._peek() in (":", "="):
            self.at += 1
        elif self._peek() != "{":
            message = f"Expected :, = or {{ after the key {named(path)}, not {self._shown()}."
            raise self._error(message, QUOTE_IT)
        self._skip()
        full = prefix + path
        if len(full) > self.max_depth:
            raise self._limit(start)  # each part of a dotted key adds one level of depth
        self.places[full] = start
        marker = len(self.substitutions)
        value = self._value((*full, 0) if appends else full)
        absolute = tuple(part for part in full if isinstance(part, str))
        field = Field(path, value, start, appends, absolute == full, self.substitutions[marker:])
        self.builder.put(into, field, absolute)

    def _key(self) -> Path:
        """Parse a path such as a.b."c.d"; whitespace inside an unquoted part belongs to it."""
        start = self.at
        parts: list[str] = [""]
        quoted = [False]
        gap = ""
        while True:
            self._another()
            if self._peek() == '"':
                text, self.at = self.source.string(self.at)
                parts[-1] += gap + text
                quoted[-1] = True
            else:
                end = self.source.bare(self.at)
                if end == self.at:
                    break
                self._refuse_include(start, end)
                first, *more = self.text[self.at : end].split(".")
                parts[-1] += gap + first
                parts += more
                quoted += [False] * len(more)
                self.at = end
            here = self.source.skip_blank(self.at)
            gap, self.at = self.text[self.at : here], here
        if self.at == start:
            raise self._error(f"Expected a key, not {self._shown()}.", QUOTE_IT)
        if any(not part and not was for part, was in zip(parts, quoted, strict=True)):
            raise self.source.error(
                "syntax", "A part of this key is empty.", start, 'Write "" for an empty key.'
            )
        if len(parts) > self.max_depth:
            raise self._limit(start)
        return tuple(part if was else part.strip() for part, was in zip(parts, quoted, strict=True))

    def _refuse_include(self, start: int, end: int) -> None:
        word = self.text[start:end]
        if self.at == start and (word == "include" or word.startswith("include(")) and self._includes(start):
            raise self._include(start)

    def _includes(self, start: int) -> bool:
        """Return True if this `include` is a directive rather than a key named include."""
        behind = self.source.skip(start + len("include"))
        return self.text[behind : behind + 1] not in (":", "=", "{") and not self.text.startswith(
            "+=", behind
        )

    def _include(self, at: int) -> HoconError:
        hint = "Insert the text itself. If this is a key, put it in quotes."
        return self.source.error("include", "Documents cannot include other files or addresses.", at, hint)

    def _separator(self, closing: str) -> None:
        """Skip the separator between fields or elements: a comma or line breaks."""
        before = self.at
        self._skip()
        if self._peek() == ",":
            self.at += 1
            self._skip()
            if self._peek() == ",":
                raise self._error("Expected a field or value between two commas.")
            return
        ended = "\n" in self.text[before : self.at] or self.at >= len(self.text)
        if not ended and self._peek() != closing:
            raise self._error(f"Expected a comma or the end of the line, not {self._shown()}.", QUOTE_IT)

    # --- arrays ---

    def _array(self, prefix: tuple[str | int, ...]) -> Array:
        node = Array(self.at)
        self._deeper()
        self.at += 1
        while True:
            self._skip()
            if self._peek() == "]":
                self.at += 1
                self.depth -= 1
                return node
            if self.at >= len(self.text):
                raise self.source.error("syntax", "This [ is not closed.", node.at)
            path = (*prefix, len(node.items))
            self.places[path] = self.at
            node.items.append(self._value(path))
            self._separator("]")

    # --- values ---

    def _value(self, prefix: tuple[str | int, ...]) -> Node:
        """Parse up to the end of the line, a comma or a closing bracket."""
        start = self.at
        pieces: list[Node] = []
        blanks: list[str] = []
        while True:
            before = self.at
            here = self.source.skip_blank(self.at)
            if here >= len(self.text) or self.text[here] in END or self.text.startswith("//", here):
                break
            blanks.append(self.text[before:here])
            self.at = here
            pieces.append(self._piece(prefix))
        if not pieces:
            raise self._error(f"Expected a value, not {self._shown()}.")
        if len(self.remarks) < MAX_REMARKS:
            self._remark(prefix, pieces, blanks)
        if len(pieces) == 1:
            return pieces[0]
        scalars = [piece for piece in pieces if isinstance(piece, Scalar)]
        if len(scalars) == len(pieces):
            raw = scalars[0].raw + "".join(
                gap + piece.raw for gap, piece in zip(blanks[1:], scalars[1:], strict=True)
            )
            return Scalar(raw, raw, start)
        return Concat(start, pieces, ["", *blanks[1:]])

    def _remark(self, path: tuple[str | int, ...], pieces: list[Node], blanks: list[str]) -> None:
        remark_pieces = []
        for gap, piece in zip(["", *blanks[1:]], pieces, strict=True):
            match piece:
                case Scalar():
                    remark_pieces.append(Piece(gap, piece.raw, self.text[piece.at] != '"'))
                case Substitution():
                    name = f"${{{'?' * piece.optional}{'.'.join(piece.path)}}}"
                    remark_pieces.append(Piece(gap, name, False, True))
                case _:
                    return
        if (remark := of_pieces(remark_pieces)) is not None:
            code, message, hint = remark
            self.remarks.append(Remark(code, path, *self.source.place(pieces[0].at), message, hint))

    def _piece(self, prefix: tuple[str | int, ...]) -> Node:
        self._another()
        at = self.at
        sign = self.text[at]
        if sign == "{":
            return self._object(prefix)
        if sign == "[":
            return self._array(prefix)
        if sign == '"':
            text, self.at = self.source.string(at)
            return Scalar(text, text, at)
        if sign == "$":
            return self._substitution()
        end = self.source.bare(at)
        if end == at:
            raise self._error(f"{self._shown()} is not allowed in unquoted text.", QUOTE_IT)
        raw = self.text[at:end]
        if raw.startswith("include") and raw in ("include", "include(") and INCLUDED.match(self.text, at + 7):
            raise self._include(at)
        self.at = end
        return Scalar(self.source.atom(raw, at), raw, at)

    def _substitution(self) -> Substitution:
        start = self.at
        if not self.text.startswith("${", start):
            raise self._error("A $ must be followed by {.", QUOTE_IT)
        self.at += 2
        optional = self._peek() == "?"
        self.at = self.source.skip_blank(self.at + optional)
        path = self._key()
        if self._peek() != "}":
            raise self._error(f"Expected }} to close this ${{, not {self._shown()}.")
        self.at += 1
        node = Substitution(path, optional, start)
        self.substitutions.append(node)
        return node

    # --- helpers ---

    def _skip(self) -> None:
        self.at = self.source.skip(self.at)

    def _peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def _shown(self) -> str:
        return self.source.shown(self.at)

    def _error(self, message: str, hint: str = "") -> HoconError:
        return self.source.error("syntax", message, self.at, hint)

    def _limit(self, at: int) -> HoconError:
        return self.source.error("limit", f"Nested more than {self.max_depth} levels deep.", at)

    def _another(self) -> None:
        self.parts += 1
        if self.parts > self.max_parts:
            message = f"The document has more than {self.max_parts:,} keys, values and words outside quotes."
            raise self.source.error(
                "limit", message, self.at, "Put long text in quotes, or split the document."
            )

    def _deeper(self) -> None:
        self.depth += 1
        if self.depth > self.max_depth:
            raise self._limit(self.at)


@dataclass(slots=True)
class Field:
    """`path = value` or `path += value`. `absolute`: the field is outside lists, so `${…}` can refer to it.
    `substitutions`: the substitutions in the value."""

    path: Path
    value: Node
    at: int
    appends: bool
    absolute: bool
    substitutions: list[Substitution]


class Builder:
    """Builder of objects from parsed fields: merges objects, appends to lists and links earlier values."""

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
        """Return the object at `key` to which fields can be added."""
        node = into.fields[key]
        if isinstance(node, Object):
            return node
        assert isinstance(node, Chain)
        last = node.values[-1]
        return last if isinstance(last, Object) else new

    def _set(self, into: Object, key: str, value: Node) -> None:
        """Set a key: merge objects, replace known non-objects, and leave other values to the resolver."""
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
        """Return the value, chained to the earlier value if it is an optional substitution,
        which may be undefined."""
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
            message = f"+= appends to a list, but {named(field.path)} is not a list (line {line})."
            raise self.source.error("mixed", message, field.at)
        elif isinstance(earlier, Concat) and isinstance(earlier.pieces[-1], Array):
            earlier.pieces[-1].items.append(field.value)
        else:
            into.fields[key] = Concat(field.at, [earlier, Array(field.at, [field.value])], ["", ""])
