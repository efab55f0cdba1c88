"""Units of surprisal, and common names of columns with surprisals or log probabilities.

A unit is taken only from a name that states it (`surprisal_nats`, `sum_surprisal_base2`, `surp_ln`). `surprisal`,
`nll` and `logprob` state none: minicons and most scripts write nats there, SyntaxGym and LM Zoo bits.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Literal

FACTORS = {"bits": 1.0, "nats": 1 / math.log(2), "log10": math.log2(10)}
"""Bits per unit."""

AUTO = "auto"
"""Use the unit stated in the file."""

UNITS = (AUTO, *FACTORS)
IN_WORDS = {"bits": "bits", "nats": "nats", "log10": "powers of ten"}

_STATED = {
    "bits": re.compile(r"\b(?:bits?|shannons?|base ?2|log ?2)\b"),
    "nats": re.compile(r"\b(?:nats?|base ?e|ln|log ?e)\b"),
    "log10": re.compile(r"\b(?:bans?|hartleys?|base ?10|log ?10)\b"),
}
_OF = r"(?:(?:sum|total|region|token|word) )?"
_SURPRISAL = re.compile(
    rf"{_OF}(?:surprisals?|surp|nll|(?:neg|negative) ?log(?: ?(?:probs?|p|probability|likelihood|lik))?)(?: log)?"
)
_LOG_PROBABILITY = re.compile(rf"{_OF}log ?(?:probs?|p|probability|probabilities|likelihood|lik)")
_GENERAL = ("metric value", "value", "")

Role = Literal["surprisal", "log probability", "value"]


@dataclass(frozen=True, slots=True)
class ValueName:
    """Role and unit of a column's values, as stated by its title. `unit` is empty if none is stated; `value` is the
    role of a generic title such as "value"."""

    role: Role
    unit: str


def value_name(title: str) -> ValueName | None:
    """Parse a title; None if it does not name surprisals or log probabilities."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", title)
    name = " ".join(re.findall(r"[a-z]+[0-9]*|[0-9]+", spaced.lower()))
    stated = [(unit, match) for unit, pattern in _STATED.items() if (match := pattern.search(name))]
    if len(stated) > 1:
        return None
    unit = ""
    if stated:
        unit, match = stated[0]
        of_log = "log" if match[0].startswith(("log", "ln")) else ""
        name = " ".join(f"{name[: match.start()]}{of_log}{name[match.end() :]}".split())
    if _SURPRISAL.fullmatch(name):
        return ValueName("surprisal", unit)
    if _LOG_PROBABILITY.fullmatch(name) or (unit and name == "log"):
        return ValueName("log probability", unit)
    if name in _GENERAL and (name or unit):
        return ValueName("surprisal" if unit else "value", unit)
    return None
