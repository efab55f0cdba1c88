"""Examples for the API's description; a test holds them against the schemas."""

from __future__ import annotations

from typing import Any

DOCUMENT: dict[str, Any] = {
    "meta": {"name": "agreement", "metric": "sum"},
    "region_meta": {"1": "Subject", "2": "Verb"},
    "predictions": [{"type": "formula", "formula": "(2;%mismatch%) > (2;%match%)"}],
    "items": [
        {
            "item_number": 1,
            "conditions": [
                {
                    "condition_name": name,
                    "regions": [
                        {"region_number": 1, "content": "The woman"},
                        {"region_number": 2, "content": verb},
                    ],
                }
                for name, verb in (("match", "plays"), ("mismatch", "play"))
            ],
        }
    ],
}
NEW = {"title": "Agreement", "visibility": "private", "tags": ["agreement"], "document": DOCUMENT}
MULTIPART = {"file": "agreement.csv", "title": "Agreement"}
REVISION = {
    "number": 1,
    "state": "frozen",
    "sha256": "6d1f" * 16,
    "note": "first version",
    "errata": "",
    "created": "2026-03-01T09:00:00Z",
    "frozen_at": "2026-03-01T09:30:00Z",
}
PREDICTION = {"name": "", "description": "", "formula": "(2;%mismatch%) > (2;%match%)"}
REVISION_DETAIL = {
    "suite": "agreement",
    **REVISION,
    "name": "agreement",
    "metric": "sum",
    "join_policy": "space",
    "regions": ["Subject", "Verb"],
    "conditions": ["match", "mismatch"],
    "n_sentences": 2,
    "predictions": [PREDICTION],
}
SUITE = {
    "slug": "agreement",
    "title": "Agreement",
    "owner": "alice",
    "visibility": "private",
    "tags": ["agreement"],
    "language": "en",
    "licence": "CC-BY-4.0",
    "n_items": 1,
    "n_sentences": 2,
    "n_predictions": 1,
    "created": "2026-03-01T09:00:00Z",
    "updated": "2026-03-01T09:30:00Z",
}
DETAIL = SUITE | {
    "author": "A. Linguist",
    "description": "",
    "reference": "",
    "bibtex": "",
    "comment": "",
    "without_modifier": None,
    "revisions": [REVISION],
}
DRAFT = {
    "suite": "agreement",
    "revision": 2,
    "version": 17,
    "metric": "sum",
    "join": "space",
    "regions": ["Subject", "Verb"],
    "conditions": ["match", "mismatch"],
    "items": [1],
    "n_rows": 2,
    "predictions": [PREDICTION],
    "ignored": [],
}
SENTENCE = {"item": 1, "condition": "match", "contents": ["The woman", "plays"]}
EDITS = {
    "version": 17,
    "edits": [
        {"id": "e1", "ops": [{"op": "set_cells", "cells": [[1, "match", 2, "plays", "sings"]]}]},
    ],
}
FINDING = {
    "code": "few-items",
    "severity": "warning",
    "where": "suite",
    "message": "There is one item.",
    "hint": "Rates over few items say little.",
    "cells": [],
    "ignored": "",
}
DIFF = {
    "about": [],
    "regions": [],
    "conditions": [],
    "items_added": [2],
    "items_removed": [],
    "cells": [{"item": 1, "condition": "match", "region": "Verb", "old": "plays", "new": "sings"}],
    "predictions": [],
    "reordered": [],
}
