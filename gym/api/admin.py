from django.contrib import admin

from gym.admin import SiteAdmin
from gym.api.models import SentRequest


@admin.register(SentRequest)
class SentRequestAdmin(SiteAdmin):
    """Requests of the last day that had an Idempotency-Key, without their responses."""

    list_display = ["key", "user", "status", "created"]
    list_filter = ["status", "created"]
    search_fields = ["key", "user__username"]
    list_select_related = ["user"]
    fields = readonly_fields = ("user", "key", "digest", "status", "created")

    def has_add_permission(self, request: object) -> bool:
        return False
