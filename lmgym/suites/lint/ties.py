"""Check formulas against sentences: comparisons that no left-to-right model can decide, and empty references.

Two regions with the same text after the same preceding text have the same surprisal in every left-to-right model. Each
formula is therefore evaluated on random surprisals in which exactly these regions share a value. If that makes the
formula impossible (or certain), the item tests the stimuli, not the model. This works for any formula.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import combinations
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from lmgym.suites.formulas import TIE, TRUE, Formula, parse
from lmgym.suites.formulas.nodes import Comparison, Region, canonical, walk

from .findings import Design, Finding, Identical, Severity, items_phrase, quoted

Key: TypeAlias = tuple[str, Region]
Values: TypeAlias = dict[Key, NDArray[np.float64]]
Classes: TypeAlias = dict[tuple[str, str], list[tuple[str, int]]]

_DRAWS = 512
_SCARCE = 0.02  # formulas that are rarely true anyway, such as those with "=", are not judged


def check_references(design: Design) -> Iterator[Finding]:
    """Report formulas that do not parse, or that name regions or conditions that do not exist."""
    for number, error in design.unreadable:
        message = f"the formula cannot be read (character {error.position + 1}): {error.message.rstrip('.')}"
        if not design.doc.predictions[number - 1].formula.strip():
            message = "the formula is empty"
        yield Finding("formula-error", "error", f"prediction {number}", message, error.hint)
    for number, formula in design.formulas:
        for error in formula.check(design.doc.regions, design.conditions):
            message = f"character {error.position + 1}: {error.message.rstrip('.')}"
            yield Finding("dangling-reference", "error", f"prediction {number}", message, error.hint)


def sound_formulas(design: Design) -> list[tuple[int, Formula]]:
    """List formulas whose references all exist, with the number of their prediction."""
    return [(n, f) for n, f in design.formulas if not f.check(design.doc.regions, design.conditions)]


def check_empty_references(design: Design, skip: set[int]) -> Iterator[Finding]:
    """Report formulas that refer to a region without text in some items, except items in `skip`."""
    summed = design.doc.metrics[0] == "sum"
    for number, formula in sound_formulas(design):
        references = sorted((c, r) for c, r in formula.references if not isinstance(r, str))
        for condition, region in references:
            texts = {item: design.table[item, condition].contents[region - 1] for item in design.items}
            empty = [item for item, text in texts.items() if not text and item not in skip]
            if not empty:
                continue
            share = "every item" if len(empty) == len(design.items) else items_phrase(empty)
            effect = (
                "it counts as 0 bits, whatever the model"
                if summed
                else f"with the metric “{design.doc.metrics[0]}” it has no value, so the item has no result"
            )
            message = f"refers to {design.region(region)} of {condition}, which is empty in {share}: {effect}"
            cells = tuple((item, condition, region) for item in empty)
            hint = "Refer to a region with text, or fill the region in."
            severity: Severity = "warning" if summed else "error"
            yield Finding("empty-reference", severity, f"prediction {number}", message, hint, cells)


def check_whole_sentences(design: Design) -> Iterator[Finding]:
    """Report formulas with `*` in a suite whose metric is not sum."""
    metric = design.doc.metrics[0]
    if metric == "sum":
        return
    for number, formula in sound_formulas(design):
        if any(region == "*" for _, region in formula.references):
            message = (
                f"* is the sum over all tokens of the sentence, although the metric of regions is “{metric}”"
            )
            hint = (
                "Longer sentences tend to have larger sums. Results also count the items that pass with means per "
                "token."
            )
            yield Finding("sum-beside-metric", "info", f"prediction {number}", message, hint)


def check_identical(design: Design) -> tuple[list[Finding], Identical]:
    """Find sentences that are identical in two conditions of an item. Returns findings, and the sentences."""
    groups: dict[int, list[list[str]]] = {}
    identical: Identical = {}
    for item in design.items:
        texts: dict[str, list[str]] = defaultdict(list)
        for condition in design.conditions:
            texts[design.table[item, condition].text].append(condition)
        shared = {text: names for text, names in texts.items() if len(names) > 1 and text}
        identical.update(((item, name), text) for text, names in shared.items() for name in names)
        if shared:
            groups[item] = list(shared.values())
    by_design: dict[str, list[int]] = defaultdict(list)
    for item, same in groups.items():
        by_design["; ".join(" = ".join(names) for names in same)].append(item)
    findings = [_identical_finding(design, items, groups[items[0]]) for items in by_design.values()]
    return findings, identical


def _identical_finding(design: Design, items: list[int], same: list[list[str]]) -> Finding:
    item = items[0]
    compared = any(design.compares(*pair) for names in same for pair in combinations(names, 2))
    verdicts = {n: _verdict(design, formula, item) for n, formula in sound_formulas(design) if compared}
    unsatisfiable = [n for n, verdict in verdicts.items() if verdict == "impossible"]
    spelled = [" and ".join(names) for names in same]
    text = quoted(design.table[item, same[0][0]].text, 80)
    others = f", and so are {'; '.join(spelled[1:])}" if spelled[1:] else ""
    message = f"{spelled[0]} are the same sentence, {text}{others}"
    if unsatisfiable:
        which = " and ".join(str(n) for n in unsatisfiable)
        compare = (
            f"prediction {which} compares" if len(unsatisfiable) == 1 else f"predictions {which} compare"
        )
        message += f"; {compare} them and cannot hold: the tie counts as a failure for every model"
    elif compared and design.formulas:
        message += "; a formula compares them"
    cells = tuple((i, c, r) for i in items for names in same for c in names for r in _regions(design))
    hint = "Correct the sentence that should differ, or leave the item out."
    severity: Severity = "error" if unsatisfiable else "warning"
    return Finding("identical-sentences", severity, items_phrase(items), message, hint, cells)


def _regions(design: Design) -> range:
    return range(1, len(design.doc.region_names) + 1)


def check_ties(design: Design, identical: Identical) -> Iterator[Finding]:
    """Report comparisons of regions with the same text and the same preceding text, in sentences that differ later."""
    known = _items_known(design, identical)
    for number, formula in sound_formulas(design):
        by_verdict: dict[str, list[int]] = defaultdict(list)
        for item in design.items:
            verdict = "" if item in known else _verdict(design, formula, item)
            if verdict:
                by_verdict[verdict].append(item)
        for verdict, items in by_verdict.items():
            yield _tie_finding(design, number, formula, verdict, items)


def _items_known(design: Design, identical: Identical) -> set[int]:
    """Return items with two identical sentences that are compared: their ties are already reported."""
    groups: dict[tuple[int, str], list[str]] = defaultdict(list)
    for (item, condition), text in identical.items():
        groups[item, text].append(condition)
    return {
        item
        for (item, _), names in groups.items()
        if any(design.compares(*pair) for pair in combinations(names, 2))
    }


def _tie_finding(design: Design, number: int, formula: Formula, verdict: str, items: list[int]) -> Finding:
    item = items[0]
    same = [keys for keys in _classes(design, formula, item).values() if len(keys) > 1]
    shared = "; ".join(
        " and ".join(f"{design.region(region)} of {condition}" for condition, region in keys)
        for keys in same[:3]
    )
    share = "every item" if len(items) == len(design.items) else items_phrase(items)
    consequence = {
        "impossible": "the prediction cannot hold: the tie counts as a failure for every left-to-right model",
        "certain": "the prediction always holds for left-to-right models",
        "tie": "one of its comparisons is a tie for every left-to-right model",
    }[verdict]
    message = f"in {share}, {shared} have the same text after the same preceding text; {consequence}"
    cells = tuple((i, condition, region) for i in items for keys in same for condition, region in keys)
    hint = "Compare regions that the conditions make different, such as a later one."
    where = f"prediction {number}"
    severity: Severity = "error" if verdict == "impossible" else "warning"
    return Finding("tie-risk", severity, where, message, hint, cells)


def _classes(design: Design, formula: Formula, item: int) -> Classes:
    """Group referenced (condition, region) by (preceding text, text), without empty regions."""
    classes: Classes = defaultdict(list)
    whole = {condition for condition, region in formula.references if region == "*"}
    for condition in sorted(formula.conditions, key=design.conditions.index):
        before: list[str] = []
        for number, content in enumerate(design.table[item, condition].contents, start=1):
            if content and (condition in whole or (condition, number) in formula.references):
                classes[" ".join(before), content].append((condition, number))
            if content:
                before.append(content)
    return classes


def _verdict(design: Design, formula: Formula, item: int) -> str:
    """Return "impossible", "certain" or "tie", or "" if shared values decide nothing."""
    classes = list(_classes(design, formula, item).values())
    if all(len(keys) == 1 for keys in classes):
        return ""
    # The verdict depends only on which values are shared, mostly the same for all items of a suite.
    shape = (formula.text, frozenset(frozenset(keys) for keys in classes))
    if shape not in design.verdicts:
        design.verdicts[shape] = _simulate(design, formula, classes)
    return design.verdicts[shape]


def _simulate(design: Design, formula: Formula, classes: list[list[tuple[str, int]]]) -> str:
    generator = np.random.default_rng(0)

    def draw() -> NDArray[np.float64]:
        # Multiples of 1/64 bit: sums and differences are exact, so a tie is exactly 0.
        return generator.integers(1, 64 * 24, _DRAWS) / 64.0

    empty = np.full(_DRAWS, 0.0 if design.doc.metrics[0] == "sum" else np.nan)
    free: Values = {(c, r): empty for c in formula.conditions for r in _regions(design)}
    tied = dict(free)
    for members in classes:
        shared = draw()
        tied.update((key, shared) for key in members)
        free.update((key, draw()) for key in members)
    before, after = _rate(formula, free), _rate(formula, tied)
    if before >= _SCARCE and after == 0:
        return "impossible"
    if before <= 1 - _SCARCE and after == 1:
        return "certain"
    comparisons = [node for node, _ in walk(formula.ast) if isinstance(node, Comparison)]
    parts = (parse(canonical(node)).evaluate_items(tied).outcome for node in comparisons)
    return "tie" if any(bool(np.all(outcome == TIE)) for outcome in parts) else ""


def _rate(formula: Formula, values: Values) -> float:
    return float(np.mean(formula.evaluate_items(values).outcome == TRUE))
