"""Evaluated suite JSON, as syntaxgym-core's `Suite.from_dict` reads it. Pure.

Differences from our own suite JSON, all forced by that reader: predictions have round brackets, everywhere; a region
has `metric_value: {metric: bits}` and `oovs`; contents are trimmed; `meta.metric` is the one name that was computed,
and `meta.model` says whose values these are. A value that is missing is NaN, which Python's json reads and under which
no comparison holds, as here.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

from gym.runs.core.cannot_export import Refused
from gym.runs.core.compute import RunResult
from suites.formats import SuiteDocument
from suites.formulas import FormulaError, parse
from suites.formulas.nodes import Call, Comparison, Negative, Not, references, walk

_WORD = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"


def core_formula(text: str, *, whole_is_sum: bool = True) -> str:
    """The formula in syntaxgym-core's language, fully bracketed. Raises Refused for what it has not.

    `whole_is_sum`: the bits of every sentence are those of its regions, so that its `*` means the same as ours."""
    try:
        formula = parse(text)
    except FormulaError as error:
        raise Refused("formula", [f"{text} cannot be read: {error}."]) from error
    reasons = []
    for node, _ in walk(formula.ast):
        if isinstance(node, Negative | Not | Call):
            reasons.append(f"{text.strip()} uses an operator that syntaxgym-core does not know.")
        elif isinstance(node, Comparison) and node.operator not in {"<", ">", "="}:
            reasons.append(f"{text.strip()} uses {node.operator}, which syntaxgym-core does not know.")
    operators = {piece.text.strip() for piece in formula.pieces({}) if piece.kind == "op"}
    if operators & {"*", "/"}:
        reasons.append(f"{text.strip()} multiplies or divides, which syntaxgym-core cannot.")
    for reference in references(formula.ast):
        if any(character not in _WORD for character in reference.condition):
            reasons.append(f"Condition {reference.condition} is not spelled with A-Z a-z 0-9 _ - alone.")
        if reference.region == "*" and not whole_is_sum:
            reasons.append(
                f"{text.strip()} refers to the whole sentence: syntaxgym-core adds up region values instead, which "
                "gives another number here (tokens outside regions, or a metric other than sum)."
            )
    if reasons:
        raise Refused("evaluated JSON for syntaxgym-core", list(dict.fromkeys(reasons)))
    return formula.canonical()


def evaluated_json(document: SuiteDocument, result: RunResult, *, metric: str, model: str) -> str:
    """The suite with this run's values. Raises Refused when a prediction has no counterpart, or there are no values."""
    if not result.sentences:
        raise Refused("evaluated JSON", ["This run has outcomes alone, no surprisals."])
    items: dict[int, dict[str, Any]] = {}
    for row in result.sentences:
        contents = document.sentences[row.position].contents
        regions = [
            {
                "region_number": number,
                "content": content,
                "metric_value": {metric: math.nan if bits is None else bits},
                "oovs": [],
            }
            for number, (content, bits) in enumerate(zip(contents, row.regions, strict=True), start=1)
        ]
        item = items.setdefault(row.item, {"item_number": row.item, "conditions": []})
        item["conditions"].append({"condition_name": row.condition, "regions": regions})
    whole = all(_is_sum(row.total, row.regions) for row in result.sentences)
    kept = {key: value for key, value in document.meta.items() if key in {"author", "reference", "comment"}}
    suite = {
        "meta": {"name": document.name, "metric": metric, "model": model, **kept},
        "region_meta": {str(number): name for number, name in enumerate(document.region_names, start=1)},
        "predictions": [
            {"type": "formula", "formula": core_formula(prediction.formula, whole_is_sum=whole)}
            for prediction in document.predictions
        ],
        "items": list(items.values()),
    }
    return json.dumps(suite, ensure_ascii=False, indent=1) + "\n"


def _is_sum(total: float | None, regions: Sequence[float | None]) -> bool:
    """Whether a sentence's bits are those of its regions together; with one of them missing, it has to have none."""
    known = [bits for bits in regions if bits is not None]
    if total is None or len(known) < len(regions):
        return total is None and len(known) < len(regions)
    return math.isclose(total, math.fsum(known), abs_tol=1e-9)
