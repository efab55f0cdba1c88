from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import fields
from typing import Any

from django.contrib import admin, messages
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.models import Group
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from gym.accounts.models import AnyUser, ApiToken, User
from gym.admin import SiteAdmin
from gym.pages.account_deletion import delete_account, plan, require_dispensable

admin.site.unregister(Group)  # rights are given to accounts
RIGHTS = ("is_staff", "is_superuser", "user_permissions")


@admin.register(User)
class AccountAdmin(SiteAdmin, UserAdmin):  # type: ignore[type-arg]  # Django 5.2 cannot subscript it at run time
    """Accounts are deleted by the same use case as on their own page, with the same care for what others rely on.

    Rights, and accounts that have any, are for superusers: who may change accounts could else take every right.
    """

    list_display = ["username", "email", "is_staff", "is_active", "date_joined", "last_login"]
    list_filter = ["is_staff", "is_active", "date_joined"]
    date_hierarchy = "date_joined"
    filter_horizontal = ["user_permissions"]
    fieldsets = [
        (None, {"fields": ["username", "password"]}),
        ("Person", {"fields": ["first_name", "last_name", "email", "last_login", "date_joined"]}),
        ("Rights", {"fields": ["is_active", "is_staff", "is_superuser", "user_permissions"]}),
        ("Limits", {"fields": ["max_active_jobs", "max_sentences_per_day", "max_runs", "quota_factor"]}),
    ]

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        return () if request.user.is_superuser else RIGHTS

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return super().has_change_permission(request, obj) and _may_touch(request.user, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return super().has_delete_permission(request, obj) and _may_touch(request.user, obj)

    def get_deleted_objects(
        self, objs: Any, request: HttpRequest
    ) -> tuple[list[Any], dict[str, int], set[str], list[str]]:
        """What goes with these accounts and what stays of them; those that the site needs are protected, in words."""
        users, gone, shown = list(objs), Counter[str](), []
        if kept := [str(user) for user in users if not _may_touch(request.user, user)]:
            return [], {}, set(), [f"{name}: accounts of staff are for superusers" for name in kept]
        for user in users:
            counted = _counted(user)
            gone.update({noun: n for fate, noun, n in counted if fate == "deleted"})
            shown += [f"{user}", [f"{noun} {fate}: {n}" for fate, noun, n in counted]]
        gone["users"] = len(users)
        try:
            require_dispensable(users)
        except ValidationError as error:
            return shown, gone, set(), error.messages
        return shown, gone, set(), []

    def delete_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        return self._unless_refused(request, super().delete_view, object_id, extra_context)

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        return self._unless_refused(request, super().changelist_view, extra_context)

    def _unless_refused(
        self, request: HttpRequest, view: Callable[..., HttpResponse], *args: Any
    ) -> HttpResponse:
        """The view's answer; or all of it undone, and why."""
        if request.method != "POST":
            return view(request, *args)
        try:
            with transaction.atomic():
                return view(request, *args)
        except ValidationError as error:
            self.message_user(request, " ".join(error.messages), messages.ERROR)
            return redirect("admin:accounts_user_changelist")

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        delete_account(obj)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        for user in queryset:
            delete_account(user)


def _may_touch(actor: AnyUser, account: User | None) -> bool:
    """Accounts with rights belong to superusers alone."""
    return account is None or actor.is_superuser or not (account.is_superuser or account.is_staff)


def _counted(user: User) -> list[tuple[str, str, int]]:
    """(deleted or kept, of what, how many) of all that the deletion is about and the account has."""
    what = plan(user)
    found = [
        (*field.name.split("_", 1), getattr(what, field.name).count())
        for field in fields(what)
        if field.name.startswith(("deleted_", "kept_"))
    ]
    return [(fate, noun.replace("_", " "), n) for fate, noun, n in found if n]


@admin.register(ApiToken)
class ApiTokenAdmin(SiteAdmin):
    """To look at, and to delete what should not be there. Nobody can read or make a token here."""

    list_display = ["name", "prefix", "user", "scopes", "created", "expires", "last_used", "revoked"]
    list_select_related = ["user"]
    list_filter = ["revoked", "created"]
    search_fields = ["name", "prefix", "user__username"]
    exclude = ["digest"]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return super().has_delete_permission(request, obj) and _may_touch(request.user, obj and obj.user)

    def get_deleted_objects(
        self, objs: Any, request: HttpRequest
    ) -> tuple[list[Any], dict[str, int], set[str], list[str]]:
        protected = [str(one) for one in objs if not _may_touch(request.user, one.user)]
        return super().get_deleted_objects(objs, request) if not protected else ([], {}, set(), protected)
