"""Pair the predictions of two revisions that have the same formula. Pure.

Formulas are compared in canonical spelling with the region numbers and condition names of the newer revision: a region
that moved from 2 to 3 is the same region (`lmgym.suites.diff` pairs them); a different region that now has number 2 is
not. Names of predictions are ignored. `a < b` and `b > a` are two formulas.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lmgym.runs.rules import FIRST, Rule
from lmgym.suites.diff import condition_pairs, region_pairs
from lmgym.suites.formulas import FormulaError, parse
from lmgym.text.columns import described


@dataclass(frozen=True)
class RevisionPredictions:
    """The parts of a revision needed for pairing. `predictions`: (name, formula), by position."""

    number: int
    regions: Sequence[str]
    conditions: Sequence[str]
    predictions: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class UnpairedPrediction:
    """A prediction of one revision that is not compared, because the other revision lacks its formula."""

    revision: int = described("number of the revision that has the prediction")
    prediction_number: int = described("number of the prediction in its revision, from 1")
    prediction: str = described("name of the prediction, or empty")
    formula: str = described("formula of the prediction")
    why: str = described("why it is not compared, in words")

    @property
    def label(self) -> str:
        """Label such as: r1, prediction 2 “Name”."""
        named = f" “{self.prediction}”" if self.prediction else ""
        return f"r{self.revision}, prediction {self.prediction_number}{named}"


@dataclass(frozen=True)
class PairedPredictions:
    """Paired predictions.

    Attributes:
        positions: (older, newer) positions of equal formulas, ordered by the older.
        judged: the positions that the scoring rule counts.
        left_out: predictions that the rule counts in one revision and that the other lacks.
    """

    positions: tuple[tuple[int, int], ...]
    judged: tuple[tuple[int, int], ...]
    left_out: tuple[UnpairedPrediction, ...]


def pair_predictions(older: RevisionPredictions, newer: RevisionPredictions, rule: Rule) -> PairedPredictions:
    """Pair equal formulas of two revisions under a rule. Repeated formulas are paired in order."""
    regions = {a + 1: b + 1 for a, b in region_pairs(older.regions, newer.regions)}
    conditions = {
        older.conditions[a]: newer.conditions[b]
        for a, b in condition_pairs(older.conditions, newer.conditions)
    }
    old = [_renamed(formula, regions, conditions) for _, formula in older.predictions]
    new = [_spelled(formula) for _, formula in newer.predictions]
    free = list(range(len(new)))
    positions = []
    for place, key in enumerate(old):
        other = next((k for k in free if new[k] == key), None)
        if other is not None:
            free.remove(other)
            positions.append((place, other))
    if rule.key != FIRST.key:
        left_out = [
            *_unpaired(older, old, newer, new, {place for place, _ in positions}),
            *_unpaired(newer, new, older, old, {place for _, place in positions}),
        ]
        return PairedPredictions(tuple(positions), tuple(positions), tuple(left_out))
    if (0, 0) in positions:
        return PairedPredictions(tuple(positions), ((0, 0),), ())
    return PairedPredictions(tuple(positions), (), (*_first(older, newer), *_first(newer, older)))


def left_out_in_words(paired: PairedPredictions) -> str:
    """Return a sentence for notes; empty if nothing is left out."""
    if not paired.left_out:
        return ""
    rows = "; ".join(f"{row.label} ({row.why})" for row in paired.left_out)
    return f"Predictions of two revisions are paired by formula; not compared: {rows}."


def _spelled(formula: str) -> str:
    try:
        return parse(formula).canonical()
    except FormulaError:
        return formula


def _renamed(formula: str, regions: Mapping[int, int], conditions: Mapping[str, str]) -> str | None:
    """Return the formula with the newer revision's numbers and names; None if that revision lacks one of them."""
    try:
        renamed = parse(formula).renamed(regions, conditions)
    except FormulaError:
        return None
    return None if renamed is None else renamed.canonical()


def _first(revision: RevisionPredictions, other: RevisionPredictions) -> list[UnpairedPrediction]:
    if not revision.predictions:
        return []
    why = f"the first prediction of r{other.number} has a different formula"
    return [UnpairedPrediction(revision.number, 1, *revision.predictions[0], why)]


def _unpaired(
    revision: RevisionPredictions,
    formulas: Sequence[str | None],
    other: RevisionPredictions,
    other_formulas: Sequence[str | None],
    paired: set[int],
) -> list[UnpairedPrediction]:
    """Return unpaired predictions of `revision`. `formulas`, `other_formulas`: canonical formulas."""
    unpaired = []
    for place, (name, formula) in enumerate(revision.predictions):
        if place in paired:
            continue
        if formulas[place] is not None and formulas[place] in other_formulas:
            why = f"r{other.number} has fewer predictions with this formula"
        elif _spelled(formula) in {_spelled(text) for _, text in other.predictions}:
            why = f"the same text in r{other.number} refers to different regions or conditions"
        elif name and name in {text for text, _ in other.predictions}:
            why = f"the prediction with this name in r{other.number} has a different formula"
        else:
            why = f"no prediction of r{other.number} has this formula"
        unpaired.append(UnpairedPrediction(revision.number, place + 1, name, formula, why))
    return unpaired
