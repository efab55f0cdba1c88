from django.contrib import admin

from gym.results.models import RunScore


@admin.register(RunScore)
class RunScoreAdmin(admin.ModelAdmin):
    list_display = ["run", "rule", "n", "passed", "judged", "rate", "chance"]
    list_filter = ["rule"]
    list_select_related = ["run__model", "run__revision__suite"]
    search_fields = ["run__key", "run__revision__suite__slug", "run__model__slug"]
    readonly_fields = [field.name for field in RunScore._meta.fields]

    def has_add_permission(self, request) -> bool:
        return False
