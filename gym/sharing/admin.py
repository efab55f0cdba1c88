"""Who works on what of other people's. To look at, and to end; roles are given on the People pages."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html

from gym.admin import ReadOnlyAdmin
from gym.sharing.models import THINGS, Collaboration
from gym.sharing.services import noun_of, remove_collaborator

HEAVY = ["corpus__packed", "corpus__shown", "corpus__warnings", "model__facts"]


class Noun(admin.SimpleListFilter):
    title = "thing"
    parameter_name = "thing"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(name, name.replace("_", " ")) for name in THINGS]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(**{f"{self.value()}__isnull": False}) if self.value() in THINGS else queryset


class SharedAdmin(ReadOnlyAdmin):
    """Somebody's role in a thing, which `thing_of` knows."""

    list_display = ["user", "role", "shared", "owner"]

    def thing_of(self, row: Any) -> Any:
        return row.thing

    @admin.display(description="thing")
    def shared(self, row: Any) -> str:
        thing = self.thing_of(row)
        return format_html('{}: <a href="{}">{}</a>', noun_of(thing), thing.get_absolute_url(), thing)

    @admin.display(description="its owner")
    def owner(self, row: Any) -> str:
        return str(self.thing_of(row).owner)

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        remove_collaborator(self.thing_of(obj), obj, actor=request.user)  # type: ignore[arg-type]

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        for row in queryset:
            self.delete_model(request, row)


@admin.register(Collaboration)
class CollaborationAdmin(SharedAdmin):
    list_filter = ["role", Noun]
    list_select_related = ["user", *(f"{name}__owner" for name in THINGS)]
    search_fields = [
        "user__username",
        "user__email",
        *(f"{name}__{field}" for name in THINGS for field in ("slug", "owner__username")),
    ]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Collaboration]:
        return super().get_queryset(request).defer(*HEAVY)
