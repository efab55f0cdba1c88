from __future__ import annotations

from django.contrib import admin
from django.http import HttpRequest

from gym.admin import SiteAdmin
from gym.lmchallenge.models import Corpus, Game
from gym.sharing.admin import SharedObjectAdmin


@admin.register(Corpus)
class CorpusAdmin(SharedObjectAdmin):
    """Admin for corpora. The text is read-only because games depend on it."""

    list_display = ["title", "slug", "owner", "visibility", "form", "lines", "tokens", "licence", "created"]
    list_filter = ["visibility", "form", "language"]
    list_select_related = ["owner"]
    search_fields = ["title", "slug", "owner__username", "sha256"]
    exclude = ["packed", "shown"]
    autocomplete_fields = ["owner"]
    readonly_fields = ["slug", "form", "sha256", "size", "lines", "characters", "tokens", "users", "warnings"]


@admin.register(Game)
class GameAdmin(SiteAdmin):
    list_display = ["title", "game", "kind", "player", "corpus", "owner", "visibility", "lines", "created"]
    list_filter = ["game", "kind", "visibility"]
    list_select_related = ["corpus", "owner"]
    search_fields = ["title", "key", "player", "owner__username", "corpus__slug"]
    exclude = ["words", "statistics"]
    readonly_fields = [
        "key", "corpus", "owner", "game", "kind", "model", "player", "options", "n_words", "filename", "job",
        "lines", "size", "packed_size", "has_targets", "has_predictions", "fingerprint", "report", "problem",
        "counted_at",
    ]  # fmt: skip

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False
