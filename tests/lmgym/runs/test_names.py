"""docs/names.md lists the columns of the tables."""

from __future__ import annotations

from dataclasses import fields

import pytest

from lmgym.runs import names, tables
from lmgym.runs.against_chance import ALONE, CHANCE_TEST
from lmgym.runs.compute import RegionBits
from lmgym.runs.coverage import COVERAGE
from lmgym.runs.outcomes import COUNTS
from lmgym.runs.rules import RULE_COUNTS
from lmgym.runs.statistics import STATISTICS
from lmgym.text.columns import columns
from tests.lmgym.conftest import ROOT


def test_the_page_of_names_is_made_from_the_classes() -> None:
    written = (ROOT / "docs" / "names.md").read_text(encoding="utf-8")
    assert written == names.page(), "stale: python -m lmgym.runs.names > docs/names.md"


def test_one_name_has_one_type_in_every_table() -> None:
    """The exceptions are booleans of an item that other tables count over items."""
    kinds: dict[str, set[str]] = {}
    for table in names.TABLES.values():
        for kind in (tables.RunFacts, tables.StoredRunFacts, *table):
            for name, type_ in columns(kind):
                kinds.setdefault(name, set()).add(type_)
    assert {name for name, found in kinds.items() if len(found) > 1} == {"passed", "too_close"}


@pytest.mark.parametrize(
    "kind",
    [tables.RunFacts, tables.StoredRunFacts, *dict.fromkeys(k for t in names.TABLES.values() for k in t)],
)
def test_every_column_has_a_meaning(kind: type) -> None:
    assert all(one.metadata["meaning"] for one in fields(kind))


def test_rows_are_made_in_the_order_of_the_fields() -> None:
    def named(kind: type) -> tuple[str, ...]:
        return tuple(name for name, _ in columns(kind))

    predicted = named(tables.Predicted)
    counts = tuple(name for name in COUNTS if name not in STATISTICS)
    assert named(tables.Rate) == (*predicted, *counts, "p", *CHANCE_TEST)
    assert named(tables.Score) == ("rule", *RULE_COUNTS, *ALONE)
    assert named(tables.WordCounts) == COVERAGE
    assert named(tables.Region) == ("item", "condition", *RegionBits._fields)
