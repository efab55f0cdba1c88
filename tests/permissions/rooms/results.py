"""Who gets what: runs, uploaded results."""

from __future__ import annotations

from tests.permissions.rooms import FILL, HIDDEN, MEMBERS, OPEN, Row

ROWS: list[Row] = [
    ("POST", "suite-preview", ["drafted"], (401, 404, 403, 400, 400, 400)),
    ("POST", "suite-preview", ["public"], (401, 403, 403, 403, 400, 400)),
    ("GET", "run-list", [], OPEN),
    ("GET", "results-upload", [], MEMBERS),
    ("POST", "results-upload", [], FILL),
    ("GET", "suite-results-upload", ["public", 1], MEMBERS),
    ("GET", "suite-results-upload", ["private", 1], ("in", 404, 200, 200, 200, 200)),
    ("POST", "suite-results-upload", ["private", 1], ("in", 404, 400, 400, 400, 400)),
    ("GET", "upload-report", ["upload"], ("in", 404, 404, 404, 200, 200)),
    ("POST", "upload-delete", ["upload-bin"], ("in", 404, 404, 404, 302, 302)),
    ("GET", "run-detail", ["uploaded-run"], OPEN),
    ("GET", "run-item", ["uploaded-run", 1], OPEN),
    ("GET", "run-chart", ["uploaded-run"], (404, 404, 404, 404, 404, 404)),
    ("POST", "run-start", [], ("in", 404, 404, 404, 404, 404)),
    ("GET", "run-detail", ["public-run"], OPEN),
    ("GET", "run-detail", ["private-run"], HIDDEN),
    ("GET", "run-detail", ["secret-run"], (404, 404, 404, 404, 200, 200)),
    ("GET", "run-progress", ["private-run"], (404, 404, 286, 286, 286, 286)),
    ("GET", "run-item", ["private-run", 1], HIDDEN),
    ("GET", "run-chart", ["private-run"], HIDDEN),
    ("GET", "run-download", ["private-run", "json"], HIDDEN),
    ("POST", "run-cancel", ["public-run"], ("in", 403, 403, 403, 302, 302)),
    ("POST", "run-cancel", ["private-run"], ("in", 404, 403, 403, 302, 302)),
    ("POST", "run-retry", ["public-run"], ("in", 403, 403, 403, 302, 302)),
]
LAST: list[Row] = [
    ("POST", "run-delete", ["public-run"], ("in", 403, 403, 403, 302, 302)),
    ("POST", "run-delete", ["private-run"], ("in", 404, 403, 403, 302, 302)),
    ("GET", "run-detail", ["public-run"], OPEN),  # a published collection shows it
    ("GET", "api-run", ["public-run"], OPEN),
    ("POST", "run-delete", ["loose-run"], ("in", 403, 403, 403, 302, 302)),
    ("GET", "run-detail", ["loose-run"], (200, 200, 200, 200, 410, 410)),
    ("GET", "api-run", ["loose-run"], (200, 200, 200, 200, 410, 410)),
    ("GET", "run-detail", ["private-run"], (404, 404, 200, 200, 404, 404)),
]
