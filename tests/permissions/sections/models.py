"""Permissions: registered models. dora may view the shared one, bob may edit it; the private one is alice's
alone."""

from __future__ import annotations

from tests.factories import make_model
from tests.permissions.sections import (
    API_EDITORS,
    EDITORS,
    EDITORS_ACT,
    HIDDEN,
    INCOMPLETE,
    INCOMPLETE_EDITORS,
    INCOMPLETE_MINE,
    INCOMPLETE_OPEN,
    MEMBERS,
    OPEN,
    OWNER,
    Row,
    leaving_rows,
    people_rows,
    share,
)

ROWS: list[Row] = [
    ("GET", "model-list", [], OPEN),
    ("GET", "model-register", [], MEMBERS),
    ("POST", "model-register", [], INCOMPLETE),
    ("POST", "model-fetch", ["smollm2"], ("in", 403, 403, 403, 403, 302)),
    ("GET", "model-detail", ["public-model"], OPEN),
    ("GET", "model-detail", ["private-model"], (404, 404, 404, 404, 200, 200)),
    ("GET", "model-edit", ["private-model"], ("in", 404, 404, 404, 200, 200)),
    ("POST", "model-edit", ["private-model"], INCOMPLETE_MINE),
    ("GET", "model-edit", ["public-model"], ("in", 403, 403, 403, 200, 200)),
    ("POST", "model-edit", ["public-model"], INCOMPLETE_OPEN),
    ("GET", "model-correct", ["private-model"], ("in", 404, 404, 404, 200, 200)),
    ("GET", "model-correct", ["shared-model"], OWNER),
    ("GET", "model-correct", ["public-model"], ("in", 403, 403, 403, 200, 200)),
    ("POST", "model-correct", ["shared-model"], ("in", 404, 403, 403, 400, 400)),
    ("POST", "model-delete", ["public-model"], ("in", 403, 403, 403, 302, 302)),  # it has runs and is kept
    ("POST", "model-delete", ["private-model"], ("in", 404, 404, 404, 302, 302)),
    ("GET", "model-status", ["private-model"], (404, 404, 404, 404, 200, 200)),
    ("POST", "model-check", ["public-model"], ("in", 403, 403, 403, 302, 302)),
    ("POST", "model-cancel-check", ["public-model"], ("in", 403, 403, 403, 302, 302)),
    ("POST", "model-cancel-check", ["shared-model"], EDITORS_ACT),
    ("POST", "model-start-token", ["public-model"], ("in", 403, 403, 403, 302, 302)),
    ("POST", "model-start-token", ["private-model"], ("in", 404, 404, 404, 302, 302)),
    ("POST", "model-refuse", ["public-model"], ("in", 403, 403, 403, 403, 302)),
    ("POST", "model-approve", ["public-model"], ("in", 403, 403, 403, 403, 302)),
    ("POST", "model-approve-series", ["public-model"], ("in", 403, 403, 403, 403, 302)),
    ("POST", "api-model-approve-series", ["public-model"], (401, 403, 403, 403, 403, 400)),
    ("POST", "api-model-series", [], (401, 400, 400, 400, 400, 400)),
    ("GET", "model-detail", ["elsewhere"], OPEN),
    ("POST", "model-check", ["elsewhere"], ("in", 403, 403, 403, 302, 302)),
    ("GET", "model-detail", ["shared-model"], HIDDEN),
    ("GET", "model-status", ["shared-model"], HIDDEN),
    ("GET", "model-edit", ["shared-model"], EDITORS),
    ("POST", "model-edit", ["shared-model"], INCOMPLETE_EDITORS),
    ("POST", "model-check", ["shared-model"], EDITORS_ACT),
    ("GET", "api-model", ["shared-model"], HIDDEN),
    ("PATCH", "api-model", ["shared-model"], API_EDITORS),
    *people_rows("model", "api-model", "shared-model", "public-model", "bobs-model-role"),
]
LAST: list[Row] = [
    *leaving_rows("model", "api-model", "shared-model", "bobs-model-role"),
    ("DELETE", "api-model", ["public-model"], (401, 403, 403, 403, 409, 409)),
    ("DELETE", "api-model", ["doomed-model"], (401, 404, 404, 404, 204, 204)),
]


def add_objects(people, world) -> None:
    """Create alice's private model on which dora and bob collaborate, and one to delete."""
    model = make_model(people.alice, slug="shared-model", visibility="private")
    share(model, people)
    make_model(people.alice, slug="doomed-model", visibility="private")
    world["bobs-model-role"] = model.collaborations.get(user=people.bob).pk
