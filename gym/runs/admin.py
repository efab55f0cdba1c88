from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from gym.admin import SiteAdmin
from gym.runs.models import DeletedRun, ResultUpload, RunScore, ScoreCache, ScoreRequest, SuiteRun
from gym.runs.work.deleted_runs import delete_runs, require_not_in_use
from suites.signals import InUse


@admin.register(SuiteRun)
class SuiteRunAdmin(SiteAdmin):
    list_display = ["pk", "model", "revision", "owner", "source", "created", "completed_at", "n_unscored"]
    list_filter = ["source", "completed_at", "model__backend"]
    list_select_related = ["model", "revision__suite", "owner"]
    search_fields = ["revision__suite__slug", "model__slug"]
    readonly_fields = [field.name for field in SuiteRun._meta.fields]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def get_deleted_objects(
        self, objs: Any, request: HttpRequest
    ) -> tuple[list[Any], dict[str, int], set[str], list[str]]:
        """List the objects to delete. Runs that published collections show are reported as protected, with
        the reason."""
        deleted, counts, perms_needed, protected = super().get_deleted_objects(objs, request)
        try:
            require_not_in_use(SuiteRun.objects.filter(pk__in=[run.pk for run in objs]))
        except InUse as error:
            protected = [*protected, *error.messages]
        return deleted, counts, perms_needed, protected

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        delete_runs(SuiteRun.objects.filter(pk=obj.pk))

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        delete_runs(SuiteRun.objects.filter(pk__in=list(queryset.values_list("pk", flat=True))))


@admin.register(DeletedRun)
class DeletedRunAdmin(SiteAdmin):
    list_display = ["key", "model", "suite", "revision", "deleted_at"]
    list_filter = ["deleted_at"]
    search_fields = ["key", "model", "suite"]
    readonly_fields = [field.name for field in DeletedRun._meta.fields]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False


@admin.register(ResultUpload)
class ResultUploadAdmin(SiteAdmin):
    list_display = ["__str__", "owner", "kind", "created"]
    list_filter = ["kind"]
    list_select_related = ["owner"]
    search_fields = ["owner__username", "key"]
    readonly_fields = [field.name for field in ResultUpload._meta.fields]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False


@admin.register(ScoreCache)
class ScoreCacheAdmin(SiteAdmin):
    list_display = ["scorer", "text_sha256", "created", "used"]
    list_filter = ["used"]
    show_full_result_count = False  # skip the second count: it is in the millions
    search_fields = ["scorer", "text_sha256"]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).defer("scores")


@admin.register(RunScore)
class RunScoreAdmin(SiteAdmin):
    list_display = ["run", "rule", "n", "passed", "judged", "rate", "chance"]
    list_filter = ["rule"]
    list_select_related = ["run__model", "run__revision__suite"]
    search_fields = ["run__key", "run__revision__suite__slug", "run__model__slug"]
    readonly_fields = [field.name for field in RunScore._meta.fields]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False


@admin.register(ScoreRequest)
class ScoreRequestAdmin(SiteAdmin):
    list_display = ["key", "owner", "model", "n_sentences", "created", "completed_at"]
    list_filter = ["created"]
    search_fields = ["key", "owner__username", "model__slug"]
    list_select_related = ["owner", "model"]
    fields = readonly_fields = (
        "key",
        "owner",
        "model",
        "job",
        "policy",
        "n_sentences",
        "created",
        "completed_at",
    )

    def has_add_permission(self, request: object) -> bool:
        return False
