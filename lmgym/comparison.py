"""Two models on the same items, prediction by prediction, from the frames of `Result.outcomes`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from lmgym.errors import InvalidArgument
from lmgym.runs.tables import Compared, RunFacts
from lmgym.stats import holm, mcnemar, paired_rates
from lmgym.text.columns import Column, Row, columns

if TYPE_CHECKING:
    import pandas as pd

COMPARED: tuple[Column, ...] = (*columns(RunFacts)[:2], *columns(Compared))
_PREDICTION = [name for name, _ in COMPARED[:5]]


def compared_rows(first: pd.DataFrame, second: pd.DataFrame) -> list[Row]:
    """Rows of COMPARED, in the order of the first.

    Args:
        first, second: outcomes of one model each. Items with a tie or without a value did not pass, as in the rates.

    Raises:
        InvalidArgument: no prediction of the same suite is in both.
    """
    rows = list(_rows(first, second))
    if not rows:
        raise InvalidArgument("They have no prediction of one suite in common.")
    corrected = holm([row[-1] for row in rows])
    return [(*row, p) for row, p in zip(rows, corrected, strict=True)]


def _rows(first: pd.DataFrame, second: pd.DataFrame) -> Iterator[Row]:
    same = ["suite", "suite_sha256", "prediction_number"]
    others = dict(list(second.groupby(same, sort=False)))
    for key, one in first.groupby(_PREDICTION, sort=False):
        other = others.get(key[:3])
        if other is None:
            continue
        items = one.merge(other, on="item", suffixes=("", "_second"), validate="one_to_one")
        a, b = (items[name].astype(bool).tolist() for name in ("passed", "passed_second"))
        sides = [np.array(side, dtype=np.float64) for side in (a, b)]
        rate, test = paired_rates([sides[0]], [sides[1]], [(1, 1)]), mcnemar(a, b)
        means = [float(side.mean()) if side.size else None for side in sides]
        yield (
            *key, rate.n, *means, rate.mean, rate.low, rate.high,
            test.only_first, test.only_second, test.p,
        )  # fmt: skip
