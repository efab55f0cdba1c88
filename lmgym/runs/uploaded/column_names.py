"""Column names accepted in uploaded result tables: the names in docs/names.md, and synonyms."""

from __future__ import annotations

from collections.abc import Iterable

OTHER_NAMES: dict[str, tuple[str, ...]] = {
    "item": ("item_number", "item_no", "item_id"),
    "condition": ("condition_name", "cond"),
    "model": ("model_name",),
    "suite": ("suite_name", "test_suite"),
    "region_number": ("region_no", "region_id"),
    "content": ("region_content", "text"),
    "token_number": ("token_id_in_sentence", "token_index", "token_no"),
    "start": ("start_character",),
    "end": ("end_character",),
    "passed": ("held", "correct", "success", "result"),
    "prediction": ("prediction_name",),
}
"""Names that the SyntaxGym site and other programs use for each column."""


def roles(names: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Map each column to every name accepted for it, its own name first."""
    return {name: (name, *OTHER_NAMES.get(name, ())) for name in names}
