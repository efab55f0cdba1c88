"""Base classes for the admin, and the log of staff changes."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.core.exceptions import FieldDoesNotExist
from django.http import HttpRequest

from lmgym.text import MOST_CHARACTERS


class SiteAdmin(admin.ModelAdmin):  # type: ignore[type-arg]  # Django 5.2 cannot subscript it at run time
    """Admin whose lists can be filtered only by visible columns and declared filters: a filter such as
    `?text__startswith=` would reveal hidden text letter by letter."""

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest | None = None) -> bool:
        return _path_of(self.model, lookup) in self._filtered_by()

    def _filtered_by(self) -> set[str]:
        filters = [name[0] if isinstance(name, tuple | list) else name for name in self.list_filter]
        columns = [
            name for name in (*self.list_display, *filters, self.date_hierarchy) if isinstance(name, str)
        ]
        return {_path_of(self.model, name) for name in columns} | {self.model._meta.pk.name}

    def get_search_results(self, request: HttpRequest, queryset: Any, search_term: str) -> tuple[Any, bool]:
        return super().get_search_results(request, queryset, search_term[:MOST_CHARACTERS])


def _path_of(model: Any, lookup: str) -> str:
    """Return the fields that a lookup traverses: owner__username for owner__username__startswith, owner for
    owner__id."""
    path: list[str] = []
    for name in lookup.split("__"):
        if model is None:
            break
        try:
            field = model._meta.pk if name == "pk" else model._meta.get_field(name)
        except FieldDoesNotExist:
            break
        if not (path and field.primary_key):
            path.append(field.name)
        model = field.related_model if field.is_relation else None
    return "__".join(path)


class ReadOnlyAdmin(SiteAdmin):
    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(LogEntry)
class LogAdmin(ReadOnlyAdmin):
    """Log of changes by staff in the admin, on the site's pages and through the API."""

    list_display = ["action_time", "user", "object_repr", "change_message"]
    list_filter = ["action_time", "user"]
    list_select_related = ["user", "content_type"]
    search_fields = ["user__username", "object_repr", "change_message"]
    date_hierarchy = "action_time"

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False
