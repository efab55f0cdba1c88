"""Names of columns in tables of results: those of docs/names.md, and others that are read."""

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
"""Names that the SyntaxGym site, files of earlier versions and other programs use for the same columns."""


def roles(names: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Column -> every name it may have, its own first."""
    return {name: (name, *OTHER_NAMES.get(name, ())) for name in names}
