"""The three scoring rules in use for test suites, applied to stored outcomes. Pure.

| rule | who counts so | an item counts |
|---|---|---|
| `each` | SyntaxGym site and syntaxgym-core | with the share of its predictions that hold |
| `all` | Hugging Face metric, Brain-Score | when all its predictions hold |
| `first` | ACL 2020 paper, sg-eval | when its first prediction holds |

They agree on suites with one prediction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from gym.lib.stats import effective_n, margin_summary, score_interval, tail_above
from suites.formulas import FormulaError, parse

HELD, TIE, NOT_EVALUABLE = 1, 2, 3


@dataclass(frozen=True)
class Rule:
    key: str
    label: str
    counts: str
    used_by: str


EACH = Rule("each", "each prediction", "the mean over predictions of their pass rates", "SyntaxGym")
ALL = Rule(
    "all", "all predictions", "items of which every prediction holds", "Hugging Face metric, Brain-Score"
)
FIRST = Rule("first", "first prediction", "items of which the first prediction holds", "ACL 2020 paper")
RULES = {rule.key: rule for rule in (EACH, ALL, FIRST)}


def rule_of(key: str) -> Rule:
    """The rule of this name; `each` for any other word."""
    return RULES.get(key, EACH)


def rule_json(rule: Rule) -> dict[str, str]:
    return {"key": rule.key, "label": rule.label, "counts": rule.counts}


@dataclass(frozen=True)
class Judged:
    """One prediction over the items of a run, in the order of the items. Margins are bits. `close`: which outcomes are
    too close to call; empty where the run says only how many, or nothing."""

    position: int
    formula: str
    outcomes: Sequence[int]
    margins: Sequence[float | None]
    too_close: int = 0
    close: Sequence[bool] = ()


@dataclass(frozen=True)
class Score:
    """A run under a rule. Rates are None when the run does not hold what the rule needs.

    `n` items; `judged` item-prediction pairs, of which `passed` held; the interval is 95%; `chance_p` is one-sided.
    """

    rule: str
    n: int
    judged: int
    passed: int
    ties: int
    too_close: int
    not_evaluable: int
    rate: float | None
    low: float | None
    high: float | None
    chance: float | None
    chance_p: float | None
    margin: float | None
    margin_low: float | None
    margin_high: float | None
    effect: float | None


def counted(predictions: Sequence[Judged], rule: Rule, expected: int) -> list[Judged] | None:
    """The predictions this rule looks at; None when the run lacks one of them. `expected`: how many the suite has."""
    rows = sorted(predictions, key=lambda row: row.position)
    if rule.key == FIRST.key:
        rows = [row for row in rows if row.position == 0]
        return rows or None
    return rows if rows and len(rows) == expected else None


def item_shares(rows: Sequence[Judged], rule: Rule) -> NDArray[np.float64]:
    """Per item what it counts, 0..1."""
    held = np.array([[code == HELD for code in row.outcomes] for row in rows], dtype=np.float64)
    if rule.key == ALL.key:
        return np.asarray(held.min(axis=0), dtype=np.float64)
    return np.asarray(held.mean(axis=0), dtype=np.float64)


def item_margins(rows: Sequence[Judged], rule: Rule) -> list[float | None]:
    """Per item its margin in bits: the mean over predictions, or the least one where all have to hold."""
    margins: list[float | None] = []
    for values in zip(*(row.margins for row in rows), strict=True):
        known = [value for value in values if value is not None]
        if len(known) < len(values):
            margins.append(None)
        elif rule.key == ALL.key:
            margins.append(min(known))
        else:
            margins.append(sum(known) / len(known))
    return margins


def score(predictions: Sequence[Judged], rule: Rule, expected: int) -> Score:
    """The numbers of a run under a rule."""
    rows = counted(predictions, rule, expected)
    if rows is None or not rows[0].outcomes:
        return Score(rule.key, 0, 0, 0, 0, 0, 0, *([None] * 9))
    shares = item_shares(rows, rule)
    rate, n = float(shares.mean()), effective_n(shares, len(rows) if rule.key == EACH.key else 1)
    interval = score_interval(rate, n)
    chance = chance_of(tuple(row.formula for row in rows), rule.key)
    margin = margin_summary(item_margins(rows, rule))
    codes = np.array([row.outcomes for row in rows])
    if rule.key == ALL.key:  # an item is a tie when a tie is what keeps it from holding
        missing = (codes == NOT_EVALUABLE).any(axis=0)
        ties = (codes == TIE).any(axis=0) & ~missing
        passed, judged = int(shares.sum()), int(shares.size)
        too_close = _items_too_close(rows, missing)
    else:
        missing, ties = codes == NOT_EVALUABLE, codes == TIE
        passed, judged = int((codes == HELD).sum()), int(codes.size)
        too_close = sum(row.too_close for row in rows)
    return Score(
        rule=rule.key,
        n=int(shares.size),
        judged=judged,
        passed=passed,
        ties=int(ties.sum()),
        too_close=too_close,
        not_evaluable=int(missing.sum()),
        rate=rate,
        low=interval.low if interval else None,
        high=interval.high if interval else None,
        chance=chance,
        chance_p=tail_above(rate, n, chance) if chance is not None else None,
        margin=margin.mean,
        margin_low=margin.low,
        margin_high=margin.high,
        effect=margin.effect,
    )


def _items_too_close(rows: Sequence[Judged], missing: NDArray[np.bool_]) -> int:
    """Items with an outcome that is too close to call, less those of which one is missing; where a run does not say
    which outcomes they are, as many as there can be."""
    if any(row.too_close and not row.close for row in rows):
        return min(sum(row.too_close for row in rows), int(missing.size))
    close = np.array([row.close or [False] * missing.size for row in rows], dtype=np.bool_)
    return int((close.any(axis=0) & ~missing).sum())


@lru_cache(maxsize=4096)
def chance_of(formulas: tuple[str, ...], rule: str) -> float | None:
    """Chance level under a rule: the mean over the formulas, or that of their conjunction."""
    try:
        if rule == ALL.key and len(formulas) > 1:
            return parse("&".join(f"[{formula}]" for formula in formulas)).chance_level().value
        levels = [parse(formula).chance_level().value for formula in formulas]
    except FormulaError:
        return None
    return sum(levels) / len(levels)
