"""Who gets what: leaderboard, comparison."""

from __future__ import annotations

from tests.permissions.rooms import OPEN, Row

REDIRECTED = (302, 302, 302, 302, 302, 302)
ROWS: list[Row] = [
    ("GET", "matrix", [], REDIRECTED),
    ("GET", "leaderboard", [], OPEN),
    ("GET", "leaderboard-download", ["csv"], OPEN),
    ("GET", "leaderboard-download", ["exe"], (404, 404, 404, 404, 404, 404)),
    ("POST", "leaderboard-run-missing", [], ("in", 302, 302, 302, 302, 302)),
    ("GET", "compare", [], OPEN),
]
