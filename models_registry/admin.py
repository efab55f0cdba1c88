from django.contrib import admin

from gym.jobs.errors import TooManyJobs
from models_registry.models import RegisteredModel
from models_registry.services import approve_model


@admin.register(RegisteredModel)
class RegisteredModelAdmin(admin.ModelAdmin):
    list_display = ["slug", "name", "backend", "status", "owner", "visibility", "checked_at"]
    list_filter = ["status", "backend", "visibility"]
    list_select_related = ["owner"]
    search_fields = ["slug", "name", "corpus", "authorship"]
    readonly_fields = [
        "status",
        "status_reason",
        "facts",
        "fingerprint",
        "source_revision",
        "parameters",
        "vocabulary_size",
        "checked_at",
        "check_job",
    ]
    actions = ["approve"]

    @admin.action(description="Approve and check")
    def approve(self, request, queryset) -> None:
        queued = 0
        for model in queryset:
            try:
                approve_model(model, actor=request.user)
            except TooManyJobs as error:
                self.message_user(request, str(error), level="error")
                break
            queued += 1
        self.message_user(request, f"{queued} checks queued")
