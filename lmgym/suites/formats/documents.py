"""Test suites in memory, independent of the file format.

Names follow the SyntaxGym suite format (docs.syntaxgym.org, "Test suite JSON representation"): a suite has *items*; all
items have the same *conditions*; an item in one condition is a *sentence*, divided into the same numbered *regions*;
*predictions* are formulas over the surprisals of regions.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from lmgym.files.bounded import Limits
from lmgym.text.problems import Notice

MAX_BYTES = 5_000_000
MAX_SENTENCES = 20_000
MAX_CELLS = 200_000
MAX_REGIONS = 200
MAX_CONDITIONS = 100
MAX_PREDICTIONS = 200
MAX_FORMULA_CHARACTERS = 20_000
MAX_CELL_CHARACTERS = 10_000
MAX_NAME_CHARACTERS = 200
MAX_ITEM_NUMBER = 999_999_999
LIMITS = Limits(lines=2 * MAX_CELLS, cells=8 * MAX_CELLS, columns=1_000, values=600_000)
"""Limits of a file, checked before it is split or decoded. They include blank lines and unused columns."""

METRICS = ("sum", "mean", "median", "range", "max", "min")


@dataclass(frozen=True, slots=True)
class SentenceDoc:
    """One item in one condition.

    Attributes:
        contents: text of each region, trimmed and with inner whitespace collapsed; region number k+1 is at index k.
        raw: text of each region in the file; None if it equals `contents`.
        extra: unknown keys of the condition object; those of regions under "regions", by region number.
    """

    item: int
    condition: str
    contents: tuple[str, ...]
    raw: tuple[str, ...] | None = None
    extra: dict[str, Any] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """Regions that are not empty, joined by one space (the policy of the published suites)."""
        return " ".join(content for content in self.contents if content)


@dataclass(frozen=True, slots=True)
class PredictionDoc:
    """A prediction. `formula` is the text as typed; `extra` has unknown keys of the object."""

    formula: str
    name: str = ""
    description: str = ""
    extra: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SuiteDocument:
    """A test suite. Notices are ignored when documents are compared.

    Attributes:
        metric: one of `METRICS`, "all", or a tuple of metrics, as in the file; see `metrics`.
        meta: the meta block of the file without `name` and `metric`.
        conditions: in the order of most items.
        sentences: in the order of the file, grouped by item.
        extra: unknown top-level keys; those of items under "items", by item number.
        is_table: True if read from a table, which has no name, metric, meta block or predictions.
    """

    name: str
    metric: str | tuple[str, ...]
    meta: dict[str, Any]
    region_names: tuple[str, ...]
    conditions: tuple[str, ...]
    sentences: tuple[SentenceDoc, ...]
    predictions: tuple[PredictionDoc, ...] = ()
    extra: dict[str, Any] = field(default_factory=dict)
    notices: tuple[Notice, ...] = field(default=(), compare=False)
    is_table: bool = field(default=False, compare=False)

    @property
    def items(self) -> tuple[int, ...]:
        """Item numbers in the order of their first sentence."""
        return tuple(dict.fromkeys(sentence.item for sentence in self.sentences))

    @property
    def metrics(self) -> tuple[str, ...]:
        """Metrics of the suite, with "all" expanded."""
        if isinstance(self.metric, tuple):
            return self.metric
        return METRICS if self.metric == "all" else (self.metric,)

    @property
    def regions(self) -> Mapping[int, str]:
        """Region number (from 1) to region name, as `lmgym.suites.formulas` expects it."""
        return MappingProxyType(dict(enumerate(self.region_names, start=1)))

    def table(self) -> dict[tuple[int, str], SentenceDoc]:
        """Map (item, condition) to sentences, in the order of `sentences`."""
        return {(sentence.item, sentence.condition): sentence for sentence in self.sentences}

    def sha256(self) -> str:
        """Hash everything that determines results of runs. Returns 64 hexadecimal digits.

        Included: region names, trimmed contents of all sentences with item and condition, formulas in order (with
        collapsed spaces), metrics. Excluded: name and meta block of the suite, names and descriptions of predictions,
        raw whitespace, unknown keys, order of sentences and conditions.
        """
        science = {
            "metrics": self.metrics,
            "regions": self.region_names,
            "predictions": [" ".join(prediction.formula.split()) for prediction in self.predictions],
            "sentences": sorted((s.item, s.condition, s.contents) for s in self.sentences),
        }
        canonical = json.dumps(science, ensure_ascii=True, separators=(",", ":"), sort_keys=True)
        return hashlib.sha256(b"lm-gym-suite-1\n" + canonical.encode("ascii")).hexdigest()
