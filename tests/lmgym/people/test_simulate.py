"""Simulated experiments have the effect that they were made with, and survive a PCIbex file."""

from __future__ import annotations

import numpy as np
import pytest

from lmgym.people.observations import COLUMNS
from lmgym.people.simulate import Experiment, pcibex_results, simulate
from lmgym.suites.formats.documents import SentenceDoc, SuiteDocument
from tests.lmgym.people.data import imported

DESIGN = SuiteDocument(
    "design",
    "sum",
    {},
    ("Start", "Middle", "End"),
    ("a", "b", "c", "d"),
    tuple(
        SentenceDoc(item, condition, (f"The {condition}{item}", "left, and", f"item {item} ended."))
        for item in range(1, 25)
        for condition in "abcd"
    ),
)
BITS = {
    (s.item, s.condition): np.random.default_rng(s.item * 7 + ord(s.condition)).exponential(6, 7).tolist()
    for s in DESIGN.sentences
}


@pytest.mark.parametrize(("by", "n_people"), [("word", 40), ("region", 8)])
def test_round_trip_through_a_pcibex_file(by, n_people):
    """40 people, 24 items, 4 conditions: what is read is what was simulated, except for the names of people."""
    bits = BITS if by == "word" else {key: values[:3] for key, values in BITS.items()}
    data = simulate(DESIGN, bits, Experiment(n_participants=n_people), seed=3, by=by)
    result = imported(pcibex_results(data, DESIGN).encode(), suite=DESIGN)

    assert len(data) == n_people * 24 * (7 if by == "word" else 3)
    assert (result.asks, result.problems) == ((), ())
    for name in COLUMNS:
        assert np.array_equal(getattr(result.matched.observations, name), getattr(data, name)), name
    assert not set(result.matched.observations.participants) & set(data.participants)


def test_each_person_reads_each_item_once_in_a_latin_square():
    data = simulate(DESIGN, BITS, seed=3)

    seen = {
        (p, i): c
        for p, i, c in zip(
            data.participant.tolist(), data.item.tolist(), data.condition.tolist(), strict=True
        )
    }
    assert len(seen) == 40 * 24
    assert np.bincount(list(seen.values())).tolist() == [240] * 4


def test_slope_and_spill_over_are_those_of_the_settings():
    experiment = Experiment(n_participants=400, slope=4, spill_over=(2.0,), sd_noise=60, noise="log-normal")
    data = simulate(DESIGN, BITS, experiment, seed=3)
    mean = np.mean([value for values in BITS.values() for value in values])
    bits = np.array(
        [
            BITS[i, "abcd"[c]][w - 1] - mean
            for i, c, w in zip(data.item, data.condition, data.word, strict=True)
        ]
    )
    before = np.where(data.word > 1, np.roll(bits, 1), 0)
    design = np.stack([np.ones(len(bits)), bits, before])

    intercept, slope, spill = np.linalg.lstsq(design.T, data.value, rcond=None)[0]
    assert slope == pytest.approx(4, abs=0.15)
    assert spill == pytest.approx(2, abs=0.15)
    assert intercept == pytest.approx(350, abs=15)


def test_equal_seeds_give_equal_times():
    first, second, other = (simulate(DESIGN, BITS, seed=seed).value for seed in (1, 1, 2))

    assert np.array_equal(first, second)
    assert not np.array_equal(first, other)


def test_missing_surprisals_are_named():
    with pytest.raises(ValueError, match="item 1, a: 7 words, but 2 surprisals"):
        simulate(DESIGN, {**BITS, (1, "a"): [1, 2]}, seed=1)
