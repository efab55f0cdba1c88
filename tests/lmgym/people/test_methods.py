"""The methods paragraph of models against people."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date

from lmgym.people.exclusions import Dropped
from lmgym.people.fit_data import Options
from lmgym.people.methods import StudiedPeople, people_methods
from lmgym.people.observations import Measure
from lmgym.people.tables import Fit
from lmgym.runs.methods import References
from lmgym.runs.studied import Studied
from lmgym.text.bibtex import Entry

GPT = Studied("NPZ", 1, "ab" * 32, "GPT-2", 24, 4, {}, {"model_revision": "60" * 20}, date(2026, 11, 29))
READERS = StudiedPeople(
    "Readers",
    Measure("self-paced reading time", "reading time"),
    "cd" * 32,
    11_040,
    40,
    (Dropped("maximum", "above 900 ms", 120), Dropped("trimming", "more than 2.5 standard deviations", 31)),
    [Entry("readers", "@misc{readers}\n")],
)
FORMULA = "time ~ length + log_frequency + surprisal + (1 | participant) + (1 | item)"
FIT = Fit("gpt2", FORMULA, 9_000, 40, 24, 1.0, 1.0, None, None, 1.0, -1.0, -1.0)


def test_fits_name_formula_exclusions_frequencies_and_seed():
    left_out = {"of the first word of the sentence": 960}
    methods = people_methods(READERS, [GPT], References(), [FIT], Options(), left_out, ["Uniform"])
    text = methods.markdown()
    for words in (
        "GPT-2 (commit 606060606060)", "11,040 values of self-paced reading time of 40 participants",
        "120 (above 900 ms), 31 (more than 2.5 standard deviations)", f"`{FORMULA}`", "by REML",
        "960 of the first word", "each model except Uniform", "seed 44", "10-fold",
    ):  # fmt: skip
        assert words in text
    assert re.findall(r"@\w+\{([\w-]+)", methods.bibtex()) == [
        "readers",
        "bates-2015",
        "speer-2022",
        "lm-gym",
    ]


def test_judgments_have_no_fits():
    judgments = replace(READERS, measure=Measure("acceptability", "rating", (1, 7)), dropped=())
    text = people_methods(judgments, [GPT], References(), [], Options(), {}).markdown()
    assert "No observation was excluded." in text
    assert "mixed model" not in text


def test_of_means_only_items_are_drawn_and_there_is_no_ceiling():
    means = replace(READERS, n_participants=0)
    fits = [replace(FIT, n_participants=None)]
    text = people_methods(means, [GPT], References(), fits, Options(), {}).markdown()
    assert "percentile intervals over items (1,000 resamples, seed 44)." in text
    assert "9,000 means over participants of 24 items, weighted by the number of participants" in text
    few = replace(READERS, dropped=(Dropped("minimum_accuracy", "accuracy below 80%", 9, ("k",) * 37),))
    text = people_methods(few, [GPT], References(), [FIT], Options(), {}).markdown()
    assert "over participants and items (1,000 resamples of both, seed 44)." in text


def test_means_that_were_fitted_and_folds_that_were_made_are_named():
    fits = [replace(FIT, n_participants=None, n_items=6)]
    text = people_methods(READERS, [GPT], References(), fits, Options(), {}).markdown()
    assert "Reading times in ms, averaged over participants by item and word or region, were fitted" in text
    assert "6-fold" in text
    text = people_methods(READERS, [GPT], References(), fits, Options(), {}, has_gains=False).markdown()
    assert "-fold" not in text
