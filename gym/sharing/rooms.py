"""Rooms whose things are shared: what their collaboration pages need."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet


@dataclass(frozen=True)
class Room:
    """`prefix`: of its URL names (`suite-people`); `home`: URL name of its list, called `title`."""

    prefix: str
    home: str
    title: str
    visible_to: Callable[[Any], QuerySet[Any]]
    template: str = "sharing/people.html"
