"""Formats of numbers on pages."""

from __future__ import annotations

import pytest

from lmgym.text.number_format import bits, format_interval, grouped, percent, signed


@pytest.mark.parametrize(
    ("value", "text"),
    [(12.345, "12.35"), (0.5, "0.50"), (-1.5, "−1.50"), (-0.001, "0.00"), (None, "–"), (float("nan"), "–")],
)
def test_bits_have_two_places_a_true_minus_and_no_negative_zero(value, text):
    assert bits(value) == text


def test_thousands_are_told_apart_as_in_every_message():
    assert [grouped(value) for value in (50257, 999, -1234.0, None)] == ["50,257", "999", "-1,234", "–"]


@pytest.mark.parametrize(
    ("low", "high", "form", "text"),
    [
        (0.125, 0.5, percent, "12.5% to 50.0%"),
        (-0.35, -0.1, signed, "−0.35 to −0.10"),
        (None, None, percent, "–"),
        (float("nan"), float("nan"), percent, "–"),
    ],
)
def test_an_interval_is_written_with_to(low, high, form, text):
    assert format_interval(low, high, form) == text
