"""Permissions: runs, uploaded results."""

from __future__ import annotations

from gym.runs.models import SuiteRun
from suites.services import new_secret_address
from tests.factories import make_model, make_revision
from tests.permissions.sections import HIDDEN, INCOMPLETE, MEMBERS, OPEN, Row

ROWS: list[Row] = [
    ("GET", "run-list", [], OPEN),
    ("GET", "results-upload", [], MEMBERS),
    ("POST", "results-upload", [], INCOMPLETE),
    ("GET", "suite-results-upload", ["public", 1], MEMBERS),
    ("GET", "suite-results-upload", ["private", 1], ("in", 404, 200, 200, 200, 200)),
    ("POST", "suite-results-upload", ["private", 1], ("in", 404, 400, 400, 400, 400)),
    ("GET", "upload-report", ["upload"], ("in", 404, 404, 404, 200, 200)),
    ("POST", "upload-retry", ["upload"], ("in", 404, 404, 404, 302, 302)),
    ("POST", "upload-delete", ["upload-bin"], ("in", 404, 404, 404, 302, 302)),
    ("GET", "run-detail", ["uploaded-run"], OPEN),
    ("GET", "run-item", ["uploaded-run", 1], OPEN),
    ("GET", "run-chart", ["uploaded-run"], (404, 404, 404, 404, 404, 404)),
    ("GET", "run-start", ["public", 1], MEMBERS),
    ("GET", "run-start", ["private", 1], ("in", 404, 200, 200, 200, 200)),
    ("POST", "run-start", ["private", 1], ("in", 404, 400, 400, 400, 400)),
    ("GET", "runs-change", ["delete"], ("in", 200, 200, 200, 200, 200)),
    ("GET", "runs-change", ["burn"], ("in", 404, 404, 404, 404, 404)),
    ("POST", "runs-change", ["cancel"], ("in", 302, 302, 302, 409, 409)),  # runs that its page did not show
    ("GET", "run-detail", ["public-run"], OPEN),
    ("GET", "run-detail", ["private-run"], HIDDEN),
    ("GET", "run-detail", ["secret-run"], (404, 404, 404, 404, 200, 200)),
    ("GET", "run-progress", ["private-run"], (404, 404, 286, 286, 286, 286)),
    ("GET", "run-item", ["private-run", 1], HIDDEN),
    ("GET", "run-chart", ["private-run"], HIDDEN),
    ("GET", "run-download", ["private-run", "json"], HIDDEN),
    ("GET", "run-detail", ["unlisted-run"], OPEN),
    ("GET", "run-detail", ["run-before-renewal"], (404, 404, 302, 302, 302, 302)),
    ("GET", "run-progress", ["run-before-renewal"], (404, 404, 286, 286, 286, 286)),
    ("GET", "api-run", ["run-before-renewal"], HIDDEN),
    ("POST", "run-retry", ["run-before-renewal"], ("in", 404, 403, 403, 302, 302)),
    ("POST", "run-cancel", ["public-run"], ("in", 403, 403, 403, 302, 302)),
    ("POST", "run-cancel", ["private-run"], ("in", 404, 403, 403, 302, 302)),
    ("POST", "run-retry", ["public-run"], ("in", 403, 403, 403, 302, 302)),
]
LAST: list[Row] = [
    ("POST", "run-delete", ["public-run"], ("in", 403, 403, 403, 302, 302)),
    ("POST", "run-delete", ["private-run"], ("in", 404, 403, 403, 302, 302)),
    ("GET", "run-detail", ["public-run"], OPEN),  # it is in a published collection
    ("GET", "api-run", ["public-run"], OPEN),
    ("POST", "run-delete", ["loose-run"], ("in", 403, 403, 403, 302, 302)),
    ("GET", "run-detail", ["loose-run"], (200, 200, 200, 200, 410, 410)),
    ("GET", "api-run", ["loose-run"], (200, 200, 200, 200, 410, 410)),
    ("GET", "run-detail", ["private-run"], (404, 404, 200, 200, 404, 404)),
]


def add_objects(people, world) -> None:
    """Create a run on alice's unlisted suite, and then renew the suite's secret address."""
    revision = make_revision(people.alice, name="renewed", visibility="unlisted", collaborator=people.bob)
    revision.suite.collaborations.create(user=people.dora, role="view")
    model = make_model(people.alice, slug="renewed-model")
    run = SuiteRun.objects.create(revision=revision, model=model, owner=people.alice, policy={})
    world["run-before-renewal"] = run.key
    new_secret_address(revision.suite, actor=people.alice)
    run.refresh_from_db()
    world["unlisted-run"] = run.key
