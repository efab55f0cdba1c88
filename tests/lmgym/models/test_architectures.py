"""Every architecture of the registry: a tiny random model, compared with plain transformers in float64."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lmgym.models.backends import BackendError
from tests.lmgym.models.architectures import page, trial
from tests.lmgym.models.architectures.rows import ABSENT, FAMILIES, REFUSED, ROWS, Row


def _parameters(rows: list[Row]) -> list[Any]:
    """Only one row of each family runs on every change."""
    return [
        pytest.param(
            row, id=f"{row.kind}-{row.title}", marks=() if row.title in FAMILIES else pytest.mark.long
        )
        for row in rows
    ]


@pytest.mark.parametrize("row", _parameters([row for row in ROWS if row.way not in (REFUSED, ABSENT)]))
def test_every_token_equals_its_float64_value(row: Row, tmp_path: Path) -> None:
    outcome = trial.try_row(row, tmp_path / "model")
    assert outcome.effect >= trial.LEAST_EFFECT_BITS
    assert outcome.difference <= trial.BOUND_BITS
    assert outcome.way == row.way


@pytest.mark.parametrize(
    "row", [pytest.param(row, id=f"{row.kind}-{row.title}") for row in ROWS if row.way == REFUSED]
)
def test_a_model_without_these_values_is_refused_by_name(row: Row, tmp_path: Path) -> None:
    with pytest.raises(BackendError, match=row.refusal):
        trial.try_row(row, tmp_path / "model")


@pytest.mark.parametrize("kind", ["causal", "masked"])
def test_every_type_that_transformers_registers_has_a_row(kind: str) -> None:
    from transformers.models.auto import modeling_auto

    registered = getattr(modeling_auto, f"MODEL_FOR_{kind.upper()}_LM_MAPPING_NAMES")
    assert set(registered) - {row.model_type for row in ROWS if row.kind == kind} == set()


def test_every_family_is_in_the_registry() -> None:
    assert set(FAMILIES) <= {row.title for row in ROWS}
    assert len({row.key for row in ROWS}) == len(ROWS)


def test_the_page_lists_the_registry() -> None:
    listed = [line.split(" | ")[:3] for line in page.PATH.read_text().splitlines() if line.startswith("| `")]
    assert [[cell.strip("| ") for cell in cells] for cells in listed] == [page.cells(row)[:3] for row in ROWS]
