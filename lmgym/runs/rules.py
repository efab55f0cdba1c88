"""The three scoring rules in use for test suites, applied to stored outcomes. Pure.

| rule | used by | an item counts |
|---|---|---|
| `each` | SyntaxGym site and syntaxgym-core | with the share of its predictions that hold |
| `all` | Hugging Face metric, Brain-Score | if all its predictions hold |
| `first` | ACL 2020 paper, sg-eval | if its first prediction holds |

They agree on suites with one prediction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from lmgym.runs.outcomes import PredictionOutcome
from lmgym.runs.statistics import NO_STATISTICS, RunStatistics, statistics
from lmgym.stats import effective_n, score_interval, tail_above
from lmgym.suites.formulas import NOT_EVALUABLE, TIE, TRUE, FormulaError, parse
from lmgym.text.columns import described


@dataclass(frozen=True)
class Rule:
    key: str
    label: str
    counts: str
    used_by: str


EACH = Rule("each", "each prediction", "the mean over predictions of their pass rates", "SyntaxGym")
ALL = Rule(
    "all", "all predictions", "items for which every prediction holds", "Hugging Face metric, Brain-Score"
)
FIRST = Rule("first", "first prediction", "items for which the first prediction holds", "ACL 2020 paper")
RULES = {rule.key: rule for rule in (EACH, ALL, FIRST)}


def rule_of(key: str) -> Rule:
    """Look up a rule; `each` for an unknown key."""
    return RULES.get(key, EACH)


def rule_json(rule: Rule) -> dict[str, str]:
    return {"key": rule.key, "label": rule.label, "counts": rule.counts}


@dataclass(frozen=True, slots=True)
class RuleCounts:
    """A run's counts and rate under a rule, with the names used in every output."""

    n: int = described("items", "items")
    passed: int = described("judged outcomes that pass")
    judged: int = described("items, or items times predictions under the rule `each`")
    rate: float | None = described("pass rate under the rule", "0 to 1")
    low: float | None = described("lower limit of the rate’s 95% interval")
    high: float | None = described("upper limit of the rate’s 95% interval")
    chance: float | None = described("chance level under the rule", "0 to 1")
    p: float | None = described("exact one-sided p of the rate against chance, upper tail")
    ties: int = described("judged outcomes decided by equal sides; not passed")
    too_close: int = described("judged outcomes whose margin is within the bound on the numeric error")
    not_evaluable: int = described("judged outcomes in which a region has no value")


@dataclass(frozen=True)
class Score(RunStatistics, RuleCounts):
    """Score of a run under a rule. Rates are None if the run lacks predictions that the rule needs."""

    rule: str = field(kw_only=True)


RULE_COUNTS = tuple(one.name for one in fields(RuleCounts))


def counted(
    predictions: Sequence[PredictionOutcome], rule: Rule, expected: int
) -> list[PredictionOutcome] | None:
    """Return the predictions that the rule counts; None if the run lacks one of them. `expected`: number of predictions
    of the suite."""
    rows = sorted(predictions, key=lambda row: row.position)
    if rule.key == FIRST.key:
        rows = [row for row in rows if row.position == 0]
        return rows or None
    return rows if rows and len(rows) == expected else None


def item_shares(rows: Sequence[PredictionOutcome], rule: Rule) -> NDArray[np.float64]:
    """Return the pass share of each item, 0..1."""
    return shares_of([row.outcomes for row in rows], rule)


def shares_of(outcomes: Sequence[Sequence[int]], rule: Rule) -> NDArray[np.float64]:
    """Compute `item_shares` from outcome codes, one row per prediction that the rule counts."""
    held = np.array([[code == TRUE for code in row] for row in outcomes], dtype=np.float64)
    if rule.key == ALL.key:
        return np.asarray(held.min(axis=0), dtype=np.float64)
    return np.asarray(held.mean(axis=0), dtype=np.float64)


def item_margins(rows: Sequence[PredictionOutcome], rule: Rule) -> list[float | None]:
    """Return the margin of each item in bits: the mean over predictions, or the smallest if all have to hold; None if
    one of them is missing."""
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


def prediction_statistics(outcome: PredictionOutcome) -> RunStatistics:
    """Compute the statistics of one prediction."""
    return statistics(item_shares([outcome], EACH), outcome.margins)


def no_score(rule: Rule) -> Score:
    """Return the score of a run that lacks predictions the rule needs."""
    return Score(
        n=0,
        passed=0,
        judged=0,
        rate=None,
        low=None,
        high=None,
        chance=None,
        p=None,
        ties=0,
        too_close=0,
        not_evaluable=0,
        rule=rule.key,
        **asdict(NO_STATISTICS),
    )


def score(
    predictions: Sequence[PredictionOutcome], rule: Rule, expected: int, n_regions: int | None = None
) -> Score:
    """Score a run under a rule. `n_regions`: number of regions of the suite, for the chance level of formulas
    with `*`."""
    rows = counted(predictions, rule, expected)
    if rows is None or not rows[0].outcomes:
        return no_score(rule)
    shares = item_shares(rows, rule)
    rate, n = float(shares.mean()), effective_n(shares, len(rows) if rule.key == EACH.key else 1)
    interval = score_interval(rate, n)
    chance = chance_of(tuple(row.formula for row in rows), rule.key, n_regions)
    codes = np.array([row.outcomes for row in rows])
    if rule.key == ALL.key:  # an item is a tie if a tie keeps it from passing
        missing = (codes == NOT_EVALUABLE).any(axis=0)
        ties = (codes == TIE).any(axis=0) & ~missing
        passed, judged = int(shares.sum()), int(shares.size)
        too_close = _items_too_close(rows, missing)
    else:
        missing, ties = codes == NOT_EVALUABLE, codes == TIE
        passed, judged = int((codes == TRUE).sum()), int(codes.size)
        too_close = sum(row.too_close for row in rows)
    return Score(
        n=int(shares.size),
        passed=passed,
        judged=judged,
        rate=rate,
        low=interval.low if interval else None,
        high=interval.high if interval else None,
        chance=chance,
        p=tail_above(rate, n, chance) if chance is not None else None,
        ties=int(ties.sum()),
        too_close=too_close,
        not_evaluable=int(missing.sum()),
        rule=rule.key,
        **asdict(statistics(shares, item_margins(rows, rule))),
    )


def _items_too_close(rows: Sequence[PredictionOutcome], missing: NDArray[np.bool_]) -> int:
    """Count items with an outcome too close to call, excluding items with a missing outcome; an upper bound if the run
    does not record which outcomes are close."""
    if any(row.too_close and not row.close for row in rows):
        return min(sum(row.too_close for row in rows), int(missing.size))
    close = np.array([row.close or [False] * missing.size for row in rows], dtype=np.bool_)
    return int((close.any(axis=0) & ~missing).sum())


@lru_cache(maxsize=4096)
def chance_of(formulas: tuple[str, ...], rule: str, n_regions: int | None = None) -> float | None:
    """Return the chance level under a rule: the mean over the formulas, or that of their conjunction; None if a formula
    is invalid."""
    try:
        if rule == ALL.key and len(formulas) > 1:
            joint = parse("&".join(f"[{formula}]" for formula in formulas))
            return joint.chance_level(n_regions=n_regions).value
        levels = [parse(formula).chance_level(n_regions=n_regions).value for formula in formulas]
    except FormulaError:
        return None
    return sum(levels) / len(levels)
