"""Small suites as JSON documents."""

from __future__ import annotations

import json
from typing import Any

AGREEMENT = "(2;%mismatch%) > (2;%match%)"


def suite_json(
    name: str = "agreement",
    items: int = 3,
    formulas: tuple[str, ...] = (AGREEMENT,),
    **top: Any,
) -> dict[str, Any]:
    """Return a small suite in the current dialect: items x (match, mismatch) x (Subject, Verb, Rest)."""
    subjects = ["The woman", "The boys", "My old friend", "Some teachers", "The cat"]
    verbs = [("plays", "play"), ("run", "runs"), ("sings", "sing"), ("read", "reads"), ("sleeps", "sleep")]

    def condition(label: str, subject: str, verb: str) -> dict[str, Any]:
        contents = [subject, verb, "all day."]
        return {
            "condition_name": label,
            "regions": [{"region_number": k, "content": text} for k, text in enumerate(contents, start=1)],
        }

    return {
        "meta": {"name": name, "metric": "sum"},
        "predictions": [{"type": "formula", "formula": formula} for formula in formulas],
        "region_meta": {"1": "Subject", "2": "Verb", "3": "Rest"},
        "items": [
            {
                "item_number": k + 1,
                "conditions": [
                    condition("match", subjects[k % 5], verbs[k % 5][0]),
                    condition("mismatch", subjects[k % 5], verbs[k % 5][1]),
                ],
            }
            for k in range(items)
        ],
        **top,
    }


def suite_bytes(**options: Any) -> bytes:
    return json.dumps(suite_json(**options)).encode()
