"""Random edits give the same document in the sheet's command model and on the server."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lmgym.suites.editing import Sheet, edit_sheet

SEEDS = range(40)
STEPS = 45
RUN = (
    "async ([seeds, steps]) => { const m = await import('/harness/random_edits.js'); "
    "return JSON.stringify(seeds.map(seed => m.run(seed, steps))); }"
)


MADE: list[dict[str, Any]] = []


@pytest.fixture
def sequences(sheet) -> list[dict[str, Any]]:
    if not MADE:
        MADE.extend(json.loads(sheet.page.evaluate(RUN, [list(SEEDS), STEPS])))
    return MADE


def test_undo_restores_every_earlier_state_and_redo_the_last(sequences):
    for seed, sequence in enumerate(sequences):
        assert sequence["problems"] == [], seed
    kinds = {op["op"] for sequence in sequences for edit in sequence["edits"] for op in edit["ops"]}
    assert len(kinds) == 16  # every op of docs/grid.md occurred
    assert sum(len(sequence["edits"]) for sequence in sequences) > 800


def test_the_server_makes_the_same_document_of_the_same_ops(sequences):
    for seed, sequence in enumerate(sequences):
        document, join = to_document(sequence["start"]), sequence["start"]["join"]
        for step, edit in enumerate(sequence["edits"]):
            sheet = Sheet(document, join)
            assert edit_sheet(sheet, edit["ops"]) == []
            document, join = sheet.document(), sheet.join
            assert join == edit["after"]["join"]
            assert from_document(document) == plain(edit["after"]), (seed, step, edit["label"], edit["ops"])


def to_document(data: dict[str, Any]) -> Any:
    from lmgym.suites.formats.documents import PredictionDoc, SentenceDoc, SuiteDocument

    return SuiteDocument(
        name="random",
        metric=data["metric"],
        meta={"factors": data["factors"]},
        region_names=tuple(data["regions"]),
        conditions=tuple(data["conditions"]),
        sentences=tuple(
            SentenceDoc(r["item"], r["condition"], tuple(r["contents"]), None, {}) for r in data["rows"]
        ),
        predictions=tuple(
            PredictionDoc(p["formula"], p["name"], p["description"]) for p in data["predictions"]
        ),
        extra={},
        notices=(),
    )


def from_document(document: Any) -> dict[str, Any]:
    return {
        "regions": list(document.region_names),
        "conditions": list(document.conditions),
        "rows": [(s.item, s.condition, list(s.contents)) for s in document.sentences],
        "predictions": [(p.name, p.description, p.formula) for p in document.predictions],
        "factors": document.meta.get("factors", []),
        "metric": document.metric,
    }


def plain(data: dict[str, Any]) -> dict[str, Any]:
    return {
        "regions": data["regions"],
        "conditions": data["conditions"],
        "rows": [(r["item"], r["condition"], r["contents"]) for r in data["rows"]],
        "predictions": [(p["name"], p["description"], p["formula"]) for p in data["predictions"]],
        "factors": data["factors"],
        "metric": tuple(data["metric"]) if isinstance(data["metric"], list) else data["metric"],
    }
