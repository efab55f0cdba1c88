"""Export suites and results to other programs. Pure. Tasks for lm-evaluation-harness and inspect_ai:
`lmgym.runs.evaluation_tasks`.

Minimal pairs, for programs that compare two whole sentences: BLiMP's JSONL. A prediction is a minimal pair if it
states that one condition has fewer bits than another on the same region or the whole sentence. Conjunctions, sums,
differences and more conditions have no counterpart and are refused with the reason.

Evaluated suite JSON, as syntaxgym-core's `Suite.from_dict` reads it. That reader requires these differences from our
suite JSON: formulas are fully bracketed with round brackets; a region has `metric_value: {metric: bits}` and `oovs`;
contents are trimmed; `meta.metric` is the one computed metric, and `meta.model` names the model. A missing value is
NaN, which Python's json reads and for which no comparison is true, as in our formulas.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lmgym.runs.compute import RunResult
from lmgym.suites.formats import SuiteDocument
from lmgym.suites.formulas import FormulaError, parse
from lmgym.suites.formulas.nodes import Call, Comparison, Negative, Not, Reference, references, walk
from lmgym.suites.regions import join


class Refused(ValueError):
    """The suite or result cannot be expressed in the other program's format. `reasons`: sentences for the
    user."""

    def __init__(self, what: str, reasons: Sequence[str]) -> None:
        super().__init__(f"{what}: {' '.join(reasons)}")
        self.what = what
        self.reasons = list(reasons)


@dataclass(frozen=True)
class MinimalPair:
    """A prediction as a good and a bad condition."""

    number: int
    name: str
    good: str
    bad: str


def minimal_pairs(document: SuiteDocument) -> list[MinimalPair]:
    """Convert every prediction of the suite to a pair of conditions. Raises Refused if one is not a minimal pair, or
    there are none."""
    reasons, pairs = [], []
    for number, prediction in enumerate(document.predictions, start=1):
        label = prediction.name or f"Prediction {number}"
        pair = _pair(number, label, prediction.formula)
        if isinstance(pair, str):
            reasons.append(f"{label} ({prediction.formula.strip()}) {pair}.")
        else:
            pairs.append(pair)
    if not document.predictions:
        reasons.append("The suite has no predictions.")
    if reasons:
        raise Refused(
            "minimal pairs",
            [
                *reasons,
                "A minimal pair is a prediction that one condition has fewer bits than another, in the same region or "
                "in the whole sentence.",
            ],
        )
    return pairs


def _pair(number: int, label: str, text: str) -> MinimalPair | str:
    try:
        tree = parse(text).ast
    except FormulaError as error:
        return f"cannot be read: {error}"
    if not isinstance(tree, Comparison):
        return "is not a single comparison"
    left, right = tree.left, tree.right
    if not isinstance(left, Reference) or not isinstance(right, Reference):
        return "computes with several regions or numbers"
    if tree.operator not in {"<", ">"}:
        return f"compares with {tree.operator}, not with < or >"
    if left.region != right.region or left.condition == right.condition:
        return "does not compare the same region of two conditions"
    good, bad = (left, right) if tree.operator == "<" else (right, left)
    return MinimalPair(number, label, good.condition, bad.condition)


@dataclass(frozen=True)
class Sentences:
    item: int
    good: str
    bad: str


def sentences_of(document: SuiteDocument, pair: MinimalPair, policy: str) -> list[Sentences]:
    """Return both sentences of every item that has them, with regions joined by the policy ("space", "natural" or
    "none")."""
    texts: dict[int, dict[str, str]] = {}
    for row in document.sentences:
        texts.setdefault(row.item, {})[row.condition] = join(row.contents, policy).text
    return [
        Sentences(item, by_condition[pair.good], by_condition[pair.bad])
        for item, by_condition in texts.items()
        if pair.good in by_condition and pair.bad in by_condition
    ]


def blimp_jsonl(document: SuiteDocument, slug: str, revision: int, policy: str) -> str:
    """Write one line per item and prediction, with BLiMP's keys. Raises Refused."""
    lines = []
    for pair in minimal_pairs(document):
        for row in sentences_of(document, pair, policy):
            record = {
                "sentence_good": row.good,
                "sentence_bad": row.bad,
                "UID": slug if len(document.predictions) == 1 else f"{slug}_{pair.number}",
                "pairID": str(row.item),
                "simple_LM_method": True,
                "lexically_identical": False,
                "revision": revision,
                "prediction": pair.name,
            }
            lines.append(json.dumps(record, ensure_ascii=False))
    return "".join(f"{line}\n" for line in lines)


_WORD = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"


def core_formula(text: str, *, whole_is_sum: bool = True) -> str:
    """Translate a formula to syntaxgym-core's language, fully bracketed. Raises Refused for unsupported syntax.

    `whole_is_sum`: every sentence's bits are the sum over its regions, so `*` has the same meaning there.
    """
    try:
        formula = parse(text)
    except FormulaError as error:
        raise Refused("formula", [f"{text} cannot be read: {error}."]) from error
    reasons = []
    for node, _ in walk(formula.ast):
        if isinstance(node, Negative | Not | Call):
            reasons.append(f"{text.strip()} uses an operator that syntaxgym-core does not support.")
        elif isinstance(node, Comparison) and node.operator not in {"<", ">", "="}:
            reasons.append(f"{text.strip()} uses {node.operator}, which syntaxgym-core does not support.")
    operators = {piece.text.strip() for piece in formula.pieces({}) if piece.kind == "op"}
    if operators & {"*", "/"}:
        reasons.append(f"{text.strip()} multiplies or divides, which syntaxgym-core cannot do.")
    for reference in references(formula.ast):
        if any(character not in _WORD for character in reference.condition):
            reasons.append(f"Condition {reference.condition} has characters other than A-Z a-z 0-9 _ -.")
        if reference.region == "*" and not whole_is_sum:
            reasons.append(
                f"{text.strip()} refers to the whole sentence: syntaxgym-core adds up region values instead, which "
                "gives a different number here (tokens outside regions, or a metric other than sum)."
            )
    if reasons:
        raise Refused("evaluated JSON for syntaxgym-core", list(dict.fromkeys(reasons)))
    return formula.canonical()


def evaluated_json(document: SuiteDocument, result: RunResult, *, metric: str, model: str) -> str:
    """Write the suite with this run's values. Raises Refused if a prediction has no counterpart or the run has no
    values."""
    if not result.sentences:
        raise Refused("evaluated JSON", ["This run has only outcomes, no surprisals."])
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
    whole = all(_is_sum(row.surprisal, row.regions) for row in result.sentences)
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
    """Return whether the sentence's bits are the sum over its regions. If a region has no value, the sentence must not
    have one either.
    """
    known = [bits for bits in regions if bits is not None]
    if total is None or len(known) < len(regions):
        return total is None and len(known) < len(regions)
    return math.isclose(total, math.fsum(known), abs_tol=1e-9)
