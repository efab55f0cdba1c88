"""List filters for objects with owners and collaborators."""

from __future__ import annotations

from typing import Any

import django_filters
from django.db.models import Model, QuerySet

from gym.sharing.selectors import worked_on_by

ANSWERS = [("true", "true"), ("false", "false")]


class MineFilter(django_filters.ChoiceFilter):
    """Filter by whether the requesting user owns or works on an object. The FilterSet needs `request`."""

    def __init__(self, kind: type[Model]) -> None:
        super().__init__(
            choices=ANSWERS, label="true: only objects that you own or work on; false: only others"
        )
        self.kind = kind

    def filter(self, rows: QuerySet[Any], value: str) -> QuerySet[Any]:
        if not value:
            return rows
        user = self.parent.request.user  # type: ignore[attr-defined]  # set by the FilterSet
        if not user.is_authenticated:
            return rows.none() if value == "true" else rows
        mine = worked_on_by(user, self.kind)
        return rows.filter(mine if value == "true" else ~mine)
