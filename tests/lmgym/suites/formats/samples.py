"""Small suites that tests modify."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from lmgym.suites.formats import SuiteDocument, read_json, read_suite
from lmgym.text.problems import FormatError, Problem

GOLDEN = Path(__file__).parents[2] / "golden" / "suites"
FORMULA = "(2;%mismatch%) > (2;%match%)"


def golden(name: str) -> SuiteDocument:
    return read_suite((GOLDEN / name).read_bytes(), name)


def condition(name: str, *contents: str) -> dict[str, Any]:
    regions = [{"region_number": n, "content": content} for n, content in enumerate(contents, start=1)]
    return {"condition_name": name, "regions": regions}


def suite(**changes: Any) -> dict[str, Any]:
    """Return a suite with two items, two conditions, three regions and one prediction."""
    plain = {
        "meta": {"name": "sample", "metric": "sum"},
        "region_meta": {"1": "Subject", "2": "Verb", "3": "Rest"},
        "predictions": [{"type": "formula", "formula": FORMULA}],
        "items": [
            {
                "item_number": number,
                "conditions": [
                    condition("match", f"The {noun}", "sleeps", "well"),
                    condition("mismatch", f"The {noun}", "sleep", "well"),
                ],
            }
            for number, noun in ((1, "cat"), (2, "owl"))
        ],
    }
    return copy.deepcopy({**plain, **changes})


def encoded(document: Any) -> bytes:
    return json.dumps(document).encode()


def read(document: Any) -> SuiteDocument:
    return read_json(encoded(document))


def problems(data: bytes, filename: str = "") -> list[Problem]:
    """Return the problems of a file that must be refused."""
    with pytest.raises(FormatError) as refusal:
        read_suite(data, filename)
    found = refusal.value.problems
    assert found
    assert all(problem.where and problem.message for problem in found)
    return found


def notices(document: SuiteDocument) -> str:
    return "\n".join(str(notice) for notice in document.notices)
