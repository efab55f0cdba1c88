"""Tables made from dataclasses: the field names are the names of the columns, everywhere.

A table is described by one or more dataclasses; their fields, in order, are the columns, and a row has an instance of
each. CSV and Parquet files, JSON, the API and docs/names.md take names, types, meanings and units from the fields.
Annotations are limited to str, int, float and bool, each with or without None.
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
    """Names and types of the columns of these dataclasses, in order."""
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
    """Names of the columns of these dataclasses, in order."""
    return [name for name, _ in columns(*kinds)]


def row(*parts: Any) -> Row:
    """Values of these dataclass instances, in the order of `columns` of their classes."""
    return tuple(getattr(part, column.name) for part in parts for column in fields(part))


def record(*parts: Any) -> dict[str, Any]:
    """`row` as a JSON object: the keys are the names of the columns."""
    return {column.name: getattr(part, column.name) for part in parts for column in fields(part)}


def table(kinds: Sequence[type], rows: Iterable[Sequence[Any]]) -> tuple[list[str], list[Row]]:
    """Header and rows, for `lmgym.text.csv_writer`. Each row is an instance of each of the classes."""
    return header(*kinds), [row(*parts) for parts in rows]
