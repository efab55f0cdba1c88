"""Examples for the API's description; a test holds them against the schemas."""

from __future__ import annotations

from typing import Any

PREDICTION = {
    "name": "",
    "formula": "(2;%mismatch%) > (2;%match%)",
    "passed": 18,
    "total": 20,
    "rate": 0.9,
    "ci_low": 0.699,
    "ci_high": 0.972,
    "chance": 0.5,
    "ties": 0,
    "too_close": 0,
    "not_evaluable": 0,
    "mean_margin": 3.1,
}
SCORE = {
    "rule": "each",
    "n_items": 20,
    "passed": 18,
    "judged": 20,
    "rate": 0.9,
    "ci_low": 0.699,
    "ci_high": 0.972,
    "chance": 0.5,
    "p_above_chance_uncorrected": 0.0002,
    "ties": 0,
    "too_close": 0,
    "not_evaluable": 0,
}
RUN: dict[str, Any] = {
    "id": "3f2a9c1d5e7b8a604c21",
    "suite": "agreement_orc",
    "revision": 1,
    "model": "demo-gpt2",
    "owner": "alice",
    "state": "done",
    "source": "computed",
    "policy": {"bos": "auto", "eos": False, "join": "space", "metric": "sum"},
    "provenance": {"suite_sha256": "6d1f" * 16},
    "progress": None,
    "created": "2026-03-01T09:00:00Z",
    "completed_at": "2026-03-01T09:00:04Z",
    "filling": False,
    "n_sentences": 40,
    "n_unscored": 0,
    "predictions": [PREDICTION],
    "scores": [SCORE, SCORE | {"rule": "all"}, SCORE | {"rule": "first"}],
}
HEAD = {
    "item": 1,
    "condition": "match",
    "text": "The woman plays all day.",
    "total_bits": 41.5,
    "special_bits": 0.0,
    "failure": "",
}
REGIONS = HEAD | {
    "regions": [
        {
            "region": 1,
            "name": "Subject",
            "content": "The woman",
            "bits": 15.25,
            "corrected_bits": None,
            "pending": False,
        }
    ]
}
TOKENS = HEAD | {
    "tokens": [
        {
            "token": "The",
            "id": 464,
            "start": 0,
            "end": 3,
            "bits": 5.5,
            "region": 1,
            "straddles": False,
            "pending": False,
        }
    ]
}
ITEM = {
    "item": 1,
    "outcomes": [{"prediction": "Prediction 1", "outcome": "held", "margin": 3.5, "too_close": False}],
}
ALL = {
    "suite": {"slug": "agreement_orc", "name": "agreement_orc", "revision": 1, "sha256": "6d1f" * 16},
    "model": {"slug": "demo-gpt2", "name": "Demo GPT-2"},
    "unit": "bits",
    "complete": True,
    "predictions": [],
    "items": [],
}
BATCH = {
    "queued": 1,
    "refused": 1,
    "cells": [
        {"suite": "agreement_orc", "model": "demo-gpt2", "run": "3f2a9c1d5e7b8a604c21", "error": None},
        {
            "suite": "agreement_orc",
            "model": "gpt2",
            "run": None,
            "error": "GPT-2 is not ready: being checked.",
        },
    ],
}
REPORT = {"kind": "outcomes", "notices": [], "unmatched": [], "refused": []}
UPLOAD = {
    "id": "3f2a9c1d5e7b8a604c21",
    "kind": "outcomes",
    "files": [{"name": "results.csv", "sha256": "6d1f" * 16, "bytes": 2048}],
    "report": REPORT,
    "state": "done",
    "progress": None,
    "created": "2026-03-01T09:00:00Z",
    "runs": ["3f2a9c1d5e7b8a604c21"],
}
PLAN = {
    "report": REPORT,
    "runs": [
        {
            "suite": "agreement_orc",
            "revision": 1,
            "model": "our-lstm",
            "predictions": [{"formula": "(2;%mismatch%) > (2;%match%)", "passed": 18, "total": 20}],
            "missing": ["tokens", "margins"],
            "n_failed": 0,
            "notices": [],
        }
    ],
}
