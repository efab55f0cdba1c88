"""Pass rates of groups of items that share a value of item data, such as verbs of one class. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields

from lmgym.runs.outcomes import PredictionOutcome, outcome_of_items
from lmgym.runs.rules import prediction_statistics
from lmgym.runs.statistics import STATISTICS
from lmgym.runs.tables import GroupCounts, GroupRate, Predicted, values

_COUNTS = tuple(
    one.name
    for one in fields(GroupCounts)
    if one.name not in {"item_data", "group", *(own.name for own in fields(Predicted))}
)


def group_rates(
    outcome: PredictionOutcome, items: Sequence[int], name: str, by_item: Mapping[int, str]
) -> Iterator[GroupRate]:
    """Yield a row per value of item data in order of first occurrence, then one for items without a value.

    Args:
        items: item numbers in the order of the outcome.
        name, by_item: name of the item data, and its value of each item; see `ItemData.by_item`.
    """
    groups: dict[str | None, list[int]] = {}
    for place, item in enumerate(items):
        groups.setdefault(by_item.get(item), []).append(place)
    for value in sorted(groups, key=lambda one: one is None):
        of_group = outcome_of_items(outcome, groups[value])
        yield GroupRate(
            outcome.prediction_number, outcome.prediction, outcome.formula, name, value,
            *values(of_group, _COUNTS), *values(prediction_statistics(of_group), STATISTICS),
        )  # fmt: skip
