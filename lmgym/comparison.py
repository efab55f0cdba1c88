"""Comparison of two models, prediction by prediction, for `Result.compare` and `lmgym compare`."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

import numpy as np

from lmgym.errors import InvalidArgument
from lmgym.runs.comparison import RateComparison, compare_rates
from lmgym.runs.tables import Predicted, SuiteFacts
from lmgym.stats import corrected
from lmgym.text.columns import Row, columns, header, row

if TYPE_CHECKING:
    import pandas as pd

COMPARED = columns(SuiteFacts, Predicted, RateComparison)
_SUBJECT = header(SuiteFacts, Predicted)
_SAME_PREDICTION = [*header(SuiteFacts), fields(Predicted)[0].name]


def compared_rows(first: pd.DataFrame, second: pd.DataFrame) -> list[Row]:
    """Compare two models on the predictions that both have, in the order of the first.

    Args:
        first, second: frames of `Result.outcomes` for one model each. Ties and items without a value count as not
            passed.

    Returns:
        Rows with the columns of COMPARED; p is Holm-corrected over all rows.

    Raises:
        InvalidArgument: the frames have no prediction of the same suite in common.
    """
    by_prediction = dict(list(second.groupby(_SAME_PREDICTION, sort=False)))
    subjects: list[Row] = []
    comparisons: list[RateComparison] = []
    for subject, ours in first.groupby(_SUBJECT, sort=False):
        theirs = by_prediction.get(subject[: len(_SAME_PREDICTION)])
        if theirs is None:
            continue
        sides = (side.drop_duplicates("item") for side in (ours, theirs))  # a suite may have been run twice
        items = next(sides).merge(next(sides), on="item", suffixes=("", "_second"), validate="one_to_one")
        names = (str(ours["model"].iloc[0]), str(theirs["model"].iloc[0]))
        shares = (_passed(items["passed"]), _passed(items["passed_second"]))
        subjects.append(subject)
        comparisons.append(compare_rates(names, shares))
    if not comparisons:
        raise InvalidArgument(
            "The two results have no predictions in common. Compare results for the same suite."
        )
    pairs = zip(subjects, corrected(comparisons), strict=True)
    return [(*subject, *row(comparison)) for subject, comparison in pairs]


def _passed(column: pd.Series[bool]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.array(column.astype(bool).to_numpy(), dtype=np.float64)
