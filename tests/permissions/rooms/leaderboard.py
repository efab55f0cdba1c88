"""Who gets what: leaderboard, comparison."""

from __future__ import annotations

from tests.permissions.rooms import OPEN, Row

REDIRECTED = (302, 302, 302, 302, 302, 302)
ROWS: list[Row] = [
    ("GET", "matrix", [], REDIRECTED),
    ("GET", "leaderboard", [], OPEN),
    ("GET", "leaderboard-download", ["csv"], OPEN),
    ("GET", "leaderboard-download", ["exe"], (404, 404, 404, 404, 404, 404)),
    ("GET", "compare", [], OPEN),
]
# Queues runs on everything its sender sees, so it comes after what deletes suites.
LAST: list[Row] = [
    ("POST", "leaderboard-run-missing", [], ("in", 302, 302, 302, 302, 302)),
]
