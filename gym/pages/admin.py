from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import fields
from typing import Any

from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount, SocialApp, SocialToken
from django.contrib import admin, messages
from django.contrib.auth.admin import GroupAdmin as DjangoGroupAdmin
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

for kept_by_accounts in (EmailAddress, SocialAccount, SocialApp, SocialToken, Authenticator):
    admin.site.unregister(
        kept_by_accounts
    )  # allauth's; they would show secrets, and offer a second way to configure
admin.site.unregister(Group)
RIGHTS = ("is_staff", "is_superuser", "groups", "user_permissions")


@admin.register(Group)
class GroupAdmin(SiteAdmin, DjangoGroupAdmin):
    """Admin for groups, which give their members permissions. For superusers only, as are permissions of accounts."""

    list_filter = [("permissions", admin.RelatedOnlyFieldListFilter)]

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return bool(request.user.is_superuser)

    has_add_permission = has_change_permission = has_delete_permission = has_view_permission


@admin.register(User)
class AccountAdmin(SiteAdmin, UserAdmin):  # type: ignore[type-arg]  # Django 5.2 cannot subscript it at run time
    """Admin for accounts. Deletion uses the same service as the account's own page.

    Only superusers may change permissions, or accounts of staff; otherwise the permission to change accounts would
    amount to all permissions.
    """

    list_display = ["username", "email", "is_staff", "is_active", "date_joined", "last_login"]
    list_filter = ["is_staff", "is_active", "date_joined"]
    date_hierarchy = "date_joined"
    filter_horizontal = ["groups", "user_permissions"]
    fieldsets = [
        (None, {"fields": ["username", "password"]}),
        ("Person", {"fields": ["first_name", "last_name", "email", "last_login", "date_joined"]}),
        ("Rights", {"fields": ["is_active", "is_staff", "is_superuser", "groups", "user_permissions"]}),
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
        """List the objects deleted and kept with these accounts. Accounts that the site needs are protected."""
        users, deleted, shown = list(objs), Counter[str](), []
        if kept := [str(user) for user in users if not _may_touch(request.user, user)]:
            return [], {}, set(), [f"{name}: only superusers may delete accounts of staff" for name in kept]
        for user in users:
            counted = _counted(user)
            deleted.update({noun: n for fate, noun, n in counted if fate == "deleted"})
            shown += [f"{user}", [f"{noun} {fate}: {n}" for fate, noun, n in counted]]
        deleted["users"] = len(users)
        try:
            require_dispensable(users)
        except ValidationError as error:
            return shown, deleted, set(), error.messages
        return shown, deleted, set(), []

    def delete_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        return self._or_message(request, super().delete_view, object_id, extra_context)

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        return self._or_message(request, super().changelist_view, extra_context)

    def _or_message(
        self, request: HttpRequest, view: Callable[..., HttpResponse], *args: Any
    ) -> HttpResponse:
        """Run a view in a transaction. On ValidationError, roll back and show the message."""
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
    """Return True if the actor may change this account. Only superusers may change accounts of staff."""
    return account is None or actor.is_superuser or not (account.is_superuser or account.is_staff)


def _counted(user: User) -> list[tuple[str, str, int]]:
    """Return (deleted or kept, noun, number) for every kind of object in the account's deletion plan."""
    deletion = plan(user)
    counts = [
        (*field.name.split("_", 1), getattr(deletion, field.name).count())
        for field in fields(deletion)
        if field.name.startswith(("deleted_", "kept_"))
    ]
    return [(fate, noun.replace("_", " "), n) for fate, noun, n in counts if n]


@admin.register(ApiToken)
class ApiTokenAdmin(SiteAdmin):
    """Admin for API tokens, which can be listed and deleted, but neither created nor changed. Their secrets
    are not stored."""

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
