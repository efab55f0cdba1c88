from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from gym.people import services
from gym.people.models import HumanData
from gym.sharing.admin import SharedObjectAdmin
from suites.signals import InUse


@admin.register(HumanData)
class HumanDataAdmin(SharedObjectAdmin):
    """Admin for human data. Observations cannot be changed."""

    list_display = ["slug", "title", "revision", "owner", "visibility", "n_participants", "created"]
    list_filter = ["visibility", "kind"]
    list_select_related = ["owner", "revision__suite"]
    search_fields = ["slug", "title", "owner__username"]
    autocomplete_fields = ["owner"]
    exclude = ["result", "demographics", "job"]
    readonly_fields = [  # visibility: publication needs the confirmations of its page
        "visibility",
        "revision",
        "measure",
        "kind",
        "scale",
        "is_simulated",
        "n_observations",
        "n_participants",
        "n_items",
        "size",
        "provenance",
        "exclusions",
        "confirmed_at",
    ]

    def get_deleted_objects(
        self, objs: Any, request: HttpRequest
    ) -> tuple[list[Any], dict[str, int], set[str], list[str]]:
        """List the objects to delete. Data that published collections hold are reported as protected, with the
        reason."""
        deleted, counts, perms_needed, protected = super().get_deleted_objects(objs, request)
        for data in objs:
            try:
                services.require_not_in_use(data)
            except InUse as error:
                protected = [*protected, *error.messages]
        return deleted, counts, perms_needed, protected

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        services.delete(obj, actor=request.user)  # type: ignore[arg-type]

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        for data in queryset:
            self.delete_model(request, data)
