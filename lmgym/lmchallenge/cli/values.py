"""Converters of option values for argparse."""

from __future__ import annotations

import json
import math
import os
from argparse import ArgumentTypeError
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from lmgym.lmchallenge.errors import LmcError

if TYPE_CHECKING:
    from lmgym.lmchallenge.logs.interpolation import Domain, Mix


def whole(least: int) -> Callable[[str], int]:
    """Return a converter to integers of at least `least`."""

    def read(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            raise ArgumentTypeError(f"{text!r} is not a whole number") from None
        if value < least:
            raise ArgumentTypeError(f"{value} is too small: the minimum is {least}")
        return value

    return read


def number(least: float, most: float = math.inf) -> Callable[[str], float]:
    """Return a converter to finite numbers between `least` and `most`."""

    def read(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            raise ArgumentTypeError(f"{text!r} is not a number") from None
        if not math.isfinite(value):
            raise ArgumentTypeError(f"{text} is not a finite number")
        if not least <= value <= most:
            limits = f"at least {least:g}" if most == math.inf else f"between {least:g} and {most:g}"
            raise ArgumentTypeError(f"{text} is out of range: it must be {limits}")
        return value

    return read


def above_zero(text: str) -> float:
    """Convert to a finite number above 0."""
    value = number(0)(text)
    if not value:
        raise ArgumentTypeError(f"{text} is out of range: it must be above 0")
    return value


def json_value(text: str) -> Any:
    """Parse JSON, passed either directly or as the path to a JSON file."""
    try:
        if os.path.isfile(text):
            with open(text, encoding="utf-8") as file:
                text = file.read()
        return json.loads(text)
    except (OSError, ValueError) as error:
        raise ArgumentTypeError(f"neither JSON nor a file with JSON: {error}") from None


def json_object(text: str) -> dict[str, Any]:
    """Parse a JSON object."""
    value = json_value(text)
    if not isinstance(value, dict):
        raise ArgumentTypeError("expected a JSON object")
    return value


def mixture(text: str) -> Mix:
    """Parse {"alpha": number, "oov_penalty": number}, as ic-opt prints it."""
    from lmgym.lmchallenge.logs.interpolation import Mix

    value = json_object(text)
    numbers = [value.get(key) for key in ("alpha", "oov_penalty")]
    if len(value) != 2 or not all(isinstance(n, int | float) and not isinstance(n, bool) for n in numbers):
        raise ArgumentTypeError('expected an object such as {"alpha": 0.5, "oov_penalty": -4}')
    return Mix(*map(float, numbers))  # type: ignore[arg-type]


def domain(text: str) -> Domain:
    """Parse MIN:MAX:N or a single value."""
    from lmgym.lmchallenge.logs.interpolation import Domain

    try:
        return Domain.parse(text)
    except LmcError as error:
        raise ArgumentTypeError(str(error)) from None
