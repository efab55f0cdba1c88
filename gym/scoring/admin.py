from django.contrib import admin

from gym.admin import SiteAdmin
from gym.scoring.models import ScoreRequest


@admin.register(ScoreRequest)
class ScoreRequestAdmin(SiteAdmin):
    list_display = ["key", "owner", "model", "n_sentences", "created", "completed_at"]
    list_filter = ["created"]
    search_fields = ["key", "owner__username", "model__slug"]
    list_select_related = ["owner", "model"]
    fields = readonly_fields = [
        "key",
        "owner",
        "model",
        "job",
        "policy",
        "n_sentences",
        "created",
        "completed_at",
    ]

    def has_add_permission(self, request: object) -> bool:
        return False
