"""Reading HOCON from people one does not know. Pure: reads no file, no address, no environment.

JSON with comments, unquoted and triple-quoted text, merging, concatenation, `+=` and substitution, by the HOCON
specification (lightbend/config, HOCON.md). `include` is refused. Units such as `5 seconds` stay text. True, NULL and .5
mean what they mean to pyhocon, which agent servers use; `Document.remarks` names them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gym.conversations.hocon.errors import HoconError
from gym.conversations.hocon.parse import Parser
from gym.conversations.hocon.resolve import MISSING, Resolver
from gym.conversations.hocon.scan import Source
from gym.conversations.hocon.spelling import Remark

MAX_BYTES = 1_000_000
MAX_DEPTH = 64
MAX_PARTS = 20_000
MAX_WEIGHT = 200_000

KeyPath = tuple[str | int, ...]


@dataclass(frozen=True)
class Document:
    """`value` is plain JSON: dict, list, str, int, float, bool, None. `variables` are the given ones that were used.
    `remarks` are about text that other readers read differently."""

    value: Any
    variables: frozenset[str]
    remarks: tuple[Remark, ...]
    _source: Source = field(repr=False)
    _places: dict[KeyPath, int] = field(repr=False)

    def place(self, path: KeyPath) -> tuple[int, int]:
        """Line and column (from 1) where the value at a key path was last set, or of what is above it."""
        for length in range(len(path), 0, -1):
            at = self._places.get(path[:length])
            if at is not None:
                return self._source.place(at)
        return 1, 1


def decode(data: bytes) -> str:
    """UTF-8, with or without byte order mark. Raises HoconError."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - (data.rfind(b"\n", 0, error.start) + 1) + 1
        message = f"The byte 0x{data[error.start]:02x} is no UTF-8."
        raise HoconError("encoding", message, line, column, "Save the file as UTF-8.") from None


def read(
    data: bytes | str,
    variables: Mapping[str, str] | None = None,
    *,
    max_bytes: int = MAX_BYTES,
    max_depth: int = MAX_DEPTH,
    max_parts: int = MAX_PARTS,
    max_weight: int = MAX_WEIGHT,
) -> Document:
    """Read a document. Raises HoconError, and nothing else.

    `variables` are what `${NAME}` may stand for besides the document's own values. Time is linear in the text and in
    what it expands to. `max_parts` bounds the former, in keys, values and words outside quotes; `max_weight` the
    latter, in values and blocks of 16 characters.
    """
    if len(data) > max_bytes:
        raise HoconError("limit", f"The document has more than {max_bytes:,} bytes.")
    text = decode(data) if isinstance(data, bytes) else data.removeprefix("\ufeff")
    if isinstance(data, str):
        _check_characters(text)
    parser = Parser(text, max_depth, max_parts)
    root = parser.document()
    resolver = Resolver(parser.source, root, variables or {}, max_depth, max_weight)
    value = resolver.resolve(root).value
    if value is MISSING:
        value = {}
    if parser.substitutions:
        value = _copy(value)
    return Document(value, frozenset(resolver.used), tuple(parser.remarks), parser.source, parser.places)


def _copy(value: Any) -> Any:
    """The same without shared parts: what two substitutions name becomes two values."""
    if isinstance(value, dict):
        return {key: _copy(below) for key, below in value.items()}
    return [_copy(below) for below in value] if isinstance(value, list) else value


def _check_characters(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        line = text.count("\n", 0, error.start) + 1
        raise HoconError("encoding", "The text holds half a character (a lone surrogate).", line, 1) from None


__all__ = [
    "MAX_BYTES",
    "MAX_DEPTH",
    "MAX_PARTS",
    "MAX_WEIGHT",
    "Document",
    "HoconError",
    "KeyPath",
    "Remark",
    "decode",
    "read",
]
