from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import ValidationError
from django.db.models import QuerySet

from gym.accounts.errors import LimitReached
from gym.accounts.requests import SignedInRequest
from gym.sharing.admin import SharedObjectAdmin
from models_registry.models import RegisteredModel
from models_registry.services import approve_model


@admin.register(RegisteredModel)
class RegisteredModelAdmin(SharedObjectAdmin):
    """Admin for models. The card can be edited; backend, configuration and findings cannot."""

    list_display = ["slug", "name", "backend", "status", "owner", "visibility", "checked_at"]
    list_filter = ["status", "backend", "visibility"]
    list_select_related = ["owner"]
    search_fields = ["slug", "name", "corpus", "authorship"]
    autocomplete_fields = ["owner"]
    readonly_fields = [
        "backend",
        "config",
        "status",
        "status_reason",
        "facts",
        "fingerprint",
        "source_revision",
        "parameters",
        "vocabulary_size",
        "checked_at",
        "load_seconds",
        "check_job",
    ]
    actions = ["approve"]

    @admin.action(description="Approve and check")
    def approve(self, request: SignedInRequest, queryset: QuerySet[Any]) -> None:
        queued = 0
        for model in queryset.select_related("check_job"):
            try:
                queued += approve_model(model, actor=request.user)
            except ValidationError as error:
                messages.warning(request, " ".join(error.messages))
            except LimitReached as error:
                messages.error(request, str(error))
                break
        if queued:
            messages.success(request, f"{queued} check{'' if queued == 1 else 's'} queued.")
