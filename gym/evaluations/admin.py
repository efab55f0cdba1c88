from django.contrib import admin

from gym.evaluations.models import ResultUpload, ScoreCache, SuiteRun


@admin.register(SuiteRun)
class SuiteRunAdmin(admin.ModelAdmin):
    list_display = ["pk", "model", "revision", "owner", "source", "created", "completed_at", "n_unscored"]
    list_filter = ["source", "completed_at", "model__backend"]
    list_select_related = ["model", "revision__suite", "owner"]
    search_fields = ["revision__suite__slug", "model__slug"]
    readonly_fields = [field.name for field in SuiteRun._meta.fields]

    def has_add_permission(self, request) -> bool:
        return False


@admin.register(ResultUpload)
class ResultUploadAdmin(admin.ModelAdmin):
    list_display = ["__str__", "owner", "kind", "created"]
    list_filter = ["kind"]
    list_select_related = ["owner"]
    search_fields = ["owner__username", "key"]
    readonly_fields = [field.name for field in ResultUpload._meta.fields]

    def has_add_permission(self, request) -> bool:
        return False


@admin.register(ScoreCache)
class ScoreCacheAdmin(admin.ModelAdmin):
    list_display = ["scorer", "text_sha256", "created", "used"]
    list_filter = ["used"]
    show_full_result_count = False  # a count of millions, twice
    search_fields = ["scorer", "text_sha256"]

    def has_add_permission(self, request) -> bool:
        return False

    def has_change_permission(self, request, obj=None) -> bool:
        return False

    def get_queryset(self, request):
        return super().get_queryset(request).defer("scores")
