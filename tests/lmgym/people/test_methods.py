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
