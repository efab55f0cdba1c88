from django.contrib import admin
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.models import Group

from gym.accounts.models import ApiToken, User

admin.site.unregister(Group)  # rights are given to accounts


@admin.register(User)
class AccountAdmin(UserAdmin):
    list_display = ["username", "email", "is_staff", "is_active", "date_joined", "last_login"]
    list_filter = ["is_staff", "is_active", "date_joined"]
    date_hierarchy = "date_joined"
    filter_horizontal = ["user_permissions"]
    fieldsets = [
        (None, {"fields": ["username", "password"]}),
        ("Person", {"fields": ["first_name", "last_name", "email", "last_login", "date_joined"]}),
        ("Rights", {"fields": ["is_active", "is_staff", "is_superuser", "user_permissions"]}),
        ("Limits", {"fields": ["max_active_jobs", "max_sentences_per_day", "max_runs"]}),
    ]


@admin.register(ApiToken)
class ApiTokenAdmin(admin.ModelAdmin):
    """To look at, and to delete what should not be there. Nobody can read or make a token here."""

    list_display = ["name", "prefix", "user", "scopes", "created", "expires", "last_used", "revoked"]
    list_select_related = ["user"]
    list_filter = ["revoked", "created"]
    search_fields = ["name", "prefix", "user__username"]
    exclude = ["digest"]

    def has_add_permission(self, request) -> bool:
        return False

    def has_change_permission(self, request, obj=None) -> bool:
        return False
