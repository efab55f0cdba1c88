"""Permissions: suites, drafts, sharing."""

from __future__ import annotations

from lmgym.suites.intake.archives import SourceFile
from suites.imports import ImportOptions, import_files
from suites.services import set_visibility
from tests.factories import make_suite
from tests.permissions.sections import (
    EDITORS,
    EDITORS_ACT,
    HIDDEN,
    INCOMPLETE,
    INCOMPLETE_EDITORS,
    INCOMPLETE_OPEN,
    MEMBERS,
    OPEN,
    Row,
    share,
)

ROWS: list[Row] = [
    ("GET", "suite-list", [], OPEN),
    ("GET", "suite-import", [], MEMBERS),
    ("POST", "suite-import", [], INCOMPLETE),
    ("GET", "suite-import-report", ["alices-import"], ("in", 404, 404, 404, 200, 404)),
    ("POST", "suite-import-report", ["alices-import"], ("in", 404, 404, 404, 302, 404)),
    ("POST", "suite-import-reading", ["alices-import"], ("in", 404, 404, 404, 200, 404)),
    ("GET", "several-suites", [], ("in", 302, 302, 302, 302, 302)),  # nothing is ticked
    ("POST", "several-suites", [], ("in", 302, 302, 302, 302, 302)),
    ("GET", "suite-new", [], MEMBERS),
    ("POST", "suite-new", [], INCOMPLETE),
    ("GET", "suite-copy", ["private"], ("in", 404, 200, 200, 200, 200)),
    ("POST", "suite-copy", ["private"], ("in", 404, 400, 400, 400, 400)),
    ("GET", "suite-copy", ["public"], MEMBERS),
    ("POST", "suite-copy", ["public"], INCOMPLETE),
    ("GET", "suite-diff", ["private", 1, 1], HIDDEN),
    ("GET", "suite-diff", ["public", 1, 1], OPEN),
    ("GET", "suite-diff", ["public", 1, 9], (404, 404, 404, 404, 404, 404)),
    ("GET", "suite-detail", ["private"], HIDDEN),
    ("GET", "suite-detail", ["public"], OPEN),
    ("GET", "suite-detail", ["unlisted"], OPEN),
    ("GET", "suite-edit", ["private"], EDITORS),
    ("POST", "suite-edit", ["private"], INCOMPLETE_EDITORS),
    ("GET", "suite-edit", ["public"], ("in", 403, 403, 403, 200, 200)),
    ("POST", "suite-edit", ["public"], INCOMPLETE_OPEN),
    ("GET", "suite-upload", ["private"], EDITORS),
    ("POST", "suite-upload", ["private"], INCOMPLETE_EDITORS),
    ("GET", "suite-upload", ["public"], ("in", 403, 403, 403, 200, 200)),
    ("POST", "suite-upload", ["public"], INCOMPLETE_OPEN),
    ("POST", "suite-freeze", ["private"], EDITORS_ACT),
    ("POST", "suite-freeze", ["public"], ("in", 403, 403, 403, 302, 302)),
    ("POST", "suite-discard-draft", ["private"], EDITORS_ACT),
    ("GET", "suite-freeze", ["drafted"], EDITORS),
    ("GET", "suite-editor", ["drafted"], EDITORS),
    ("GET", "suite-editor", ["public"], ("in", 403, 403, 403, 200, 200)),
    ("POST", "suite-editor", ["drafted"], EDITORS_ACT),
    ("POST", "suite-pasted-sheet", ["private"], EDITORS),  # returns the open questions about the sheet
    ("POST", "suite-pasted-sheet", ["public"], ("in", 403, 403, 403, 200, 200)),
    ("GET", "suite-history", ["drafted"], EDITORS),
    ("GET", "suite-history", ["public"], ("in", 403, 403, 403, 200, 200)),
    ("GET", "suite-past", ["drafted", 0], EDITORS),
    ("POST", "suite-past", ["drafted", 0], INCOMPLETE_EDITORS),
    ("POST", "suite-delete", ["private"], ("in", 404, 403, 403, 302, 302)),
    ("GET", "suite-people", ["private"], ("in", 404, 200, 200, 200, 200)),
    ("POST", "suite-people", ["private"], ("in", 404, 403, 403, 400, 400)),
    ("GET", "suite-people", ["public"], ("in", 403, 403, 403, 200, 200)),
    ("POST", "suite-people", ["public"], INCOMPLETE_OPEN),
    ("POST", "suite-collaborator-role", ["private", "bobs-role"], ("in", 404, 403, 403, 302, 302)),
    ("POST", "suite-invitation-withdraw", ["private", 999_999], ("in", 404, 403, 403, 404, 404)),
    ("POST", "suite-new-address", ["private"], EDITORS_ACT),
    ("POST", "suite-new-address", ["public"], ("in", 403, 403, 403, 302, 302)),
    ("GET", "suite-revision", ["private", 1], HIDDEN),
    ("GET", "suite-under-way", ["private"], HIDDEN),
    ("GET", "suite-under-way", ["public"], OPEN),
    ("GET", "suite-items", ["private", 1], HIDDEN),
    ("GET", "suite-errata", ["private", 1], EDITORS),
    ("POST", "suite-errata", ["private", 1], EDITORS_ACT),
    ("GET", "suite-download", ["private", 1, "json"], HIDDEN),
    ("GET", "suite-download", ["public", 1, "csv"], OPEN),
    ("GET", "suite-download", ["public", 1, "exe"], (404, 404, 404, 404, 404, 404)),
]
WITHDRAWN = (410, 410, 307, 307, 307, 307)  # public once and unlisted now: a former address
WITHDRAWN_IN = ("in", 410, 307, 307, 307, 307)
ROWS += [
    ("GET", "suite-detail", ["withdrawn"], WITHDRAWN),
    ("GET", "suite-revision", ["withdrawn", 1], WITHDRAWN),
    ("GET", "suite-items", ["withdrawn", 1], WITHDRAWN),
    ("GET", "suite-download", ["withdrawn", 1, "json"], WITHDRAWN),
    ("GET", "suite-diff", ["withdrawn", 1, 1], WITHDRAWN),
    ("GET", "suite-edit", ["withdrawn"], WITHDRAWN_IN),
    ("GET", "suite-people", ["withdrawn"], WITHDRAWN_IN),
    ("GET", "suite-detail", ["closed"], (410, 410, 200, 200, 200, 200)),
    ("GET", "export-suite", ["withdrawn", 1, "bib"], WITHDRAWN),
    ("GET", "api-suite", ["withdrawn"], WITHDRAWN),
    ("PATCH", "api-suite", ["withdrawn"], (401, 410, 307, 307, 307, 307)),
    ("GET", "api-revision", ["withdrawn", 1], WITHDRAWN),
    ("GET", "api-export", ["withdrawn", 1, "csv"], WITHDRAWN),
    ("GET", "api-diff", ["withdrawn", 1, 1], WITHDRAWN),
]


def add_objects(people, world) -> None:
    """Create two suites that alice made public and then hid: one is unlisted now, the other private."""
    for name, visibility in (("withdrawn", "unlisted"), ("closed", "private")):
        suite = make_suite(people.alice, name=name)
        share(suite, people)
        set_visibility(suite, visibility, actor=people.alice)
    world["alices-import"] = import_files(
        [SourceFile("x.json", b"{")], ImportOptions(), actor=people.alice
    ).key


LAST: list[Row] = [
    ("POST", "suite-collaborator-remove", ["private", "bobs-role"], ("in", 404, 403, 403, 302, 302)),
    ("POST", "suite-leave", ["private"], ("in", 404, 302, 302, 403, 403)),
]
