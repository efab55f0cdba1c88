"""Pass rates by item data."""

from __future__ import annotations

from dataclasses import replace

import pytest

import lmgym
from lmgym.models.engine import ScoringPolicy
from lmgym.results import Result, Run
from lmgym.runs.groups import group_rates
from lmgym.runs.outcomes import outcomes_alone
from lmgym.runs.report import as_dict
from lmgym.stats.intervals import wilson
from lmgym.suites.formats import PredictionDoc
from tests.lmgym.runs.test_compute import document, run

BITS = {
    "play": 9.0,
    "runs": 0.25,
    "sing": 3.0,
    "sings": 2.0,
}  # items 1 and 3 of 4 pass, by 8 and 1 bits; 2 fails
CLASSES = ["motion", "sound", "motion", None]


def with_data():
    doc = document(items=4)
    data = {str(k): {"verb class": value} for k, value in enumerate(CLASSES, start=1) if value}
    return replace(doc, extra={"items": data})


def result_of(doc):
    provenance = {"suite_sha256": doc.sha256(), "score_kind": "surprisal"}
    return Result((Run(doc, "tiny", ScoringPolicy(), run(doc, BITS), provenance, None),))


def test_each_class_has_its_rate_with_interval_and_n():
    frame = result_of(with_data()).rates_by("verb class").replace({float("nan"): None})
    assert frame[["item_data", "group", "n", "passed"]].values.tolist() == [
        ["verb class", "motion", 2, 2],
        ["verb class", "sound", 1, 0],
        ["verb class", None, 1, 0],
    ]
    assert frame["rate"].tolist() == [1.0, 0.0, 0.0]
    interval = wilson(2, 2)
    assert (frame["low"][0], frame["high"][0]) == (interval.low, interval.high)
    assert frame["mean_margin"].tolist() == pytest.approx([4.5, -0.75, 0.0])
    assert frame["ties"].tolist() == [0, 0, 1]
    assert set(frame["chance"]) == {0.5}


def test_unknown_item_data_is_refused_with_the_known_names():
    with pytest.raises(
        lmgym.errors.InvalidArgument,
        match=r"No item data 'list' with one value for each item\. Choose: verb class\.",
    ):
        result_of(with_data()).rates_by("list")


def test_outcomes_without_margins_are_grouped_too():
    outcome = outcomes_alone(0, PredictionDoc("(1;%a%) < (1;%b%)"), [True, False, True])
    groups = list(group_rates(outcome, [1, 2, 3], "list", {1: "a", 2: "b", 3: "a"}))
    assert [(row.group, row.passed, row.n, row.mean_margin) for row in groups] == [
        ("a", 2, 2, None),
        ("b", 0, 1, None),
    ]


def test_json_has_the_groups_of_every_class():
    doc = with_data()
    groups = as_dict(doc, run(doc, BITS), {"policy": {"metric": "sum"}})["groups"]
    assert [(row["item_data"], row["group"], row["passed"], row["n"]) for row in groups] == [
        ("verb class", "motion", 2, 2),
        ("verb class", "sound", 0, 1),
        ("verb class", None, 0, 1),
    ]
    assert "groups" not in as_dict(document(), run(document(), BITS), {"policy": {"metric": "sum"}})
