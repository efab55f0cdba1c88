from django.contrib import admin

from gym.propara.models import AnswerSet, AnswerSetVersion, Submission


@admin.register(AnswerSet)
class AnswerSetAdmin(admin.ModelAdmin):
    list_display = ["title", "slug", "owner", "visibility", "licence", "updated"]
    list_filter = ["visibility"]
    list_select_related = ["owner"]
    search_fields = ["title", "slug", "owner__username"]


@admin.register(AnswerSetVersion)
class AnswerSetVersionAdmin(admin.ModelAdmin):
    """Versions never change: scores rest on them."""

    list_display = ["__str__", "n_processes", "n_participants", "n_steps", "created"]
    list_filter = ["created"]
    list_select_related = ["answer_set"]
    search_fields = ["answer_set__title", "answer_set__slug", "sha256"]
    readonly_fields = [field.name for field in AnswerSetVersion._meta.fields]

    def has_add_permission(self, request) -> bool:
        return False


@admin.register(Submission)
class SubmissionAdmin(admin.ModelAdmin):
    list_display = [
        "system",
        "version",
        "owner",
        "state",
        "source",
        "visibility",
        "f1",
        "evaluator",
        "created",
    ]
    list_filter = ["state", "source", "visibility", "evaluator"]
    list_select_related = ["version__answer_set", "owner"]
    search_fields = ["system", "key", "owner__username", "version__answer_set__slug"]
    exclude = ["file", "samples", "report"]
    readonly_fields = [
        field.name
        for field in Submission._meta.fields
        if field.name
        not in ("system", "description", "paper", "link", "visibility", "file", "samples", "report")
    ]

    def has_add_permission(self, request) -> bool:
        return False
