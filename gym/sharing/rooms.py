"""What the pages and the API of collaboration need to know of a room."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet


@dataclass(frozen=True)
class Room:
    """`prefix` begins the names of its addresses (`suite-people`), `api` those of the API's, `home` is its list, called
    `title`."""

    prefix: str
    api: str
    home: str
    title: str
    visible_to: Callable[[Any], QuerySet[Any]]
    template: str = "sharing/people.html"
