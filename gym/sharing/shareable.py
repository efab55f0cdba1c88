"""Descriptor of a kind of thing that has collaborators: what the shared Share pages and API need to know about it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet


@dataclass(frozen=True)
class Shareable:
    """A kind of thing that can be shared. `prefix` begins the names of its URLs (`suite-people`);
    `home` and `title` are the URL name and label of its list."""

    prefix: str
    home: str
    title: str
    visible_to: Callable[[Any], QuerySet[Any]]
    template: str = "sharing/people.html"
