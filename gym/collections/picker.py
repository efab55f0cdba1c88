"""Picker for the revisions of a collection: the chosen revisions in order, and a search for others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Exists, OuterRef, QuerySet
from django.http import QueryDict

from gym.accounts.models import AnyUser
from gym.api.filters import with_words
from gym.collections.services import MAX_ENTRIES, listed_frozen
from lmgym.text import MOST_CHARACTERS
from suites.models import SuiteRevision
from suites.selectors import listed_for, tags_of

SHOWN = 100
"""Maximum number of search results shown."""
WORDS_IN = ("suite__title", "suite__slug", "suite__author", "suite__description", "suite__tags__name")


@dataclass(frozen=True)
class Picker:
    """State of the picker.

    matches: the first SHOWN of `n_matches` unchosen revisions that match `q` and `tag`. Without `older`, only
        the newest frozen revision of each suite matches.
    n_missing: number of ticked revisions that are not available to this user.
    """

    chosen: list[SuiteRevision]
    matches: list[SuiteRevision] = field(default_factory=list)
    n_matches: int = 0
    n_missing: int = 0
    q: str = ""
    tag: str = ""
    older: bool = False
    tags: list[dict[str, Any]] = field(default_factory=list)


def read_picker(user: AnyUser, data: QueryDict | None, before: Sequence[SuiteRevision]) -> Picker:
    """Read the picker from form data: `revision` (keys of ticked revisions), `place-KEY`, `q`, `tag`, `older`, and
    `step=all` to choose all matches. Without data, the chosen revisions are those in `before`."""
    chosen, n_missing = (list(before), 0) if data is None else _ticked(user, data)
    data = data or QueryDict()
    q, tag = (data.get(name, "").replace("\0", "")[:MOST_CHARACTERS] for name in ("q", "tag"))
    rows = _matches(user, q, tag, older=bool(data.get("older")))
    if data.get("step") == "all":
        keys = {row.pk for row in chosen}
        n_free = max(0, MAX_ENTRIES + 1 - len(chosen))
        chosen += list(rows.exclude(pk__in=keys)[:n_free])
    rows = rows.exclude(pk__in=[row.pk for row in chosen])
    return Picker(
        chosen=chosen,
        matches=list(rows[:SHOWN]),
        n_matches=rows.count(),
        n_missing=n_missing,
        q=q,
        tag=tag,
        older=bool(data.get("older")),
        tags=tags_of(listed_for(user)),
    )


def _ticked(user: AnyUser, data: QueryDict) -> tuple[list[SuiteRevision], int]:
    """Return the ticked revisions in order, and the number of ticked revisions that are unavailable."""
    keys = [key for key in data.getlist("revision")[: 2 * MAX_ENTRIES] if key.isascii() and key.isdecimal()]
    keys = list(dict.fromkeys(key for key in keys if len(key) < 16))
    rows = {str(row.pk): row for row in _with_tags(listed_frozen(user)).filter(pk__in=keys)}
    placed = sorted(
        (key for key in keys if key in rows),
        key=lambda key: _place(data.get(f"place-{key}", ""), keys.index(key) + 1),
    )
    return [rows[key] for key in placed], len(keys) - len(rows)


def _place(text: str, now: int) -> float:
    """Return the sort key that moves an entry from position `now` to the typed position: before the entry there if it
    moves up, after it if it moves down. Without a valid number it moves to the end."""
    if not (text.isascii() and text.isdecimal() and len(text) < 9):
        return math.inf
    place = int(text)
    return place + (-0.5 if place < now else 0.5 if place > now else 0.0)


def _matches(user: AnyUser, q: str, tag: str, *, older: bool) -> QuerySet[SuiteRevision]:
    rows = _with_tags(listed_frozen(user))
    if not older:
        newer = SuiteRevision.objects.filter(
            suite=OuterRef("suite"), state=SuiteRevision.State.FROZEN, number__gt=OuterRef("number")
        )
        rows = rows.filter(~Exists(newer))
    if tag:
        rows = rows.filter(suite__tags__name=tag)
    return with_words(rows, q, WORDS_IN).order_by("suite__title", "suite_id", "-number")


def _with_tags(rows: QuerySet[SuiteRevision]) -> QuerySet[SuiteRevision]:
    return rows.prefetch_related("suite__tags")
