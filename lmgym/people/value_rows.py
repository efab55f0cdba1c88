"""Observations as rows of the table `HumanValue`, which `intake/exported.py` reads back."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from lmgym.people.intake.words import words_of
from lmgym.people.observations import Observations
from lmgym.suites.formats import SuiteDocument
from lmgym.text.columns import Row

AT_ONCE = 20_000


def value_rows(observations: Observations, document: SuiteDocument, used: NDArray[np.bool_]) -> Iterator[Row]:
    """Yield the rows of `HumanValue` in the order of the observations. `used`: those that exclusions keep."""
    people = (*observations.participants, None)  # -1: a mean
    names, conditions = (None, *document.region_names), observations.conditions
    texts = {
        (sentence.item, sentence.condition): (
            sentence.text, sentence.contents, [word.text for word in words_of(sentence)],
        )
        for sentence in document.sentences
    }  # fmt: skip
    measure = observations.measure
    facts = (measure.name, measure.kind, *(measure.scale or (None, None)))
    for start in range(0, len(observations), AT_ONCE):
        part = np.s_[start : start + AT_ONCE]
        for who, item, code, region, word, value, n, trial, kept in zip(
            observations.participant[part].tolist(),
            observations.item[part].tolist(),
            observations.condition[part].tolist(),
            observations.region[part].tolist(),
            observations.word[part].tolist(),
            observations.value[part].tolist(),
            observations.n_participants[part].tolist(),
            observations.trial[part].tolist(),
            used[part].tolist(),
            strict=True,
        ):
            text = None
            if (item, conditions[code]) in texts:
                sentence, regions, words = texts[item, conditions[code]]
                text = words[word - 1] if word else regions[region - 1] if region else sentence
            yield (
                people[who], item, conditions[code], region or None, names[region], word or None, text, value, n,
                trial or None, kept, *facts,
            )  # fmt: skip
