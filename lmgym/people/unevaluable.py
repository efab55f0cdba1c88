"""Predictions that human data cannot evaluate in any item, such as of single regions where whole sentences were rated.

They have no rate: nothing was observed, so nothing failed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from lmgym.people.predictors import Floats
from lmgym.people.region_means import Reference, RegionMeans
from lmgym.suites.formulas import NOT_EVALUABLE, Formula, parse
from lmgym.text import listing

NAMED = 4
"""Maximum number of regions that a reason names."""


@dataclass(frozen=True)
class UnevaluablePrediction:
    """A prediction without a value in any item. `reason`: what the data lack, as the end of a sentence."""

    position: int
    name: str
    formula: str
    reason: str

    @property
    def prediction(self) -> str:
        return self.name or f"Prediction {self.position + 1}"

    @property
    def words(self) -> str:
        return f"{self.prediction} cannot be evaluated with these data: {self.reason}."


def unevaluable_predictions(
    means: RegionMeans, values: Mapping[Reference, Floats]
) -> tuple[UnevaluablePrediction, ...]:
    """List the predictions of the suite that no item of the data can decide. `values`: people's means, float64[items],
    by reference."""
    return tuple(
        UnevaluablePrediction(position, prediction.name, prediction.formula, reason)
        for position, prediction in enumerate(means.document.predictions)
        if (reason := _reason(parse(prediction.formula), means, values))
    )


def _reason(formula: Formula, means: RegionMeans, values: Mapping[Reference, Floats]) -> str:
    """Say why no item is evaluable; "" if some item is, or the formula compares numbers only."""
    if not formula.references:
        return ""
    if not means.cell.size:
        return "no value is of a single item of the suite"
    compared = {key: values[key] for key in formula.references}
    if (formula.evaluate_items(compared).outcome != NOT_EVALUABLE).any():
        return ""
    lacking = [key for key, column in compared.items() if np.isnan(column).all()]
    if means.has_sentences and any(region != "*" for _, region in lacking):
        regions = sorted({region for _, region in lacking if not isinstance(region, str)})
        return f"it compares {_named(means, regions)}, and the values are of whole sentences"
    if lacking:
        places = sorted(lacking, key=lambda key: (str(key[1]), key[0]))
        return f"there are no values of {listing([_place(means, *key) for key in places], NAMED)}"
    return "no item has values of everything that it compares"


def _named(means: RegionMeans, regions: list[int]) -> str:
    return listing([_place(means, "", region) for region in regions], NAMED)


def _place(means: RegionMeans, condition: str, region: int | str) -> str:
    what = (
        "the whole sentence"
        if isinstance(region, str)
        else f"region {region} ({means.document.regions[region]})"
    )
    return f"{what} in condition {condition}" if condition else what
