"""Permissions: invitations and notifications, each for one user alone. charlie is invited to objects that
alice owns.
"""

from __future__ import annotations

from tests.factories import make_suite
from tests.permissions.sections import MEMBERS, Row

THINGS = ("page-accept", "page-decline", "api-accept", "api-decline", "taken-back")
PAGE = ("in", 302, 404, 404, 404, 404)

ROWS: list[Row] = [
    ("GET", "api-invitations", [], (401, 200, 200, 200, 200, 200)),
    ("GET", "notifications", [], MEMBERS),
    ("POST", "notifications-read", [], ("in", 302, 302, 302, 302, 302)),
    ("POST", "notification-read", ["notice"], ("in", 302, 404, 404, 404, 404)),
    ("GET", "suite-detail", ["page-accept"], (404, 404, 404, 404, 200, 200)),
    ("GET", "api-people", ["page-accept"], (401, 404, 404, 404, 200, 200)),
]
LAST: list[Row] = [
    ("POST", "invitation-accept", ["page-accept-offer"], PAGE),
    ("POST", "invitation-decline", ["page-decline-offer"], PAGE),
    ("POST", "invitations-accept", ["stranger"], ("in", 404, 404, 404, 404, 404)),  # who invited nobody
    ("POST", "api-invitation-accept", ["api-accept-offer"], (401, 200, 404, 404, 404, 404)),
    ("DELETE", "api-invitation", ["api-decline-offer"], (401, 204, 404, 404, 404, 404)),
    (
        "POST",
        "suite-invitation-withdraw",
        ["taken-back", "taken-back-offer"],
        ("in", 404, 404, 404, 302, 302),
    ),
]


def add_objects(people, world) -> None:
    world["stranger"] = people.charlie.pk
    world["notice"] = people.charlie.notices.create(kind="runs", text="One run is done.").pk
    for name in THINGS:
        suite = make_suite(people.alice, name=name, visibility="private")
        offer = suite.invitations.create(
            invited=people.charlie, inviter=people.alice, owner=people.alice, role="edit"
        )
        world[f"{name}-offer"] = offer.pk
