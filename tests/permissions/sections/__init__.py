"""Permissions, one module per section of the site: the status of every address for every user.

A module has `ROWS`: (method, URL name, arguments, statuses). Every method that a page accepts needs a row;
the others must respond with 405. It may have `LAST` (rows that delete or revoke something) and
`add_objects(people, world)`, which adds to the table's world: names of arguments and the values that replace them
in addresses. Requests have no body, so a form that the user may submit responds with 400.

Statuses are for (nobody, charlie the stranger, dora who may view, bob who may edit, alice the owner, staff).
"in" = redirected to the sign-in page. Objects in "private" rows belong to alice; dora and bob collaborate on
them.
"""

from __future__ import annotations

from typing import Any

from gym.sharing.models import Role

Row = tuple[str, str, list[Any], tuple[int | str, ...]]
PEOPLE = ("nobody", "charlie", "dora", "bob", "alice", "staff")

OPEN = (200, 200, 200, 200, 200, 200)
MEMBERS = ("in", 200, 200, 200, 200, 200)
HIDDEN = (404, 404, 200, 200, 200, 200)
OWNERS = (404, 404, 404, 404, 200, 200)
EDITORS = ("in", 404, 403, 200, 200, 200)
EDITORS_ACT = ("in", 404, 403, 302, 302, 302)
INCOMPLETE = ("in", 400, 400, 400, 400, 400)  # users who may submit the form see what is missing
INCOMPLETE_EDITORS = ("in", 404, 403, 400, 400, 400)
INCOMPLETE_OPEN = ("in", 403, 403, 403, 400, 400)
INCOMPLETE_MINE = ("in", 404, 404, 404, 400, 400)
NOT_FOUND = (404, 404, 404, 404, 404, 404)
OWNER = ("in", 404, 403, 403, 200, 200)  # not permitted to any collaborator
OWNER_ACTS = ("in", 404, 403, 403, 302, 302)
API_EDITORS = (401, 404, 403, 200, 200, 200)
API_OWNER = (401, 404, 403, 403, 200, 200)


def share(thing: Any, people: Any) -> None:
    """Let dora view and bob edit an object that alice owns."""
    for user, role in ((people.dora, Role.VIEW), (people.bob, Role.EDIT)):
        thing.collaborations.create(user=user, role=role)


def people_rows(prefix: str, api: str, private: str, public: str, role: str) -> list[Row]:
    """Return the rows of the People page of a private and a public object, and of its actions. `role`:
    argument name of bob's role on the private object.
    """
    members = ("in", 403, 403, 403, 200, 200)
    return [
        ("GET", f"{prefix}-people", [private], ("in", 404, 200, 200, 200, 200)),
        ("GET", f"{prefix}-people", [public], members),
        ("POST", f"{prefix}-people", [private], ("in", 404, 403, 403, 400, 400)),
        ("POST", f"{prefix}-collaborator-role", [private, role], OWNER_ACTS),
        ("POST", f"{prefix}-invitation-withdraw", [private, 999_999], ("in", 404, 403, 403, 404, 404)),
        ("POST", f"{prefix}-leave", [public], ("in", 403, 403, 403, 403, 403)),
        ("GET", f"{api}-people", [private], (401, 404, 200, 200, 200, 200)),
        ("GET", f"{api}-people", [public], (401, 403, 403, 403, 200, 200)),
        ("POST", f"{api}-people", [private], (401, 404, 403, 403, 400, 400)),
        ("PATCH", f"{api}-person", [private, "dora"], (401, 404, 403, 403, 400, 400)),
    ]


def leaving_rows(prefix: str, api: str, private: str, role: str) -> list[Row]:
    """Return the rows that end a collaboration, for the end of the table."""
    return [
        ("DELETE", f"{api}-person", [private, "dora"], (401, 404, 204, 403, 204, 204)),
        ("POST", f"{prefix}-collaborator-remove", [private, role], ("in", 404, 404, 403, 302, 302)),
        ("POST", f"{prefix}-leave", [private], ("in", 404, 404, 302, 403, 403)),
    ]
