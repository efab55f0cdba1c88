from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from gym.collections.models import Collection, CollectionEntry
from gym.sharing.admin import SharedObjectAdmin


class CollectionEntryInline(admin.TabularInline):  # type: ignore[type-arg]  # Django 5.2 cannot subscript it at run time
    model = CollectionEntry
    extra = 0
    readonly_fields = ["revision", "position"]
    can_delete = False

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(Collection)
class CollectionAdmin(SharedObjectAdmin):
    """Admin for collections; published ones are read-only."""

    list_display = ["slug", "title", "owner", "published_at"]
    list_filter = ["published_at"]
    list_select_related = ["owner"]
    search_fields = ["slug", "title", "owner__username"]
    autocomplete_fields = ["owner"]
    readonly_fields = ["sha256", "published_at"]
    inlines = [CollectionEntryInline]

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return False for a published collection, which can only be viewed."""
        return super().has_change_permission(request, obj) and not (obj and obj.is_published)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return super().has_delete_permission(request, obj) and not (obj and obj.is_published)
