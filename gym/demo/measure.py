"""Scores a demo suite with a backend, in memory: for the table of docs/demo.md and for the tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from models_registry.backends.base import Backend
from models_registry.engine.policy import ScoringPolicy
from models_registry.engine.scores import ScoringFailure
from models_registry.engine.shared_prefixes import share_prefix_scores
from suites.formats import SuiteDocument
from suites.formulas import ItemOutcomes, parse
from suites.regions import align, join, region_values


@dataclass(frozen=True)
class Measured:
    """One suite, one model: an outcome per prediction, in the suite's order."""

    suite: str
    predictions: tuple[ItemOutcomes, ...]

    @property
    def items(self) -> int:
        return self.predictions[0].total

    @property
    def passed(self) -> int:
        """Items for which every prediction is true."""
        return int(np.logical_and.reduce([outcomes.outcome == 1 for outcomes in self.predictions]).sum())

    @property
    def rate(self) -> float:
        return self.passed / self.items


def measure(backend: Backend, suite: SuiteDocument, policy: ScoringPolicy | None = None) -> Measured:
    """Join, score, align, aggregate, evaluate. Raises ValueError if a sentence cannot be scored."""
    policy = policy or ScoringPolicy()
    joined = [join(sentence.contents, policy.join) for sentence in suite.sentences]
    scores = list(backend.score([sentence.text for sentence in joined], policy))
    if backend.facts.left_to_right:
        scores = share_prefix_scores(scores)
    numbers = sorted({sentence.item for sentence in suite.sentences})
    rows = {number: row for row, number in enumerate(numbers)}
    width = len(suite.region_names)
    cells: dict[tuple[str, int | Literal["*"]], NDArray[np.float64]] = {
        (condition, region): np.full(len(numbers), np.nan)
        for condition in suite.conditions
        for region in range(1, width + 1)
    }
    for sentence, text, score in zip(suite.sentences, joined, scores, strict=True):
        if isinstance(score, ScoringFailure):
            raise ValueError(f"{text.text!r}: {score.reason}")
        alignment = align(text, score.offsets, score.special)
        values = region_values(alignment, score.bits, width, policy.metric).values
        for region, value in enumerate(values, 1):
            cells[sentence.condition, region][rows[sentence.item]] = value
    formulas = [parse(prediction.formula) for prediction in suite.predictions]
    return Measured(suite.name, tuple(formula.evaluate_items(cells) for formula in formulas))


def chance(suite: SuiteDocument) -> float:
    """How often all predictions together come true when all values are drawn alike and independently."""
    joint = " & ".join(f"[{prediction.formula}]" for prediction in suite.predictions)
    return float(parse(joint).chance_level().value)


def table(columns: Sequence[str], rows: Sequence[tuple[str, int, float, Sequence[Measured]]]) -> str:
    """A Markdown table: suite, items, chance level, and the pass rate of each model with its ties."""
    lines = [
        "| suite | n | chance | " + " | ".join(columns) + " |",
        "| --- | ---: | ---: | " + " | ".join("---:" for _ in columns) + " |",
    ]
    for name, items, level, results in rows:
        cells = []
        for result in results:
            ties = int(np.logical_or.reduce([outcomes.outcome == 2 for outcomes in result.predictions]).sum())
            cells.append(f"{100 * result.rate:.0f} %" + (f" ({ties} ties)" if ties else ""))
        lines.append(f"| {name} | {items} | {100 * level:.0f} % | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def total_bits(backend: Backend, texts: Sequence[str]) -> float:
    """Bits of all texts together, without start and end tokens. Raises ValueError if one cannot be scored."""
    total = 0.0
    for score in backend.score(texts, ScoringPolicy()):
        if isinstance(score, ScoringFailure):
            raise ValueError(score.reason)
        pairs = zip(score.bits, score.special, strict=True)
        total += sum(value for value, special in pairs if value is not None and not special)
    return total
