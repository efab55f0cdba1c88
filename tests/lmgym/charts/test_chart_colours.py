"""Colours of charts: the same on page and paper, legible, and ordered in grayscale and for colour-blind readers."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest

from lmgym.charts import svg
from tests.lmgym.conftest import ROOT

TOKENS = (ROOT / "static/css/tokens.css").read_text()
PAIRS = {
    name: (light, dark)
    for name, light, dark in re.findall(
        r"--([a-z0-9-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)", TOKENS
    )
}
THEMES = {"light": 0, "dark": 1}
# Machado, Oliveira and Fernandes 2009, severity 1.0, on linear RGB.
BLIND = {
    "protanopia": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "deuteranopia": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
    "tritanopia": (
        (1.255528, -0.076749, -0.178779),
        (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.303900),
    ),
    "none": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
}


def linear(colour: str) -> list[float]:
    parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    return [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]


def seen(colour: str, how: str) -> list[float]:
    rgb = linear(colour)
    return [min(1.0, max(0.0, sum(a * b for a, b in zip(row, rgb, strict=True)))) for row in BLIND[how]]


def luminance(rgb: list[float]) -> float:
    return 0.2126 * rgb[0] + 0.7152 * rgb[1] + 0.0722 * rgb[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(linear(one)), luminance(linear(other))))
    return (high + 0.05) / (low + 0.05)


def ramp(name: str, theme: str) -> list[str]:
    return [PAIRS[f"{name}-{k}"][THEMES[theme]] for k in range(9)]


def test_paper_has_the_colours_of_the_light_page():
    assert list(svg._HEAT) == ramp("cool", "light")
    assert list(svg._BITS) == ramp("warm", "light")
    assert list(svg.PAPER_COLOURS) == [PAIRS[f"cat-{k}"][0] for k in range(8)]


@pytest.mark.parametrize("how", BLIND)
@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("name", ["cool", "warm"])
def test_steps_of_a_ramp_keep_their_order_for_every_eye(name, theme, how):
    values = [luminance(seen(colour, how)) for colour in ramp(name, theme)]
    steps = [(b - a) * (1 if theme == "dark" else -1) for a, b in pairwise(values)]
    assert all(step > 0 for step in steps), values


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("name", ["cool", "warm"])
def test_numbers_in_cells_are_readable(name, theme):
    soft, strong = PAIRS["on-soft"][THEMES[theme]], PAIRS["on-strong"][THEMES[theme]]
    for step, colour in enumerate(ramp(name, theme)):
        assert contrast(colour, strong if step >= 6 else soft) >= 4.5, (step, colour)


@pytest.mark.parametrize("theme", THEMES)
def test_series_stand_out_from_the_paper(theme):
    paper = PAIRS["paper"][THEMES[theme]]
    for k in range(8):
        assert contrast(PAIRS[f"cat-{k}"][THEMES[theme]], paper) >= 3.0, k
