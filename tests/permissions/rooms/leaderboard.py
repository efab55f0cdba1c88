"""Who gets what: leaderboard, comparison."""

from __future__ import annotations

from tests.permissions.rooms import HIDDEN, MEMBERS, NOT_THERE, OPEN, OWNERS, Row

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
    ("POST", "collection-run-missing", ["paper"], ("in", 302, 302, 302, 302, 302)),
    ("POST", "collection-run-missing", ["in-the-making"], ("in", 404, 404, 404, 302, 302)),
]
ROWS += [
    ("GET", "export-table", ["scores", "csv"], OPEN),
    ("GET", "export-table", ["regions", "parquet"], OPEN),
    ("GET", "export-table", ["regions", "exe"], NOT_THERE),
    ("GET", "export-evaluated", ["public-run"], OPEN),
    ("GET", "export-evaluated", ["private-run"], HIDDEN),
    ("GET", "export-suite", ["public", 1, "blimp.jsonl"], OPEN),
    ("GET", "export-suite", ["private", 1, "lm-eval.zip"], HIDDEN),
    ("GET", "export-suite", ["private", 1, "bib"], HIDDEN),
    ("GET", "export-suite", ["public", 1, "exe"], NOT_THERE),
]


def furnish(people, world) -> None:
    """alice's published and her unpublished collection."""
    from gym.results.collections import make_collection, publish_collection
    from suites.models import SuiteRevision

    revision = SuiteRevision.objects.get(suite__slug="public", number=1)
    for slug in ("paper", "in-the-making"):
        made = make_collection(
            actor=people.alice, slug=slug, title=slug, description="", reference="", revisions=[revision]
        )
        if slug == "paper":
            publish_collection(made, actor=people.alice)


ROWS += [
    ("GET", "collection-list", [], OPEN),
    ("GET", "collection-new", [], MEMBERS),
    ("GET", "collection-detail", ["paper"], OPEN),
    ("GET", "collection-detail", ["in-the-making"], OWNERS),
    ("GET", "collection-edit", ["paper"], ("in", 403, 403, 403, 403, 403)),
    ("GET", "collection-edit", ["in-the-making"], ("in", 404, 404, 404, 200, 200)),
    ("GET", "collection-download", ["paper", "zip"], OPEN),
    ("GET", "collection-download", ["in-the-making", "bib"], OWNERS),
    ("POST", "collection-delete", ["paper"], ("in", 403, 403, 403, 403, 403)),
    ("POST", "collection-publish", ["paper"], ("in", 403, 403, 403, 403, 403)),
]
FORMS = ("collection-new", "collection-edit")
