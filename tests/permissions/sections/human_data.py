"""Permissions: human data, their imports, and comparisons of models with them. alice owns the data; dora may view and
bob may edit the private ones."""

from __future__ import annotations

from gym.jobs.models import Job
from gym.jobs.testing import run_pending
from gym.people import services
from gym.people.models import PeopleComparison
from tests.human_data.experiments import finished_run, import_file, make_revision, results_file
from tests.permissions.sections import (
    EDITORS,
    HIDDEN,
    INCOMPLETE,
    INCOMPLETE_EDITORS,
    MEMBERS,
    OPEN,
    OWNER,
    Row,
    leaving_rows,
    people_rows,
    share,
)

MINE = ("in", 404, 404, 404, 200, 404)
ONE = ["private-data"]
RESULT = ["private-data", "private-comparison"]
API_MINE = (401, 404, 404, 404, 200, 404)

ROWS: list[Row] = [
    ("GET", "human-data-list", [], OPEN),
    ("GET", "human-data", ["public-data"], OPEN),
    ("GET", "human-data", ONE, HIDDEN),
    ("GET", "human-data-new", ["public", 1], MEMBERS),
    ("POST", "human-data-new", ["public", 1], INCOMPLETE),
    ("GET", "human-data-new", ["private", 1], ("in", 404, 200, 200, 200, 200)),
    ("GET", "human-data-import", ["waiting-file"], MINE),
    ("POST", "human-data-import", ["waiting-file"], ("in", 404, 404, 404, 400, 404)),
    ("POST", "human-data-import-reading", ["waiting-file"], MINE),
    ("GET", "human-data-progress", ONE, (404, 404, 286, 286, 286, 286)),
    ("GET", "human-data-edit", ONE, EDITORS),
    ("POST", "human-data-edit", ONE, INCOMPLETE_EDITORS),
    ("GET", "human-data-visibility", ONE, OWNER),
    ("POST", "human-data-visibility", ONE, ("in", 404, 403, 403, 400, 400)),
    ("POST", "human-data", ONE, (404, 404, 403, 400, 400, 400)),
    ("POST", "human-data", ["public-data"], ("in", 403, 403, 403, 400, 400)),
    ("GET", "human-data-item", ["private-data", 1], HIDDEN),
    ("GET", "human-data-item", ["private-data", 999], (404, 404, 404, 404, 404, 404)),
    ("GET", "human-data-download", ["private-data", "csv"], HIDDEN),
    ("GET", "human-data-download", ["public-data", "csv"], OPEN),
    ("GET", "human-data-models", ONE, HIDDEN),
    ("POST", "human-data-models", ONE, (404, 404, 400, 400, 400, 400)),
    ("POST", "human-data-models", ["public-data"], ("in", 400, 400, 400, 400, 400)),
    ("GET", "human-data-models-result", RESULT, HIDDEN),
    ("GET", "human-data-models-download", [*RESULT, "gains", "csv"], HIDDEN),
    *people_rows("human-data", "api-human-data", "private-data", "public-data", "bobs-data-role"),
    ("GET", "api-human-data-list", [], OPEN),
    ("POST", "api-human-data-list", [], (401, 400, 400, 400, 400, 400)),
    ("GET", "api-human-data", ONE, HIDDEN),
    ("GET", "api-human-data-import", ["waiting-file"], API_MINE),
    ("GET", "api-human-data-observations", ["private-data", "csv"], HIDDEN),
    ("GET", "api-human-data-comparisons", ONE, HIDDEN),
    ("POST", "api-human-data-comparisons", ONE, (401, 404, 400, 400, 400, 400)),
    ("GET", "api-human-data-comparison", RESULT, HIDDEN),
    ("GET", "api-human-data-comparison-table", [*RESULT, "gains", "csv"], HIDDEN),
]
LAST: list[Row] = [
    *leaving_rows("human-data", "api-human-data", "private-data", "bobs-data-role"),
    ("POST", "human-data-import-delete", ["waiting-file"], ("in", 404, 404, 404, 302, 404)),
    (
        "POST",
        "human-data-models-delete",
        ["public-data", "public-comparison"],
        ("in", 403, 403, 403, 302, 302),
    ),
    ("DELETE", "api-human-data", ["api-bin-data"], (401, 403, 403, 403, 204, 204)),
    ("POST", "human-data-delete", ["public-data"], ("in", 403, 403, 403, 302, 302)),
]


def add_objects(people, world) -> None:
    """Import a private and two public data sets, compare a model with them, and leave a file with open questions."""
    revision = make_revision(people.alice)
    run = finished_run(revision, people.alice)
    for name in ("private", "public", "api-bin"):
        data = import_file(revision, people.alice)
        world[f"{name}-data"] = data.slug
        comparison = services.start_comparison(data, [run], actor=people.alice)
        world[f"{name}-comparison"] = comparison.key
        if name == "private":
            share(data, people)
            world["bobs-data-role"] = data.collaborations.get(user=people.bob).pk
        else:
            services.set_visibility(data, "public", actor=people.alice, confirmed=True)
    compared = PeopleComparison.objects.values("job")
    Job.objects.filter(pk__in=compared).update(
        queue="short"
    )  # other sections leave jobs in the default queue
    run_pending("short")
    world["waiting-file"] = services.upload(revision, results_file(), "waiting.csv", actor=people.alice).key
