"""Reads of score requests: they are their sender's, and staff's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db.models import QuerySet

from gym.runs.models import ScoreRequest

if TYPE_CHECKING:
    from gym.accounts.models import User


def visible_to(user: User) -> QuerySet[ScoreRequest]:
    rows = ScoreRequest.objects.select_related("model", "job")
    return rows if user.is_staff else rows.filter(owner=user.pk)
