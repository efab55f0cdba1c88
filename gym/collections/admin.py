from django.contrib import admin

from gym.collections.models import Collection, CollectionEntry
from gym.sharing.admin import ThingAdmin


class CollectionEntryInline(admin.TabularInline):
    model = CollectionEntry
    extra = 0
    readonly_fields = ["revision", "position"]
    can_delete = False

    def has_add_permission(self, request, obj=None) -> bool:
        return False


@admin.register(Collection)
class CollectionAdmin(ThingAdmin):
    """Published, a collection never changes; its owner may."""

    list_display = ["slug", "title", "owner", "published_at"]
    list_filter = ["published_at"]
    list_select_related = ["owner"]
    search_fields = ["slug", "title", "owner__username"]
    autocomplete_fields = ["owner"]
    readonly_fields = ["sha256", "published_at"]
    inlines = [CollectionEntryInline]

    def has_change_permission(self, request, obj=None) -> bool:
        """Published, it is for looking at alone."""
        return super().has_change_permission(request, obj) and not (obj and obj.is_published)

    def has_delete_permission(self, request, obj=None) -> bool:
        return super().has_delete_permission(request, obj) and not (obj and obj.is_published)
