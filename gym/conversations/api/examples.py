"""How things look; the descriptions of the operations show them."""

from __future__ import annotations

from typing import Any

AGENT: dict[str, Any] = {
    "id": "demo-agents",
    "name": "Embedded agents",
    "kind": "embedded",
    "state": "ready",
    "version": "1.0",
    "agents": ["echo"],
}
AGENT_DETAIL = AGENT | {
    "owner": "alice",
    "visibility": "public",
    "description": "",
    "state_reason": "",
    "checked_at": "2026-03-01T09:00:00Z",
    "listed": [{"agent_name": "echo", "description": "Says it again.", "tags": []}],
    "graphs": {"echo": []},
    "url": None,
    "chat_model": "",
    "wraps": None,
    "secret_headers": None,
}
NEW_AGENT = {
    "kind": "server",
    "name": "Our assistant",
    "url": "https://agents.example.org:8080",
    "secret_headers": {"Authorization": "Bearer …"},
}
SUITE: dict[str, Any] = {
    "id": "manners",
    "title": "Manners",
    "visibility": "public",
    "description": "",
    "owner": "alice",
}
SUITE_DETAIL = SUITE | {
    "judge": None,
    "judge_agent": "",
    "judge_votes": 1,
    "variables": None,
    "n_cases": 1,
    "n_runs": 1,
    "created": "2026-03-01T09:00:00Z",
    "updated": "2026-03-01T09:00:00Z",
}
NEW_SUITE = {"title": "Manners", "visibility": "public", "variables": {"API_KEY": "…"}}
TEXT = "agent: echo\ninteractions: [{text: hello, response: {text: {keywords: hello}}}]\n"
CASE: dict[str, Any] = {"id": 7, "name": "hello", "agent": "echo"}
FINDING = {
    "severity": "warning",
    "code": "unknown-key",
    "where": "interactions[0]",
    "line": 2,
    "column": 1,
    "message": "There is no key “respones”.",
    "hint": "",
}
CASE_RUN = {
    "id": 31,
    "name": "hello",
    "agent": "echo",
    "outcome": "pass",
    "passed": 3,
    "made": 3,
    "errors": 0,
    "needed": 3,
    "asked": 3,
    "checks_made": 3,
    "error": "",
}
HISTORY = {
    "run": "3f2a9c1d5e7b8a604c21",
    "agent": "demo-agents",
    "created": "2026-03-01T09:00:00Z",
    "version": "neuro-san 0.7.15",
    "outcome": "pass",
    "passed": 3,
    "made": 3,
    "errors": 0,
}
CASE_DETAIL = CASE | {"text": TEXT, "findings": [], "flaky": False, "history": [HISTORY]}
AT_K = {
    "k": 1, "any": 1.0, "any_low": 0.4385, "any_high": 1.0, "all": 1.0, "all_low": 0.4385, "all_high": 1.0,
    "cases": 1, "of": 1,
}  # fmt: skip
RUN: dict[str, Any] = {
    "id": "3f2a9c1d5e7b8a604c21",
    "suite": "manners",
    "agent": "demo-agents",
    "versions": ["neuro-san 0.7.15"],
    "state": "done",
    "job": "0b9f6a4e-5a0e-4d8b-9c3f-6f1f3f0c2a77",
    "options": {"reading": "document", "early_stop": False, "parallel": 4},
    "rescored_from": None,
    "created": "2026-03-01T09:00:00Z",
    "completed_at": "2026-03-01T09:00:04Z",
    "cases": [CASE_RUN],
    "at_k": [AT_K],
}
EVIDENCE = {"passed": 3, "n": 3, "errors": 0, "rate": 1.0, "low": 0.4385, "high": 1.0}
CELL = EVIDENCE | {
    "agent": "demo-agents",
    "run": "3f2a9c1d5e7b8a604c21",
    "version": "neuro-san 0.7.15",
    "outcome": "pass",
    "flaky": False,
    "verdict": "all passed so far; rates below 0.44 are excluded",
    "early_stop": False,
}
MATRIX = {"agents": ["demo-agents"], "rows": [{"case": "hello", "cells": [CELL]}]}
CASE_RESULT: dict[str, Any] = {
    "run": "3f2a9c1d5e7b8a604c21",
    "id": 31,
    "name": "hello",
    "text": TEXT,
    "verdict": "all passed so far; rates below 0.44 are excluded",
    "at_k": [AT_K],
    "checks": [
        {
            "interaction": 0,
            "where": "response.text",
            "test": "keywords",
            "passed": 3,
            "made": 3,
            "errors": 0,
            "skipped": 0,
        }
    ],
    "result": {"agent": "echo", "outcome": "pass", "iterations": []},
}
SIDE = {"passed": 3, "made": 3, "errors": 0, "outcome": "pass"}
COMPARED = {
    "first": "3f2a9c1d5e7b8a604c21",
    "second": "8b1c2d3e4f5a6b7c8d9e",
    "first_versions": ["neuro-san 0.7.15"],
    "second_versions": ["neuro-san 0.7.15", "neuro-san 0.7.16"],
    "total": {
        "first": [3, 3],
        "second": [2, 3],
        "errors": [0, 0],
        "difference": -0.3333,
        "p": 1.0,
        "test": "Fisher's exact test, two-sided",
        "changed": None,
    },
    "cases": [
        {
            "name": "hello",
            "first": SIDE,
            "second": SIDE | {"passed": 2, "outcome": "fail"},
            "difference": -0.3333,
            "p": 1.0,
            "test": "Fisher's exact test, two-sided",
            "same_text": True,
        }
    ],
}
