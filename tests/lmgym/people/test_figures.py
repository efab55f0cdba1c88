"""Charts of people and of models against people."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from lmgym.people.against import against
from lmgym.people.figures import effects_figure, gains_figure, people_figure
from lmgym.people.fit_data import Options
from lmgym.people.observations import Measure
from lmgym.people.predictions import people_result
from tests.lmgym.people.worlds import read, run, suite


def test_figures_show_what_their_data_have():
    document = suite(8)
    result = run(document)
    people = read(document, result, 6)
    compared = against(people, document, {"tiny": result.sentences}, Options(language="", folds=2))
    regions = people_figure("small", document.region_names, people_result(people, document), {3})
    assert ">ms<" in regions.svg
    assert "n = 6 participants" in regions.svg
    assert len(regions.rows) == 2 * 4
    gains = gains_figure("small", compared.gain_rows)
    assert "nats per observation" in gains.svg
    assert [row[0] for row in gains.rows] == ["tiny"]
    effects = effects_figure("small", compared.effect_rows[0], compared.item_effect_rows, "ms")
    assert "effect in people, ms" in effects.svg
    assert len(effects.rows) == 8


def test_judgments_are_drawn_by_condition():
    document = suite(8)
    people = read(document, run(document), 6)
    zeros = np.zeros(len(people), np.int16)
    measure = Measure("acceptability", "rating", (1, 7))
    ratings = replace(people, measure=measure, region=zeros, word=zeros, value=7.0 - people.condition)
    figure = people_figure("small", document.region_names, people_result(ratings, document))
    assert [(row[0], row[1], row[4]) for row in figure.rows] == [("a", None, 7.0), ("b", None, 6.0)]
    assert "mean acceptability, points" in figure.svg
