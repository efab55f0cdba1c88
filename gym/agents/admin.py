from __future__ import annotations

from django.contrib import admin
from django.http import HttpRequest

from gym.admin import SiteAdmin
from gym.agents.models import AgentCase, AgentRun, AgentServer, AgentSuite
from gym.sharing.admin import SharedObjectAdmin


class ChangeOnly(SiteAdmin):
    """Admin without an add form; rows are created on the site's pages."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False


@admin.register(AgentServer)
class AgentServerAdmin(ChangeOnly):
    """Admin without editable fields. The address is changed on the site's pages, because that deletes the secrets."""

    list_display = ["model", "kind", "url", "version", "checked_at"]
    list_filter = ["kind"]
    list_select_related = ["model"]
    search_fields = ["model__name", "model__slug", "url"]
    readonly_fields = [
        "model", "kind", "url", "chat_model", "checked_at", "version", "agents", "graphs",
    ]  # fmt: skip


@admin.register(AgentSuite)
class AgentSuiteAdmin(SharedObjectAdmin):
    list_display = ["slug", "title", "owner", "visibility", "updated"]
    list_filter = ["visibility"]
    list_select_related = ["owner"]
    search_fields = ["slug", "title"]
    autocomplete_fields = ["owner", "judge"]


@admin.register(AgentCase)
class AgentCaseAdmin(ChangeOnly):
    """Admin without editable fields, because texts are validated when saved on the site's pages."""

    list_display = ["name", "suite", "agent", "updated"]
    list_filter = ["suite"]
    list_select_related = ["suite"]
    search_fields = ["name", "agent", "suite__slug"]
    readonly_fields = ["suite", "name", "text", "agent"]


@admin.register(AgentRun)
class AgentRunAdmin(ChangeOnly):
    list_display = ["key", "suite", "server", "owner", "created", "completed_at"]
    list_filter = ["suite", "server__kind"]
    list_select_related = ["suite", "server__model", "owner"]
    search_fields = ["key", "suite__slug", "server__model__slug"]
    readonly_fields = [field.name for field in AgentRun._meta.fields]
