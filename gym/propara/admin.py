from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from gym.admin import SiteAdmin
from gym.propara.models import AnswerSet, AnswerSetVersion, PublishedResult, Submission
from gym.sharing.admin import SharedObjectAdmin


@admin.register(AnswerSet)
class AnswerSetAdmin(SharedObjectAdmin):
    """Admin without an add form; answer sets are created on the site's pages, because they need a first version."""

    list_display = ["title", "slug", "owner", "visibility", "licence", "updated"]
    list_filter = ["visibility"]
    list_select_related = ["owner"]
    search_fields = ["title", "slug", "owner__username"]
    autocomplete_fields = ["owner"]
    readonly_fields = ["slug"]


@admin.register(AnswerSetVersion)
class AnswerSetVersionAdmin(SiteAdmin):
    """Admin in which versions can be viewed and deleted, but not added or changed, because scores depend on them."""

    list_display = ["__str__", "n_processes", "n_participants", "n_steps", "created"]
    list_filter = ["created"]
    list_select_related = ["answer_set"]
    search_fields = ["answer_set__title", "answer_set__slug", "sha256"]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(Submission)
class SubmissionAdmin(SiteAdmin):
    list_display = [
        "system",
        "version",
        "owner",
        "state",
        "visibility",
        "f1",
        "evaluator",
        "created",
    ]
    list_filter = ["state", "visibility", "evaluator"]
    list_select_related = ["version__answer_set", "owner"]
    search_fields = ["system", "key", "owner__username", "version__answer_set__slug"]
    exclude = ["file", "samples", "report"]
    readonly_fields = [
        field.name
        for field in Submission._meta.fields
        if field.name
        not in ("system", "description", "paper", "link", "visibility", "file", "samples", "report")
    ]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False


@admin.register(PublishedResult)
class PublishedResultAdmin(SiteAdmin):
    """Admin for published results, which are added on the reference answers' page."""

    list_display = ["system", "version", "precision", "recall", "f1", "citation"]
    list_filter = ["created"]
    list_select_related = ["version__answer_set"]
    search_fields = ["system", "citation", "version__answer_set__slug"]
    readonly_fields = ["version"]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False
