"""Jobs and workers in the admin: read-only, with actions to cancel and retry."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest

from gym.accounts.errors import LimitReached
from gym.admin import ReadOnlyAdmin
from gym.jobs.errors import WrongState
from gym.jobs.models import Job, WorkerHeartbeat
from gym.jobs.services import request_cancel, retry


@admin.register(Job)
class JobAdmin(ReadOnlyAdmin):
    list_display = ["__str__", "kind", "state", "progress", "owner", "queue", "tries", "created"]
    list_filter = ["state", "kind", "queue", "created"]
    list_select_related = ["owner"]
    search_fields = ["id", "title", "error", "owner__username"]
    date_hierarchy = "created"
    actions = ["cancel_jobs", "retry_jobs"]

    @admin.display(description="progress")
    def progress(self, job: Job) -> str:
        return f"{job.done} of {job.total} {job.unit}".strip() if job.total else "–"

    @admin.action(description="Cancel", permissions=["view"])
    def cancel_jobs(self, request: HttpRequest, queryset: QuerySet[Job]) -> None:
        self._each(request, queryset, request_cancel, "cancelled or asked to stop")

    @admin.action(description="Try again", permissions=["view"])
    def retry_jobs(self, request: HttpRequest, queryset: QuerySet[Job]) -> None:
        self._each(request, queryset, retry, "put back into the queue")

    def _each(self, request: HttpRequest, jobs: QuerySet[Job], service: Any, outcome: str) -> None:
        count = 0
        for job in jobs:
            try:
                service(job, actor=request.user)
            except (WrongState, LimitReached) as error:
                messages.warning(request, f"{job}: {error}")
            else:
                count += 1
        if count:
            messages.success(request, f"{count} {'job' if count == 1 else 'jobs'} {outcome}.")


@admin.register(WorkerHeartbeat)
class WorkerAdmin(ReadOnlyAdmin):
    list_display = ["id", "host", "pid", "queues", "device", "started", "last_seen", "last_error_at"]
    list_filter = ["host", "last_seen"]
    search_fields = ["id", "host", "device", "last_error"]
