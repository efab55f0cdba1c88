"""Permissions: leaderboard, comparison."""

from __future__ import annotations

from tests.permissions.sections import (
    API_EDITORS,
    EDITORS,
    EDITORS_ACT,
    HIDDEN,
    INCOMPLETE,
    INCOMPLETE_EDITORS,
    INCOMPLETE_MINE,
    MEMBERS,
    NOT_FOUND,
    OPEN,
    OWNER_ACTS,
    OWNERS,
    Row,
    leaving_rows,
    people_rows,
    share,
)

ROWS: list[Row] = [
    ("GET", "leaderboard", [], OPEN),
    ("GET", "leaderboard-download", ["csv"], OPEN),
    ("GET", "leaderboard-download", ["exe"], NOT_FOUND),
    ("GET", "compare", [], OPEN),
    ("GET", "figure", ["leaderboard-heat", "svg"], OPEN),
    ("GET", "figure", ["leaderboard-scores", "pdf"], OPEN),
    ("GET", "figure", ["run-regions", "svg"], NOT_FOUND),
    ("GET", "figure", ["nothing-like-it", "svg"], NOT_FOUND),
    ("GET", "paper", ["leaderboard", "tex"], OPEN),
    ("GET", "paper", ["run-predictions", "md"], NOT_FOUND),
    ("GET", "paper", ["leaderboard-methods", "tex"], OPEN),
    ("GET", "paper", ["run-methods", "bib"], NOT_FOUND),
    ("GET", "paper", ["nothing-like-it", "tex"], NOT_FOUND),
]
NO_MODELS = (400, 400, 400, 400, 400, 400)  # no models are named
ROWS += [
    ("GET", "api-compare", [], NO_MODELS),
    ("GET", "api-compare-suite", ["public"], NO_MODELS),
    ("GET", "api-compare-items", ["private"], NO_MODELS),
]
# Queues runs on all suites that the user sees, so it comes after the rows that delete suites.
LAST: list[Row] = [
    ("POST", "leaderboard-run-missing", [], ("in", 302, 302, 302, 302, 302)),
    ("POST", "collection-run-missing", ["paper"], ("in", 302, 302, 302, 302, 302)),
    ("POST", "collection-run-missing", ["in-the-making"], ("in", 404, 404, 404, 302, 302)),
    ("POST", "api-run-missing", [], (401, 201, 201, 201, 201, 201)),
    ("DELETE", "api-collection-suite", ["in-the-making", "public", 1], (401, 404, 404, 404, 204, 204)),
    ("POST", "api-collection-publish", ["in-the-making"], (401, 404, 404, 404, 400, 400)),  # empty now
    ("DELETE", "api-collection", ["in-the-making"], (401, 404, 404, 404, 204, 204)),
    ("DELETE", "api-collection-suite", ["shared-list", "public", 1], (401, 404, 403, 204, 204, 204)),
    ("POST", "collection-human-data", ["shared-list"], EDITORS_ACT),
    ("POST", "collection-publish", ["shared-list"], OWNER_ACTS),  # empty now; a message explains
]
ROWS += [
    ("GET", "export-table", ["scores", "csv"], OPEN),
    ("GET", "export-table", ["regions", "parquet"], OPEN),
    ("GET", "export-table", ["regions", "exe"], NOT_FOUND),
    ("GET", "export-evaluated", ["public-run"], OPEN),
    ("GET", "export-evaluated", ["private-run"], HIDDEN),
    ("GET", "export-suite", ["public", 1, "blimp.jsonl"], OPEN),
    ("GET", "export-suite", ["private", 1, "lm-eval.zip"], HIDDEN),
    ("GET", "export-suite", ["private", 1, "inspect-ai.zip"], HIDDEN),
    ("GET", "export-suite", ["private", 1, "bib"], HIDDEN),
    ("GET", "export-suite", ["public", 1, "exe"], NOT_FOUND),
]


def add_objects(people, world) -> None:
    """Create alice's published collection, an unpublished one, and two for dora to view and bob to edit."""
    from gym.collections.services import create_collection, publish_collection
    from suites.models import SuiteRevision

    revision = SuiteRevision.objects.get(suite__slug="public", number=1)
    for slug in ("paper", "in-the-making", "shared-list", "another-list"):
        made = create_collection(
            actor=people.alice, slug=slug, title=slug, description="", reference="", revisions=[revision]
        )
        if slug == "paper":
            publish_collection(made, actor=people.alice)
        if slug in ("shared-list", "another-list"):
            share(made, people)
            role = "bobs-list-role" if slug == "shared-list" else "bobs-other-list-role"
            world[role] = made.collaborations.get(user=people.bob).pk


ROWS += [
    ("GET", "collection-list", [], OPEN),
    ("GET", "collection-new", [], MEMBERS),
    ("POST", "collection-new", [], INCOMPLETE),
    ("GET", "collection-detail", ["paper"], OPEN),
    ("GET", "collection-detail", ["in-the-making"], OWNERS),
    ("GET", "collection-edit", ["paper"], ("in", 403, 403, 403, 403, 403)),
    ("POST", "collection-edit", ["paper"], ("in", 403, 403, 403, 403, 403)),
    ("GET", "collection-edit", ["in-the-making"], ("in", 404, 404, 404, 200, 200)),
    ("POST", "collection-edit", ["in-the-making"], INCOMPLETE_MINE),
    ("GET", "collection-download", ["paper", "zip"], (302,) * 6),  # created by a job; redirects to its page
    ("GET", "collection-zip", ["paper"], OPEN),
    ("GET", "collection-zip", ["in-the-making"], OWNERS),
    ("POST", "collection-zip", ["paper"], (302,) * 6),
    ("POST", "collection-zip", ["in-the-making"], (404, 404, 404, 404, 302, 302)),
    ("GET", "collection-download", ["in-the-making", "bib"], OWNERS),
    ("POST", "collection-delete", ["paper"], ("in", 403, 403, 403, 403, 403)),
    ("GET", "collection-publish", ["paper"], ("in", 403, 403, 403, 403, 403)),
    ("POST", "collection-publish", ["paper"], ("in", 403, 403, 403, 403, 403)),
    ("GET", "collection-publish", ["in-the-making"], ("in", 404, 404, 404, 200, 200)),
    ("GET", "collection-publish", ["shared-list"], ("in", 404, 403, 403, 200, 200)),
]
ROWS += [
    ("GET", "api-collections", [], OPEN),
    ("POST", "api-collections", [], (401, 400, 400, 400, 400, 400)),
    ("GET", "api-collection", ["paper"], OPEN),
    ("GET", "api-collection", ["in-the-making"], OWNERS),
    ("PATCH", "api-collection", ["paper"], (401, 403, 403, 403, 403, 403)),
    ("PATCH", "api-collection", ["in-the-making"], (401, 404, 404, 404, 200, 200)),
    ("DELETE", "api-collection", ["paper"], (401, 403, 403, 403, 403, 403)),
    ("POST", "api-collection-suites", ["paper"], (401, 403, 403, 403, 403, 403)),
    ("POST", "api-collection-suites", ["in-the-making"], (401, 404, 404, 404, 400, 400)),
    ("DELETE", "api-collection-suite", ["paper", "public", 1], (401, 403, 403, 403, 403, 403)),
    ("DELETE", "api-collection-suite", ["in-the-making", "public", 9], (401, 404, 404, 404, 404, 404)),
    ("POST", "api-collection-publish", ["paper"], (401, 403, 403, 403, 403, 403)),
    ("GET", "api-collection-file", ["paper", "zip"], (202,) * 6),
    ("GET", "api-collection-file", ["paper", "json"], OPEN),
    ("GET", "api-collection-file", ["in-the-making", "zip"], (404, 404, 404, 404, 202, 202)),
    ("GET", "api-collection-file", ["paper", "exe"], NOT_FOUND),
    ("GET", "api-collection-file", ["in-the-making", "bib"], OWNERS),
    ("GET", "api-table", ["scores", "csv"], OPEN),
    ("GET", "api-table", ["tokens", "parquet"], OPEN),
    ("GET", "api-table", ["tokens", "exe"], NOT_FOUND),
    ("GET", "api-run-evaluated", ["public-run"], OPEN),
    ("GET", "api-run-evaluated", ["private-run"], HIDDEN),
]
ROWS += [
    ("GET", "collection-detail", ["shared-list"], HIDDEN),
    ("GET", "collection-edit", ["shared-list"], EDITORS),
    ("POST", "collection-edit", ["shared-list"], INCOMPLETE_EDITORS),
    ("GET", "collection-download", ["shared-list", "bib"], HIDDEN),
    ("GET", "api-collection", ["shared-list"], HIDDEN),
    ("PATCH", "api-collection", ["shared-list"], API_EDITORS),
    ("POST", "api-collection-suites", ["shared-list"], (401, 404, 403, 400, 400, 400)),
    ("GET", "api-collection-file", ["shared-list", "bib"], HIDDEN),
    *people_rows("collection", "api-collection", "shared-list", "paper", "bobs-list-role"),
]
LAST += [
    *leaving_rows("collection", "api-collection", "another-list", "bobs-other-list-role"),
]
