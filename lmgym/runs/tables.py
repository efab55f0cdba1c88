"""The long tables of results: names and types of their columns, and their rows. Units are bits.

The site's CSV and Parquet files and the frames of `lmgym.Result` are made from these.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from lmgym.runs.against_chance import CHANCE_TEST, Verdict
from lmgym.runs.compute import RegionBits, TokenBits
from lmgym.runs.outcomes import COUNTS, OUTCOME_NAMES
from lmgym.runs.rules import MARGINS
from lmgym.stats import MarginSummary

Kind: TypeAlias = Literal["string", "int64", "float64", "bool"]
Column: TypeAlias = tuple[str, Kind]
Row: TypeAlias = tuple[Any, ...]

TEXT: Kind = "string"
WHOLE: Kind = "int64"
REAL: Kind = "float64"
YES_NO: Kind = "bool"


def counted(*names: str) -> tuple[Column, ...]:
    """Columns of counts, rates and intervals: `n_…` are whole numbers."""
    return tuple((name, WHOLE if name.startswith("n_") else REAL) for name in names)


def tested(*names: str) -> tuple[Column, ...]:
    """Columns of a verdict against chance."""
    return tuple((name, TEXT if name == "against_chance" else REAL) for name in names)


POLICY: tuple[Column, ...] = (("bos", TEXT), ("eos", TEXT), ("join", TEXT), ("metric", TEXT))
_PREDICTION: tuple[Column, ...] = (("prediction_number", WHOLE), ("prediction", TEXT), ("formula", TEXT))
_RATES = (*COUNTS, "p_above_chance_uncorrected")

REGIONS: tuple[Column, ...] = (
    ("item_number", WHOLE), ("condition_name", TEXT), ("region_number", WHOLE), ("region_name", TEXT),
    ("content", TEXT), ("surprisal_bits", REAL), ("not_computed", YES_NO),
)  # fmt: skip
TOKENS: tuple[Column, ...] = (
    ("item_number", WHOLE), ("condition_name", TEXT), ("token_number", WHOLE), ("token", TEXT), ("token_id", WHOLE),
    ("start_character", WHOLE), ("end_character", WHOLE), ("region_number", WHOLE), ("straddles_regions", YES_NO),
    ("special", YES_NO), ("surprisal_bits", REAL), ("not_computed", YES_NO),
)  # fmt: skip
OUTCOMES: tuple[Column, ...] = (
    *_PREDICTION, ("item_number", WHOLE), ("outcome", TEXT), ("held", YES_NO), ("margin_bits", REAL),
    ("too_close", YES_NO),
)  # fmt: skip
PREDICTIONS: tuple[Column, ...] = (
    *_PREDICTION, *counted(*_RATES), *tested(*CHANCE_TEST), *counted(*MARGINS[1:]), *POLICY,
)  # fmt: skip


def region_row(item: int, condition: str, one: RegionBits) -> Row:
    return item, condition, *one


def token_row(item: int, condition: str, number: int, one: TokenBits) -> Row:
    """`number` counts from 1."""
    return (
        item, condition, number, one.token, one.id, one.start, one.end, one.region_number, one.straddles,
        one.region_number is None, one.bits, one.not_computed,
    )  # fmt: skip


def outcome_rows(position: int, label: str, formula: str, items: Sequence[int], result: Any) -> Iterator[Row]:
    """`result`: a PredictionOutcome or its row. Older results and uploaded outcomes do not say what is too close."""
    near = result.close or [None] * len(items)
    for item, code, margin, close in zip(items, result.outcomes, result.margins, near, strict=True):
        name = OUTCOME_NAMES[code] if code < len(OUTCOME_NAMES) else "not held"
        yield position + 1, label, formula, item, name, code == 1, margin, close


def prediction_row(
    position: int,
    label: str,
    formula: str,
    result: Any,
    verdict: Verdict,
    margin: MarginSummary,
    policy: Mapping[str, Any],
) -> Row:
    """`result`: a PredictionOutcome or its row."""
    return (
        position + 1, label, formula, *values(result, _RATES), *values(verdict, CHANCE_TEST),
        *values(margin, MARGINS[1:]), *policy_values(policy),
    )  # fmt: skip


def policy_values(policy: Mapping[str, Any]) -> Row:
    return tuple(str(policy[name]) if name in policy else None for name, _ in POLICY)


def values(row: Any, names: Iterable[str]) -> Row:
    return tuple(getattr(row, name) for name in names)
