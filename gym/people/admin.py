from __future__ import annotations

from django.contrib import admin

from gym.people.models import HumanData
from gym.sharing.admin import SharedObjectAdmin


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
