"""Tables described by dataclasses, whose field names are the column names everywhere.

A table is described by one or more dataclasses; their fields, in order, are the columns, and a row has an instance of
each. CSV and Parquet files, JSON, the API and docs/names.md take names, types, meanings and units from the fields.
Fields are str, int, float or bool, each with or without None.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, fields
from functools import cache
from types import NoneType
from typing import Any, Literal, TypeAlias, get_args, get_type_hints

Kind: TypeAlias = Literal["string", "int64", "float64", "bool"]
Column: TypeAlias = tuple[str, Kind]
Row: TypeAlias = tuple[Any, ...]

TEXT: Kind = "string"
WHOLE: Kind = "int64"
REAL: Kind = "float64"
YES_NO: Kind = "bool"
_KINDS: Mapping[type, Kind] = {str: TEXT, int: WHOLE, float: REAL, bool: YES_NO}


def described(meaning: str, unit: str = "", **options: Any) -> Any:
    """Declare a dataclass field with its meaning and unit. `options` go to `dataclasses.field`."""
    return field(metadata={"meaning": meaning, "unit": unit}, **options)


@cache
def columns(*kinds: type) -> tuple[Column, ...]:
    """Return the names and types of the columns of these dataclasses, in order."""
    return tuple(
        (column.name, _KINDS[_without_none(hints[column.name])])
        for kind in kinds
        for hints in (get_type_hints(kind),)
        for column in fields(kind)
    )


def _without_none(hint: Any) -> type:
    plain: type = next((kind for kind in get_args(hint) if kind is not NoneType), hint)
    return plain


def header(*kinds: type) -> list[str]:
    """Return the column names of these dataclasses, in order."""
    return [name for name, _ in columns(*kinds)]


def row(*parts: Any) -> Row:
    """Return the values of these dataclass instances in the order of `columns` of their classes."""
    return tuple(getattr(part, column.name) for part in parts for column in fields(part))


def record(*parts: Any) -> dict[str, Any]:
    """Return `row` as a JSON object keyed by column name."""
    return {column.name: getattr(part, column.name) for part in parts for column in fields(part)}


def table(kinds: Sequence[type], rows: Iterable[Sequence[Any]]) -> tuple[list[str], list[Row]]:
    """Return header and rows for `lmgym.text.csv_writer`. Each row consists of one instance of each class."""
    return header(*kinds), [row(*parts) for parts in rows]
