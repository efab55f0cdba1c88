"""The observations of the fits as a tidy table, and the R code that fits the same models to it with lme4."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from lmgym.people.fit_data import FitData
from lmgym.people.gains import formula_text
from lmgym.runs.outcomes import listed
from lmgym.text.columns import Row

_CONTROL = 'lmerControl(optimizer = "bobyqa")'
"""lme4's default optimiser may stop early, with a warning that the model failed to converge."""


def observation_rows(data: FitData, models: Sequence[str]) -> Iterator[Row]:
    """Yield the rows of the table `Observation`: every observation once per model."""
    units, own = data.units, data.unit
    sentences = data.document.sentences
    keys = [data.participants[k] for k in data.participant.tolist()] or [None] * len(data)
    is_word = units.level == "word"
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = listed(np.log(data.time))
    frequency = listed(units.log_frequency[own]) if units.log_frequency is not None else [None] * len(data)
    shared = list(
        zip(
            keys,
            [sentences[k].item for k in units.sentence[own].tolist()],
            [sentences[k].condition for k in units.sentence[own].tolist()],
            [region or None for region in units.region[own].tolist()],
            units.word[own].tolist() if is_word else [None] * len(data),
            [units.texts[k] for k in own.tolist()],
            data.time.tolist(),
            logs,
            data.weight.astype(int).tolist(),
            strict=True,
        )
    )
    predictors = list(
        zip(
            units.length[own].tolist(),
            frequency,
            units.words[own].tolist(),
            units.word[own].tolist(),
            units.is_first[own].tolist(),
            units.is_last[own].tolist(),
            [trial or None for trial in data.trial.tolist()],
            strict=True,
        )
    )
    for model in models:
        bits = [listed(data.surprisal(model, distance)) for distance in range(3)]
        for facts, surprisals, others in zip(shared, zip(*bits, strict=True), predictors, strict=True):
            yield model, *facts, *surprisals, *others


def r_call(data: FitData, models: Sequence[str], file: str = "observations.csv") -> str:
    """Write R code that fits the models with lme4 to the table `observation_rows` in a CSV file.

    Estimates and standard errors are those of REML, the log-likelihoods those of ML. Weights are the numbers of
    participants that times are means of.
    """
    weights = "" if (data.weight == 1).all() else ", weights = n_participants"
    fitter, method = (
        ("lmer", f", REML = TRUE,\n            control = {_CONTROL}") if data.groupings else ("lm", "")
    )
    fits = [
        f"fit <- {fitter}({formula_text(data, data.with_surprisal(model)[0])},\n"
        f'            data = subset(observations, model == "{_escaped(model)}"){weights}{method})\n'
        "print(summary(fit)$coefficients, digits = 10)\n"
        f"print(logLik({'refitML(fit)' if data.groupings else 'fit'}), digits = 10)"
        for model in models
    ]
    library = "library(lme4)\n" if data.groupings else ""
    return (
        f'{library}observations <- read.csv("{_escaped(file)}", na.strings = "")\n' + "\n".join(fits) + "\n"
    )


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
