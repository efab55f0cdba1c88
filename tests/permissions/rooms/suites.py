"""Who gets what: suites, drafts, sharing."""

from __future__ import annotations

from tests.permissions.rooms import EDITORS, EDITORS_ACT, EDITORS_JSON, HIDDEN, MEMBERS, OPEN, Row

ROWS: list[Row] = [
    ("GET", "suite-list", [], OPEN),
    ("GET", "suite-import", [], MEMBERS),
    ("GET", "suite-new", [], MEMBERS),
    ("GET", "suite-copy", ["private"], ("in", 404, 200, 200, 200, 200)),
    ("GET", "suite-copy", ["public"], MEMBERS),
    ("GET", "suite-diff", ["private", 1, 1], HIDDEN),
    ("GET", "suite-diff", ["public", 1, 1], OPEN),
    ("GET", "suite-diff", ["public", 1, 9], (404, 404, 404, 404, 404, 404)),
    ("POST", "suite-formula", [], (401, 400, 400, 400, 400, 400)),
    ("GET", "suite-detail", ["private"], HIDDEN),
    ("GET", "suite-detail", ["public"], OPEN),
    ("GET", "suite-detail", ["unlisted"], OPEN),
    ("GET", "suite-edit", ["private"], EDITORS),
    ("GET", "suite-edit", ["public"], ("in", 403, 403, 403, 200, 200)),
    ("GET", "suite-upload", ["private"], EDITORS),
    ("GET", "suite-upload", ["public"], ("in", 403, 403, 403, 200, 200)),
    ("POST", "suite-freeze", ["private"], EDITORS_ACT),
    ("POST", "suite-freeze", ["public"], ("in", 403, 403, 403, 302, 302)),
    ("POST", "suite-discard-draft", ["private"], EDITORS_ACT),
    ("GET", "suite-freeze", ["drafted"], EDITORS),
    ("GET", "suite-editor", ["drafted"], EDITORS),
    ("GET", "suite-editor", ["public"], ("in", 403, 403, 403, 200, 200)),
    ("GET", "suite-edit-text", ["drafted"], EDITORS),
    ("GET", "suite-draft", ["drafted"], EDITORS_JSON),
    ("GET", "suite-draft", ["public"], (401, 403, 403, 403, 200, 200)),
    ("PATCH", "suite-draft", ["drafted"], (401, 404, 403, 400, 400, 400)),
    ("POST", "suite-lint", ["drafted"], EDITORS_JSON),
    ("POST", "suite-delete", ["private"], ("in", 404, 403, 403, 302, 302)),
    ("GET", "suite-people", ["private"], ("in", 404, 200, 200, 200, 200)),
    ("GET", "suite-people", ["public"], ("in", 403, 403, 403, 200, 200)),
    ("POST", "suite-collaborator-role", ["private", "bobs-role"], ("in", 404, 403, 403, 302, 302)),
    ("POST", "suite-new-address", ["private"], EDITORS_ACT),
    ("POST", "suite-new-address", ["public"], ("in", 403, 403, 403, 302, 302)),
    ("GET", "suite-revision", ["private", 1], HIDDEN),
    ("GET", "suite-items", ["private", 1], HIDDEN),
    ("GET", "suite-errata", ["private", 1], EDITORS),
    ("GET", "suite-download", ["private", 1, "json"], HIDDEN),
    ("GET", "suite-download", ["public", 1, "csv"], OPEN),
    ("GET", "suite-download", ["public", 1, "exe"], (404, 404, 404, 404, 404, 404)),
]
LAST: list[Row] = [
    ("POST", "suite-collaborator-remove", ["private", "bobs-role"], ("in", 404, 403, 403, 302, 302)),
    ("POST", "suite-leave", ["private"], ("in", 404, 302, 302, 403, 403)),
]
FORMS = (
    "suite-import",
    "suite-edit",
    "suite-errata",
    "suite-upload",
    "suite-new",
    "suite-copy",
    "suite-freeze",
    "suite-people",
)
