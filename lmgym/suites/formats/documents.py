"""What a test suite is, whichever file it came from.

The names follow the SyntaxGym suite format (docs.syntaxgym.org, "Test suite JSON representation"): a suite
has *items*; every item has the same *conditions*; an item in a condition is a *sentence*, cut into the same
numbered *regions*; *predictions* are formulas over the surprisals of regions.
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
"""Of a file, asked before it is cut or decoded. Blank lines and columns that are not read count."""

METRICS = ("sum", "mean", "median", "range", "max", "min")


@dataclass(frozen=True, slots=True)
class SentenceDoc:
    """An item in a condition. `contents[k]` is region number k+1, trimmed, inner blanks collapsed.

    `raw` has the same length and holds the file's own text; None when it says the same as `contents`.
    `extra` holds unknown keys of the condition object and, under `"regions"`, a dictionary
    `{"<region number>": {unknown keys of that region}}`.
    """

    item: int
    condition: str
    contents: tuple[str, ...]
    raw: tuple[str, ...] | None = None
    extra: dict[str, Any] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The regions that are not empty, joined by one blank (the published suites' own policy)."""
        return " ".join(content for content in self.contents if content)


@dataclass(frozen=True, slots=True)
class PredictionDoc:
    """A formula as typed, and what its author called it. `extra` holds unknown keys of the object."""

    formula: str
    name: str = ""
    description: str = ""
    extra: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SuiteDocument:
    """A whole suite. Two documents are equal when everything but their notices is equal.

    `metric` is one of `METRICS`, `"all"`, or a tuple of metrics, as the file says; see `metrics`.
    `meta` holds the file's meta block without `name` and `metric`.
    `conditions` are in the order that most items have; `sentences` in the file's order, grouped by item.
    `is_table` says that it was read from a table, which carries no name, metric, meta block and predictions.
    `extra` holds unknown top-level keys and, under `"items"`, `{"<item number>": {its unknown keys}}`.
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
        """The metrics the suite asks for, `"all"` spelled out."""
        if isinstance(self.metric, tuple):
            return self.metric
        return METRICS if self.metric == "all" else (self.metric,)

    @property
    def regions(self) -> Mapping[int, str]:
        """Region number (from 1) to region name, as `lmgym.suites.formulas` wants it."""
        return MappingProxyType(dict(enumerate(self.region_names, start=1)))

    def table(self) -> dict[tuple[int, str], SentenceDoc]:
        """`{(item, condition): sentence}`, in the order of `sentences`."""
        return {(sentence.item, sentence.condition): sentence for sentence in self.sentences}

    def sha256(self) -> str:
        """Hash of what decides the results of a run, as 64 hexadecimal digits.

        Covered: region names, the trimmed contents of every sentence with item and condition, the formulas
        in their order (runs of blanks count as one), the metrics. Not covered: the suite's name and meta
        block, names and descriptions of predictions, raw whitespace, unknown keys, the order of sentences and
        of conditions.
        """
        science = {
            "metrics": self.metrics,
            "regions": self.region_names,
            "predictions": [" ".join(prediction.formula.split()) for prediction in self.predictions],
            "sentences": sorted((s.item, s.condition, s.contents) for s in self.sentences),
        }
        canonical = json.dumps(science, ensure_ascii=True, separators=(",", ":"), sort_keys=True)
        return hashlib.sha256(b"lm-gym-suite-1\n" + canonical.encode("ascii")).hexdigest()
