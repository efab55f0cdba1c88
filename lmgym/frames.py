"""Data frames from rows and the columns of `lmgym.text.columns`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from lmgym.text.columns import REAL, TEXT, WHOLE, YES_NO, Column, Row

if TYPE_CHECKING:
    import pandas as pd


def frame(header: Sequence[Column], rows: Iterable[Row]) -> pd.DataFrame:
    """Build a frame. Integer and boolean columns with missing values get pandas' nullable types."""
    import pandas as pd

    table = pd.DataFrame(list(rows), columns=[name for name, _ in header])
    types = {TEXT: "object", WHOLE: "Int64", REAL: "float64", YES_NO: "boolean"}
    for name, kind in header:
        plain = {WHOLE: "int64", YES_NO: "bool"}.get(kind) if not table[name].isna().any() else None
        table[name] = table[name].astype(plain or types[kind])
    return table
