"""Exclusions drop what their settings say, in order, and count it."""

from __future__ import annotations

import numpy as np
import pytest

from lmgym.people.exclusions import Exclusions, exclude
from lmgym.people.observations import Measure, Observations

MEASURE = Measure("self-paced reading time", "reading time")


def people(values: list[list[float]]) -> Observations:
    """Make reading times of participants, one trial per value."""
    n = [len(times) for times in values]
    participant = np.repeat(np.arange(len(values)), n).astype(np.int32)
    trial = np.concatenate([np.arange(1, count + 1) for count in n]).astype(np.int32)
    zeros = np.zeros(sum(n), np.int16)
    names = tuple(f"k{k}" for k in range(len(values)))
    return Observations(
        MEASURE,
        names,
        ("a",),
        participant,
        trial,
        zeros,
        zeros + 1,
        zeros,
        np.concatenate(values).astype(float),
        trial=trial,
    )


DATA = people([[50, 300, 310, 320, 330, 340, 900], [300, 301, 302, 303, 304, 305, 20_000]])


def test_nothing_is_dropped_by_default():
    applied = exclude(DATA)

    assert applied.kept.all()
    assert applied.dropped == ()


def test_limits_count_what_each_drops():
    applied = exclude(DATA, Exclusions(minimum=100, maximum=5_000))

    assert [(drop.label, drop.n_observations) for drop in applied.dropped] == [
        ("below 100 ms", 1),
        ("above 5000 ms", 1),
    ]
    assert len(applied.observations) == 12


def test_trimming_follows_the_limits_and_its_groups():
    mad = exclude(DATA, Exclusions(minimum=100, maximum=5_000, trimming="mad", cutoff=3))
    assert mad.dropped[-1].n_observations == 1  # 900; 20,000 is gone already
    everybody = exclude(DATA, Exclusions(trimming="sd", cutoff=3, within="all"))
    assert everybody.dropped[0].n_observations == 1


def test_inaccurate_participants_are_dropped_and_named_and_unknown_accuracy_keeps():
    applied = exclude(DATA, Exclusions(minimum_accuracy=0.8), np.array([0.7, np.nan]))

    assert applied.dropped[0].participants == ("k0",)
    assert set(applied.observations.participant.tolist()) == {1}


def test_labels_have_the_share_that_was_set():
    applied = exclude(
        DATA, Exclusions(minimum_accuracy=0.825, maximum_dropped=0.025, maximum=5_000), np.array([0.9, 0.9])
    )

    assert applied.dropped[0].label == "accuracy below 82.5%"
    assert applied.dropped[2].label == "more than 2.5% of a participant’s observations dropped"


def test_participants_who_lose_too_much_are_dropped():
    data = people([[50, 60, 300, 310], [300, 310, 320, 50]])
    applied = exclude(data, Exclusions(minimum=100, maximum_dropped=0.4))

    assert applied.dropped[-1].participants == ("k0",)
    assert applied.dropped[-1].n_observations == 2


def test_first_trials_are_practice():
    applied = exclude(DATA, Exclusions(practice_trials=2))

    assert applied.dropped[0].n_observations == 4
    assert applied.observations.trial.min() == 3


@pytest.mark.parametrize(
    "senseless", [{"cutoff": 0}, {"minimum": 5, "maximum": 4}, {"minimum_accuracy": 80}, {"trimming": "some"}]
)
def test_settings_that_make_no_sense_are_refused(senseless):
    with pytest.raises(ValueError, match=r"must|is a share|is one of"):
        Exclusions(**senseless)


def test_settings_that_the_data_cannot_support_are_refused():
    with pytest.raises(ValueError, match="accuracy"):
        exclude(DATA, Exclusions(minimum_accuracy=0.8))
    means = Observations(**{**DATA.__dict__, "participants": ()})
    with pytest.raises(ValueError, match="means over"):
        exclude(means, Exclusions(maximum_dropped=0.5))
