"""Who gets what: leaderboard, comparison."""

from __future__ import annotations

from tests.permissions.rooms import NOT_THERE, OPEN, Row

REDIRECTED = (302, 302, 302, 302, 302, 302)
ROWS: list[Row] = [
    ("GET", "matrix", [], REDIRECTED),
    ("GET", "leaderboard", [], OPEN),
    ("GET", "leaderboard-download", ["csv"], OPEN),
    ("GET", "leaderboard-download", ["exe"], NOT_THERE),
    ("GET", "compare", [], OPEN),
    ("GET", "figure", ["leaderboard-heat", "svg"], OPEN),
    ("GET", "figure", ["leaderboard-scores", "pdf"], OPEN),
    ("GET", "figure", ["run-regions", "svg"], NOT_THERE),
    ("GET", "figure", ["nothing-like-it", "svg"], NOT_THERE),
]
# Queues runs on everything its sender sees, so it comes after what deletes suites.
LAST: list[Row] = [
    ("POST", "leaderboard-run-missing", [], ("in", 302, 302, 302, 302, 302)),
]
