"""Evaluated suites: suite JSON with `meta.model` and a `metric_value` in every region."""

from __future__ import annotations

import math
from typing import Any

from lmgym.runs.uploaded.contents import FileSentence, ScorePart, Uploaded
from lmgym.runs.uploaded.units import AUTO, FACTORS
from lmgym.suites.formats.documents import LIMITS, MAX_SENTENCES, METRICS
from lmgym.text import tidy
from lmgym.text.json_text import json_path, load
from lmgym.text.problems import Report

Where = tuple[str | int, ...]


def read_evaluated(text: str, unit: str, report: Report) -> Uploaded:
    """Read one part with the values of one metric (see `_chosen`). Raises `FormatError`.

    With unit AUTO values are bits, as syntaxgym-core writes them.
    """
    factor = FACTORS["bits" if unit == AUTO else unit]
    root = load(text, report, LIMITS, nan_is_null=True)  # syntaxgym-core writes NaN for a missing value
    items = root.get("items") if isinstance(root, dict) else None
    if not isinstance(items, list) or not items:
        hint = "An evaluated suite is a suite whose regions have a metric_value."
        report.problem("$.items", "an evaluated suite must have a list of items here", hint)
        report.raise_problems()
        raise AssertionError
    meta = root.get("meta")
    meta = meta if isinstance(meta, dict) else {}
    values: dict[str, dict[int, dict[int, float | None]]] = {}
    sentences: list[FileSentence] = []
    seen: dict[tuple[int, str], str] = {}
    for where, item, condition in _conditions(items, report):
        number, name = item.get("item_number"), condition.get("condition_name")
        if type(number) is not int or abs(number) > 10**9 or not isinstance(name, str):
            report.problem(json_path(where), "item_number or condition_name is missing or of the wrong type")
            continue
        if (number, name) in seen:
            report.problem(json_path(where), f"item {number}, {name[:60]} is already in {seen[number, name]}")
            continue
        seen[number, name] = json_path(where)
        sentence = FileSentence(json_path(where), number, name.strip())
        for metric, regions in _values(where, condition, sentence, factor, report).items():
            values.setdefault(metric, {})[len(sentences)] = regions
        sentences.append(sentence)
        if len(sentences) > MAX_SENTENCES:
            report.problem("file", f"more than {MAX_SENTENCES:,} sentences", "Split the suite.")
            break
    if not values and not report.problems:
        report.problem("$.items", "no region has a metric_value", "This is a suite without results.")
    report.raise_problems()
    metric = _chosen(values, meta)
    for place, sentence in enumerate(sentences):
        sentence.regions = values[metric].get(place, {})
    suite, model = (_name(meta.get(key)) for key in ("name", "model"))
    part = ScorePart("evaluated", suite, model, sentences, metrics=(metric,))
    return Uploaded("evaluated", (part,), tuple(report.notices))


def _conditions(items: list[Any], report: Report) -> list[tuple[Where, dict[str, Any], dict[str, Any]]]:
    rows: list[tuple[Where, dict[str, Any], dict[str, Any]]] = []
    for i, item in enumerate(items):
        conditions = item.get("conditions") if isinstance(item, dict) else None
        if not isinstance(conditions, list):
            report.problem(f"$.items[{i}]", "an item must have a list of conditions")
            continue
        for k, condition in enumerate(conditions):
            where: Where = ("items", i, "conditions", k)
            if isinstance(condition, dict) and isinstance(condition.get("regions"), list):
                rows.append((where, item, condition))
            else:
                report.problem(json_path(where), "a condition must have a list of regions")
    return rows


def _values(
    where: Where, condition: dict[str, Any], sentence: FileSentence, factor: float, report: Report
) -> dict[str, dict[int, float | None]]:
    """Read the values by metric and region number; null and NaN become None."""
    values: dict[str, dict[int, float | None]] = {}
    for k, region in enumerate(condition["regions"]):
        path = (*where, "regions", k)
        number = region.get("region_number") if isinstance(region, dict) else None
        if type(number) is not int or number < 1:
            report.problem(json_path(path), "region_number must be a whole number from 1")
            continue
        if number in sentence.contents:
            report.problem(json_path(path), f"region {number} occurs twice in this sentence")
            continue
        content = region.get("content")
        sentence.contents[number] = tidy(content) if isinstance(content, str) else ""
        if "metric_value" not in region:
            report.problem(
                json_path(path), "metric_value is missing", "Write null for a region without a value."
            )
            continue
        value = region["metric_value"]
        by_metric = value if isinstance(value, dict) else {"": value}
        for metric, value in by_metric.items():
            if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
                here = (*path, "metric_value", *([metric] if metric else []))
                report.problem(json_path(here), "must be a number or null")
                continue
            bits = None if value is None else _times(value, factor)
            values.setdefault(metric, {})[number] = bits
    return values


def _times(value: float, factor: float) -> float | None:
    """Convert to bits; None on overflow."""
    try:
        bits = float(value) * factor
    except OverflowError:
        return None
    return bits if math.isfinite(bits) else None


def _chosen(values: dict[str, Any], meta: dict[str, Any]) -> str:
    """Choose the metric to use: the file's own, else the first known one."""
    metric = meta.get("metric")
    if isinstance(metric, str) and metric in values:
        return metric
    return next((metric for metric in METRICS if metric in values), next(iter(values)))


def _name(value: Any) -> str:
    return " ".join(value.split())[:200] if isinstance(value, str) else ""
