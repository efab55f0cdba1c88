from django.contrib import admin

from gym.conversations.models import AgentCase, AgentRun, AgentServer, AgentSuite


@admin.register(AgentServer)
class AgentServerAdmin(admin.ModelAdmin):
    list_display = ["model", "kind", "url", "version", "checked_at"]
    list_filter = ["kind"]
    list_select_related = ["model"]
    search_fields = ["model__name", "model__slug", "url"]
    readonly_fields = ["checked_at", "version", "agents", "graphs"]


@admin.register(AgentSuite)
class AgentSuiteAdmin(admin.ModelAdmin):
    list_display = ["slug", "title", "owner", "visibility", "updated"]
    list_filter = ["visibility"]
    list_select_related = ["owner"]
    search_fields = ["slug", "title"]


@admin.register(AgentCase)
class AgentCaseAdmin(admin.ModelAdmin):
    list_display = ["name", "suite", "agent", "updated"]
    list_filter = ["suite"]
    list_select_related = ["suite"]
    search_fields = ["name", "agent", "suite__slug"]


@admin.register(AgentRun)
class AgentRunAdmin(admin.ModelAdmin):
    list_display = ["key", "suite", "server", "owner", "created", "completed_at"]
    list_filter = ["suite", "server__kind"]
    list_select_related = ["suite", "server__model", "owner"]
    search_fields = ["key", "suite__slug", "server__model__slug"]
    readonly_fields = ["job", "options", "rescored_from"]
