"""Admin base class for shared objects, and admin for their collaborators and invitations, which can only be listed and
deleted.
"""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html

from gym.admin import ReadOnlyAdmin, SiteAdmin
from gym.sharing.addresses import Addressed, save_with_visibility
from gym.sharing.models import Invitation
from gym.sharing.selectors import rows_with_objects, tables
from gym.sharing.services import remove_collaborator, settle_owner


class SharedObjectAdmin(SiteAdmin):
    """Admin for objects with owner and collaborators. As on the site's pages, making an object unlisted gives it a
    secret address, and a new owner does not get its secrets."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Return False: objects are created on the site's own pages."""
        return False

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        changed = {*form.changed_data} & {field.name for field in obj._meta.concrete_fields}
        changed |= {name for name in ("updated",) if hasattr(obj, name)}
        same = type(obj)._base_manager.filter(pk=obj.pk)
        list(
            same.select_for_update().values_list("pk")
        )  # lock the row, as invitations do; the admin saves in one transaction
        if isinstance(obj, Addressed):
            save_with_visibility(obj, form.initial["visibility"], changed)
        else:
            obj.save(update_fields=changed)

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        super().save_related(request, form, formsets, change)
        if "owner" in form.changed_data:
            settle_owner(form.instance)


@admin.register(*tables())
class CollaboratorAdmin(ReadOnlyAdmin):
    list_display = ["user", "role", "shared", "owner"]
    list_filter = ["role"]
    search_fields = ["user__username", "user__email", "thing__slug", "thing__owner__username"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return rows_with_objects(self.model).select_related("user")

    @admin.display(description="thing")
    def shared(self, row: Any) -> str:
        return format_html('<a href="{}">{}</a>', row.thing.get_absolute_url(), row.thing)

    @admin.display(description="owner")
    def owner(self, row: Any) -> str:
        return str(row.thing.owner)

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        remove_collaborator(obj.thing, obj, actor=request.user)  # type: ignore[arg-type]

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        for row in queryset:
            self.delete_model(request, row)


@admin.register(Invitation)
class InvitationAdmin(ReadOnlyAdmin):
    list_display = ["invited", "role", "content_type", "object_id", "inviter", "created", "declined"]
    list_filter = ["role", "content_type", "created"]
    list_select_related = ["invited", "inviter", "content_type"]
    search_fields = ["invited__username", "inviter__username"]
