"""Description of a kind of object with collaborators, for the Share pages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet


@dataclass(frozen=True)
class Shareable:
    """A kind of object that can be shared. `prefix` is the prefix of its URL names (as in `suite-people`); `home` and
    `title` are the URL name and label of its list."""

    prefix: str
    home: str
    title: str
    visible_to: Callable[[Any], QuerySet[Any]]
    template: str = "sharing/people.html"
