"""What requests and answers look like."""

from __future__ import annotations

from typing import Any

VERSION = {
    "number": 1,
    "note": "",
    "sha256": "1b9a7afdc4b80db43e6914ccc926dc9536888ac552fea091b94f8d29d4193cee",
    "sentences_sha256": "4dbb67f8773cf7fd2883de82f5ca9f7f9d81700027fb804d38faa7d603b9d13a",
    "n_processes": 2,
    "n_participants": 7,
    "n_steps": 11,
    "process_ids": [1, 2],
    "events": {"NONE": 30, "CREATE": 3, "MOVE": 6, "DESTROY": 2},
    "notices": [],
    "created": "2026-03-01T09:00:00Z",
}
ANSWER_SET = {
    "slug": "everyday-processes",
    "title": "Everyday processes",
    "owner": "alice",
    "visibility": "public",
    "description": "Short paragraphs about everyday processes.",
    "licence": "CC0-1.0",
    "reference": "",
    "versions": [1],
    "created": "2026-03-01T09:00:00Z",
    "updated": "2026-03-01T09:00:00Z",
}
_PRF = {"precision": 0.943, "recall": 0.879, "f1": 0.91}
_QUESTIONS = dict.fromkeys(("inputs", "outputs", "conversions", "moves"), _PRF)
REFERENCE = {"metric": "reference-exact", **_PRF, "rounded": _PRF, "questions": _QUESTIONS}
CORRECTED = {"metric": "corrected", **_PRF, "questions": _QUESTIONS}
SUBMISSION: dict[str, Any] = {
    "id": "3f2a9c1d5e7b8a604c21",
    "answer_set": "everyday-processes",
    "version": 1,
    "system": "Careful",
    "description": "",
    "paper": "",
    "link": "",
    "owner": "alice",
    "visibility": "private",
    "state": "scored",
    "source": "uploaded",
    "model": None,
    "kind": "actions",
    "filename": "careful.tsv",
    "file_sha256": "18a9ae87f02e8f185ebe20b82838c5b38af3e9ef7a68b538a24528488856ff8c",
    "repairs": [],
    "agreed_at": None,
    "n_samples": 1,
    "evaluator": "2018.2",
    "scored_at": "2026-03-01T09:00:01Z",
    "reference": REFERENCE,
    "corrected": CORRECTED,
    "progress": None,
    "created": "2026-03-01T09:00:00Z",
}
GENERATING = SUBMISSION | {
    "system": "Demo 5-gram (by surprisal)",
    "state": "generating",
    "source": "generated",
    "model": "demo-ngram",
    "filename": "demo-ngram.tsv",
    "file_sha256": "",
    "evaluator": "",
    "scored_at": None,
    "reference": None,
    "corrected": None,
    "progress": {"state": "queued", "done": 0, "total": 14, "error": ""},
}
_PAIRS = {name: [1.0, 0.5] for name in ("inputs", "outputs", "conversions", "moves")}
PROCESS = {
    "id": 1,
    "f1": 0.667,
    "scores": _PAIRS,
    "corrected": _PAIRS,
    "corrected_f1": 0.667,
    "error": "",
    "mistakes": {"missed-move": 2},
    "warnings": 0,
}
DIGEST = {
    "reference": REFERENCE,
    "corrected": CORRECTED,
    "intervals": None,
    "n_predictions": 1,
    "n_answers": 1,
    "errors": [],
    "warnings": [],
    "warning_counts": {},
    "mistake_counts": {"missed-move": 2},
    "confusion": {"NONE": {"NONE": 10}},
    "processes": [PROCESS],
}
REPORT = {"submission": "3f2a9c1d5e7b8a604c21", "system": "Careful", "report": DIGEST}
EVALUATED = {"kind": "actions", "repairs": [], "scored": True, "report": DIGEST, "processes": []}
DETAIL = {"process_id": 1, "scores": {}, "mistakes": [], "questions": {"moves": {"pairs": [], "missed": []}}}
COMPARED = {
    "processes": 14,
    "f1_difference": 0.265,
    "interval": [0.147, 0.383],
    "p_value": 0.0002,
    "wins": 11,
    "losses": 2,
    "ties": 1,
    "rows": [{"id": 11, "first": 1.0, "second": 0.41, "difference": 0.59}],
}
