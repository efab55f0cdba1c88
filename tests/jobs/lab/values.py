"""The values that the job computes. Imports no Django, so that tests can compare them."""

from __future__ import annotations


def value_of(number: int) -> int:
    return (number * number + 7) % 1009


def expected_chunks(n: int) -> list[list[int]]:
    return [[number, value_of(number)] for number in range(n)]
