"""Read predictions in their five encodings, and check their formulas.

1. `{"type": "formula", "formula": "…"}` (current);
2. a plain string (early documentation);
3. `meta.string_predictions` with an empty top-level list (files of the 2020 paper);
4. `{"relation": "greaterthan", "region_number": 3, "l_operand": "that", "r_operand": "what"}` (oldest);
5. an object with `formula`, `name` and `description` (the SyntaxGym website and LM Gym).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lmgym.suites.formats.documents import (
    MAX_FORMULA_CHARACTERS,
    MAX_PREDICTIONS,
    PredictionDoc,
)
from lmgym.suites.formulas import FormulaError, parse
from lmgym.text.json_text import json_path
from lmgym.text.problems import Report

_RELATIONS = {
    ">": (">", "greaterthan", "greater", "gt", "morethan"),
    "<": ("<", "lessthan", "less", "lt", "smallerthan"),
    "=": ("=", "==", "equals", "equal", "equalto", "eq"),
    ">=": (">=", "greaterthanorequal", "greaterorequal", "ge", "gte", "atleast"),
    "<=": ("<=", "lessthanorequal", "lessorequal", "le", "lte", "atmost"),
    "!=": ("!=", "notequals", "notequal", "ne", "unequal"),
}
_OPERATORS = {name: operator for operator, names in _RELATIONS.items() for name in names}
_LEGACY = ("relation", "region_number", "l_operand", "r_operand")


@dataclass(frozen=True, slots=True)
class Placed:
    """A prediction with the location of its formula in the file."""

    where: str
    prediction: PredictionDoc


def read_predictions(root: dict[str, Any], meta: dict[str, Any], report: Report) -> list[Placed]:
    """Read the predictions of a structurally valid suite; removes `string_predictions` from `meta` if used."""
    entries: list[Any] = root.get("predictions", [])
    if entries:
        if meta.get("string_predictions"):
            report.notice(
                "$.meta.string_predictions", "kept but not used, because the file also has “predictions”"
            )
        placed = [_read_one(value, index, report) for index, value in enumerate(entries)]
        return [prediction for prediction in placed if prediction is not None]
    formulas: list[str] = meta.get("string_predictions", [])
    if formulas:
        del meta["string_predictions"]
        report.notice("$.meta.string_predictions", "predictions were read from here (an old dialect)")
        return [
            Placed(json_path(("meta", "string_predictions", index)), PredictionDoc(formula))
            for index, formula in enumerate(formulas)
        ]
    if "predictions" not in root:
        report.notice("$.predictions", "the suite has no predictions; it can be run, but has no pass rates")
    return []


def _read_one(value: Any, index: int, report: Report) -> Placed | None:
    where = json_path(("predictions", index))
    if isinstance(value, str):
        return Placed(where, PredictionDoc(value))
    known = {"type", "formula", "name", "description"}
    if "formula" in value:
        formula, where = value["formula"], f"{where}.formula"
    else:
        known |= set(_LEGACY)
        converted = _from_relation(value, where, report)
        if converted is None:
            return None
        formula = converted
    extra = {key: content for key, content in value.items() if key not in known}
    prediction = PredictionDoc(formula, value.get("name", ""), value.get("description", ""), extra)
    return Placed(where, prediction)


def _from_relation(value: dict[str, Any], where: str, report: Report) -> str | None:
    relation = value["relation"]
    operator = _OPERATORS.get("".join(relation.lower().replace("_", "").replace("-", "").split()))
    if operator is None:
        hint = "Write greaterthan, lessthan or equals, or a formula."
        report.problem(f"{where}.relation", f"unknown relation “{relation[:60]}”", hint)
        return None
    region = int(value["region_number"])
    left, right = value["l_operand"].strip(), value["r_operand"].strip()
    formula = f"({region};%{left}%) {operator} ({region};%{right}%)"
    report.notice(where, f"the relation “{relation}” (an old dialect) was read as the formula {formula}")
    return formula


def check_formulas(
    placed: Sequence[Placed], names: Sequence[str] | None, conditions: Sequence[str], report: Report
) -> None:
    """Check that every formula parses and names only regions and conditions of the suite.

    Warnings of formulas become notices.

    Args:
        names: region names. References are not checked if this is None or `conditions` is empty.
    """
    if len(placed) > MAX_PREDICTIONS:
        report.problem("$.predictions", f"{len(placed)} predictions; at most {MAX_PREDICTIONS} are allowed")
        return
    characters = sum(len(entry.prediction.formula) for entry in placed)
    if characters > MAX_FORMULA_CHARACTERS:
        message = f"the formulas have {characters:,} characters in all; at most {MAX_FORMULA_CHARACTERS:,} are allowed"
        report.problem("$.predictions", message, "Split the suite.")
        return
    for entry in placed:
        try:
            formula = parse(entry.prediction.formula)
        except FormulaError as error:
            _report_error(entry, error, report)
            continue
        for warning in formula.warnings:
            report.notice(entry.where, str(warning).rstrip("."))
        if names is not None and conditions:
            regions = dict(enumerate(names, start=1))
            for breach in formula.check(regions, conditions):
                _report_error(entry, breach, report)


def _report_error(entry: Placed, error: FormulaError, report: Report) -> None:
    message = f"character {error.position + 1} of the formula: {str(error.message).rstrip('.')}"
    report.problem(entry.where, message, error.hint)
