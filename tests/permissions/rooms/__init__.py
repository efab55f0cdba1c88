"""One module per room of the site: what everybody gets who asks for an address of it.

A module has `ROWS`: (method, name of the address, arguments, answers). It may have `LAST` (rows that take something
away), `FORMS` (beginnings of names where posting is meant) and `furnish(people, world)`, which adds to the world of
the table: names of arguments and what stands for them in addresses.

Answers are for (nobody, charlie the stranger, dora who may view, bob who may edit, alice the owner, staff).
"in" = sent to the sign-in page. Things of the "private" rows belong to alice; dora and bob collaborate on the suites.
"""

from __future__ import annotations

from typing import Any

Row = tuple[str, str, list[Any], tuple[int | str, ...]]
PEOPLE = ("nobody", "charlie", "dora", "bob", "alice", "staff")

OPEN = (200, 200, 200, 200, 200, 200)
MEMBERS = ("in", 200, 200, 200, 200, 200)
HIDDEN = (404, 404, 200, 200, 200, 200)
OWNERS = (404, 404, 404, 404, 200, 200)
EDITORS = ("in", 404, 403, 200, 200, 200)
EDITORS_JSON = (401, 404, 403, 200, 200, 200)  # endpoints that a page talks to say 401 themselves
EDITORS_ACT = ("in", 404, 403, 302, 302, 302)
NOT_THERE = (404, 404, 404, 404, 404, 404)
