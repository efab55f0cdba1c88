from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from gym.admin import SiteAdmin
from gym.sharing.admin import SharedObjectAdmin
from suites.models import Prediction, Suite, SuiteCollaborator, SuiteRevision, Tag


class CollaboratorInline(admin.TabularInline):  # type: ignore[type-arg]  # Django 5.2 cannot subscript it at run time
    model = SuiteCollaborator
    extra = 0
    autocomplete_fields = ["user"]


@admin.register(Suite)
class SuiteAdmin(SharedObjectAdmin):
    """Admin for suites. They are created on the site's own pages, because they need a revision."""

    list_display = ["slug", "title", "owner", "visibility", "updated"]
    list_filter = ["visibility", "tags", "language"]
    list_select_related = ["owner"]
    search_fields = ["slug", "title", "author", "description", "reference"]
    inlines = [CollaboratorInline]
    autocomplete_fields = ["owner", "without_modifier"]
    filter_horizontal = ["tags"]
    readonly_fields = ["slug"]


class PredictionInline(admin.TabularInline):  # type: ignore[type-arg]  # Django 5.2 cannot subscript it at run time
    model = Prediction
    fields = readonly_fields = ("position", "name", "formula")
    extra = 0
    can_delete = False

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(SuiteRevision)
class SuiteRevisionAdmin(SiteAdmin):
    """Read-only admin for revisions: drafts are edited on the site's own pages, and frozen revisions never
    change."""

    list_display = ["__str__", "state", "created", "frozen_at", "sha256"]
    list_filter = ["state"]
    list_select_related = ["suite"]
    search_fields = ["suite__slug", "sha256"]
    inlines = [PredictionInline]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class InUse(admin.SimpleListFilter):
    title = parameter_name = "use"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("used", "by suites"), ("unused", "by none")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        is_unused = {"used": False, "unused": True}.get(self.value() or "")
        return queryset if is_unused is None else queryset.filter(suites__isnull=is_unused).distinct()


@admin.register(Tag)
class TagAdmin(SiteAdmin):
    list_filter = [InUse]
    search_fields = ["name"]
