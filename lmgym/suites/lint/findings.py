"""Findings of checks, and the view of a suite that all checks share."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import permutations
from typing import Literal, TypeAlias

from lmgym.suites.formats.documents import SentenceDoc, SuiteDocument
from lmgym.suites.formulas import Formula, FormulaError, parse
from lmgym.suites.formulas.nodes import Comparison, references, walk

Severity: TypeAlias = Literal["error", "warning", "info"]
Cell: TypeAlias = tuple[int, str, int]
# (item, condition) -> the sentence, for sentences that another condition of the item shares.
Identical: TypeAlias = dict[tuple[int, str], str]


@dataclass(frozen=True, slots=True)
class Finding:
    """One problem or remark of a check.

    Attributes:
        severity: "error": a prediction cannot work as intended with any model; "warning": most likely a mistake;
            "info": worth knowing.
        where: the place in words, such as "item 5, region 3 (Verb)", "prediction 2" or "suite".
        cells: the cells concerned, as (item, condition, region number from 1).
    """

    code: str
    severity: Severity
    where: str
    message: str
    hint: str = ""
    cells: tuple[Cell, ...] = ()


class Design:
    """A suite as a table of items x conditions x regions, with its formulas parsed."""

    def __init__(self, doc: SuiteDocument) -> None:
        self.doc = doc
        self.conditions = doc.conditions
        self.items = doc.items
        self.table: dict[tuple[int, str], SentenceDoc] = doc.table()
        self.formulas: list[tuple[int, Formula]] = []
        self.unreadable: list[tuple[int, FormulaError]] = []
        self.verdicts: dict[object, str] = {}  # cache of `ties`, by formula and shape of the item
        for number, prediction in enumerate(doc.predictions, start=1):
            try:
                self.formulas.append((number, parse(prediction.formula)))
            except FormulaError as error:
                self.unreadable.append((number, error))

    def row(self, item: int, region: int) -> tuple[str, ...]:
        """Return the text of one region (index from 0) in each condition, in the order of `conditions`."""
        return tuple(self.table[item, condition].contents[region] for condition in self.conditions)

    def region(self, number: int) -> str:
        """Format a region number (from 1): "region 3 (Verb)"."""
        return f"region {number} ({self.doc.region_names[number - 1]})"

    @cached_property
    def _reach(self) -> dict[tuple[str, str], float]:
        """Last region number in comparisons of two conditions, by pair of conditions."""
        reach: dict[tuple[str, str], float] = {}
        for _, formula in self.formulas:
            for node, _ in walk(formula.ast):
                if not isinstance(node, Comparison):
                    continue
                refs = references(node)
                last = max((float("inf") if r.region == "*" else float(r.region) for r in refs), default=0.0)
                for pair in permutations({r.condition for r in refs}, 2):
                    reach[pair] = max(last, reach.get(pair, 0.0))
        return reach

    def compares(self, first: str, second: str, region: int = 1) -> bool:
        """Return whether a formula compares two conditions at this region (from 1) or later.

        Without any valid formula every pair counts as compared.
        """
        if not self.formulas:
            return True
        return region <= self._reach.get((first, second), 0.0)

    @cached_property
    def _compared(self) -> set[tuple[str, str, int | str]]:
        """Set of (condition, condition, region) for comparisons with the region on both sides.

        `*` is ignored: a suite that compares whole sentences may vary a different region in each item.
        """
        return {
            (left.condition, right.condition, left.region)
            for _, formula in self.formulas
            for node, _ in walk(formula.ast)
            if isinstance(node, Comparison)
            for left, right in permutations(references(node), 2)
            if isinstance(left.region, int) and left.region == right.region
        }

    def compares_at(self, first: str, second: str, region: int) -> bool:
        """Return whether a formula compares two conditions at exactly this region (from 1)."""
        return (first, second, region) in self._compared


def quoted(text: str, limit: int = 60) -> str:
    """Put text in quotation marks, shortened to `limit` characters; "nothing" for an empty text."""
    if not text:
        return "nothing"
    return f"“{text}”" if len(text) <= limit else f"“{text[: limit - 1]}…”"


def items_phrase(items: list[int]) -> str:
    """Format item numbers: "item 5", "items 5, 6 and 3 more"."""
    shown = ", ".join(str(item) for item in items[:10])
    left = f" and {len(items) - 10} more" if len(items) > 10 else ""
    return f"item{'s' if len(items) > 1 else ''} {shown}{left}"
