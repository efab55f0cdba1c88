"""Reader for untrusted HOCON. It never accesses files, URLs or environment variables.

Supports JSON with comments, unquoted and triple-quoted text, merging, concatenation, `+=` and substitution as in the
HOCON specification (lightbend/config, HOCON.md). `include` is rejected. Units such as `5 seconds` are kept as text.
True, NULL and .5 are read as in pyhocon, which agent servers use; `Document.remarks` lists such values.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from lmgym.agents.hocon.parse import Parser
from lmgym.agents.hocon.resolve import MISSING, Resolver
from lmgym.agents.hocon.scan import HoconError, Remark, Source

MAX_BYTES = 1_000_000
MAX_DEPTH = 64
MAX_PARTS = 20_000
"""Maximum number of keys, values and unquoted words in the text."""
MAX_WEIGHT = 200_000
"""Maximum number of values and blocks of 16 characters after substitution."""

KeyPath = tuple[str | int, ...]


@dataclass(frozen=True)
class Document:
    """A parsed document. `value`: plain JSON. `variables`: names of variables used. `remarks`: text that other readers
    interpret differently."""

    value: Any
    variables: frozenset[str]
    remarks: tuple[Remark, ...]
    _source: Source = field(repr=False)
    _places: dict[KeyPath, int] = field(repr=False)

    def place(self, path: KeyPath) -> tuple[int, int]:
        """Return the line and column (from 1) at which the value at a path, or its nearest parent, was last set."""
        for length in range(len(path), 0, -1):
            at = self._places.get(path[:length])
            if at is not None:
                return self._source.place(at)
        return 1, 1


def decode(data: bytes) -> str:
    """Decode UTF-8 with or without a byte order mark. Raises HoconError."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - (data.rfind(b"\n", 0, error.start) + 1) + 1
        message = f"The byte 0x{data[error.start]:02x} is not valid UTF-8."
        raise HoconError("encoding", message, line, column, "Save the file as UTF-8.") from None


def read(data: bytes | str, variables: Mapping[str, str] | None = None) -> Document:
    """Read a document, in time linear in its text and its expansion. Raises only HoconError.

    `variables`: values for `${NAME}`, in addition to those defined in the document.
    """
    if len(data) > MAX_BYTES:
        raise HoconError("limit", f"The document has more than {MAX_BYTES:,} bytes.")
    text = decode(data) if isinstance(data, bytes) else data.removeprefix("\ufeff")
    if isinstance(data, str):
        _check_characters(text)
    parser = Parser(text, MAX_DEPTH, MAX_PARTS)
    root = parser.document()
    resolver = Resolver(parser.source, root, variables or {}, MAX_DEPTH, MAX_WEIGHT)
    value = resolver.resolve(root).value
    if value is MISSING:
        value = {}
    if parser.substitutions:
        value = _copy(value)
    return Document(value, frozenset(resolver.used), tuple(parser.remarks), parser.source, parser.places)


def _copy(value: Any) -> Any:
    """Copy a value, so that substitutions of the same value share no parts."""
    if isinstance(value, dict):
        return {key: _copy(below) for key, below in value.items()}
    return [_copy(below) for below in value] if isinstance(value, list) else value


def _check_characters(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        line = text.count("\n", 0, error.start) + 1
        raise HoconError(
            "encoding", "The text contains half a character (a lone surrogate).", line, 1
        ) from None


__all__ = ["MAX_BYTES", "Document", "HoconError", "KeyPath", "decode", "read"]
