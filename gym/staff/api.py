"""Work on the site itself in the REST API: what the staff page shows and does. For staff alone."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.urls import path
from rest_framework import serializers
from rest_framework.permissions import IsAdminUser, IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response

from gym.accounts.models import Scope
from gym.accounts.requests import SignedInApiRequest
from gym.api.base import ApiView, ListView
from gym.api.operations import operation
from gym.api.permissions import TokenScope
from gym.api.requests import Body, Query
from gym.jobs.api import JobSerializer
from gym.jobs.selectors import workers
from gym.pages.api import KeptSerializer
from gym.staff import actors, selectors, services
from gym.staff.actors import DOCTOR, TIDY
from gym.staff.storage import storage

FOR_STAFF = [IsAuthenticated, IsAdminUser, TokenScope]


class StaffWorkerSerializer(serializers.Serializer[Any]):
    id = serializers.CharField()
    host = serializers.CharField()
    pid = serializers.IntegerField()
    alive = serializers.BooleanField()
    queues = serializers.ListField(child=serializers.CharField())
    threads = serializers.IntegerField()
    device = serializers.CharField()
    started = serializers.DateTimeField()
    last_seen = serializers.DateTimeField()
    keeps_loaded = serializers.SerializerMethodField(help_text="slugs of models")
    process_bytes = serializers.IntegerField(allow_null=True, help_text="memory when it was last seen")
    jobs = JobSerializer(many=True, help_text="at work on")
    last_error = serializers.CharField()
    last_error_at = serializers.DateTimeField(allow_null=True)

    def get_keeps_loaded(self, worker: Any) -> list[str]:
        return [str(held["name"]) for held in worker.memory.get("held", [])]


class FailureSerializer(serializers.Serializer[Any]):
    kind = serializers.CharField()
    message = serializers.CharField()
    count = serializers.IntegerField(help_text="failures that say the same but for numbers")
    last = serializers.DateTimeField()
    job = serializers.UUIDField(source="latest.pk", help_text="the latest of them")


class TableSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    bytes = serializers.IntegerField(help_text="with indexes")


class FolderSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    bytes = serializers.IntegerField()
    at_least = serializers.BooleanField(help_text="not all of its files were looked at")


class StorageSerializer(serializers.Serializer[Any]):
    cached = serializers.IntegerField(help_text="scored sentences kept")
    budget = serializers.IntegerField(help_text="of scored sentences; 0 = no limit")
    over = serializers.IntegerField(help_text="scored sentences beyond the budget")
    runs = serializers.IntegerField()
    run_sentences = serializers.IntegerField()
    spent_chunks = serializers.IntegerField(help_text="plans of finished runs")
    estimated = serializers.BooleanField(
        help_text="sentences of large tables, as the database estimates them"
    )
    tables = TableSerializer(many=True, help_text="empty where the database does not tell")
    database = serializers.IntegerField(help_text="bytes")
    folders = FolderSerializer(many=True)


class UseSerializer(serializers.Serializer[Any]):
    username = serializers.CharField(source="user.username")
    is_staff = serializers.BooleanField(source="user.is_staff")
    jobs = serializers.IntegerField(source="active", help_text="queued or running")
    max_jobs = serializers.SerializerMethodField(help_text="0 = no limit")
    sentences = serializers.IntegerField(help_text="queued in the last 24 hours")
    max_sentences = serializers.SerializerMethodField(help_text="0 = no limit")
    runs = serializers.IntegerField(help_text="kept")
    max_runs = serializers.SerializerMethodField(help_text="0 = no limit")
    has_own_limits = serializers.BooleanField()

    def get_max_jobs(self, use: selectors.UserUse) -> int:
        return use.limits[0]

    def get_max_sentences(self, use: selectors.UserUse) -> int:
        return use.limits[1]

    def get_max_runs(self, use: selectors.UserUse) -> int:
        return use.limits[2]


class StorageUseSerializer(serializers.Serializer[Any]):
    username = serializers.CharField(source="user.username")
    is_staff = serializers.BooleanField(source="user.is_staff")
    bytes = serializers.IntegerField(help_text="of everything")
    kept = KeptSerializer(source="uses", many=True)


class CheckSerializer(serializers.Serializer[Any]):
    level = serializers.ChoiceField(["ok", "note", "BAD"])
    text = serializers.CharField()


class ChecksSerializer(serializers.Serializer[Any]):
    job = JobSerializer(allow_null=True, help_text="that made the checks; null when nobody asked yet")
    checks = CheckSerializer(many=True)


DAYS: dict[str, Any] = {"min_value": actors.MIN_DAYS, "max_value": actors.MAX_DAYS}


class AgeQuery(Query):
    days = serializers.IntegerField(default=actors.USUAL_DAYS, help_text="ended longer ago than this", **DAYS)


class CleanUpBody(Body):
    days = serializers.IntegerField(**DAYS)
    what = serializers.ListField(
        child=serializers.ChoiceField(list(services.OLD)), min_length=1, max_length=2
    )


class OldSerializer(serializers.Serializer[Any]):
    days = serializers.IntegerField()
    jobs = serializers.IntegerField()
    runs = serializers.IntegerField()
    sentences = serializers.IntegerField(help_text="of the runs")


class Workers(ListView):
    permission_classes = FOR_STAFF

    @operation("List workers", answers=StaffWorkerSerializer, many=True)
    def get(self, request: Request) -> Response:
        """Every worker that signed in and has not signed off: device, models it keeps loaded, jobs, last error."""
        return self.page(workers())


class Failures(ListView):
    permission_classes = FOR_STAFF

    @operation("List what failed", answers=FailureSerializer, many=True)
    def get(self, request: Request) -> Response:
        """Failures of seven days, grouped by message, the most frequent first."""
        return self.page(selectors.recent_failures())


class Users(ListView):
    permission_classes = FOR_STAFF

    @operation("List who uses how much", answers=UseSerializer, many=True)
    def get(self, request: Request) -> Response:
        """The accounts that use most, or have limits of their own, beside what they may use."""
        return self.page(selectors.busiest_users())


class Accounts(ListView):
    permission_classes = FOR_STAFF

    @operation("List what accounts keep", answers=StorageUseSerializer, many=True)
    def get(self, request: Request) -> Response:
        """Accounts that keep anything, those whose things take up most bytes first."""
        return self.page(selectors.accounts_by_size(), _kept)


def _kept(users: Iterable[Any]) -> list[dict[str, Any]]:
    uses = [selectors.storage_use(user) for user in users]
    return list(StorageUseSerializer(uses, many=True).data)


class StorageView(ApiView):
    permission_classes = FOR_STAFF

    @operation("Read what is kept", answers=StorageSerializer)
    def get(self, request: Request) -> Response:
        """Scored sentences, runs, bytes of tables and folders, as they were within the last five minutes."""
        found = storage()
        folders = [
            {"name": name, "bytes": size, "at_least": name in found.cut} for name, size in found.folders
        ]
        tables = [{"name": name, "bytes": size} for name, size in found.tables]
        facts = vars(found) | {"over": found.over, "folders": folders, "tables": tables}
        return self.answer(facts)


class Tidy(ApiView):
    permission_classes = FOR_STAFF
    token_scope = Scope.RUN

    @operation("Tidy up", answers=JobSerializer, status=202)
    def post(self, request: SignedInApiRequest) -> Response:
        """Queues a job, or names the one under way: scored sentences go down to the budget, plans of finished runs go.
        Results stay."""
        job = services.ask_for(TIDY, actor=request.user)
        return self.answer(job, "api-job", job.pk)


class CleanUp(ApiView):
    permission_classes = FOR_STAFF

    @operation("Look at what is old", query=AgeQuery, answers=OldSerializer)
    def get(self, request: Request) -> Response:
        """How much would go: jobs that ended so long ago, and runs that few could see. Nothing is deleted."""
        before = actors.moment(self.query["days"])
        return self.answer(actors.totals(before) | {"days": self.query["days"]})

    @operation("Delete what is old", takes=CleanUpBody, answers=JobSerializer, status=202)
    def post(self, request: SignedInApiRequest) -> Response:
        """Queues a job, or names the one under way. Look first: it cannot be undone."""
        body = self.body()
        job = services.ask_to_clean_up(body["days"], body["what"], actor=request.user)
        return self.answer(job, "api-job", job.pk)


class Doctor(ApiView):
    permission_classes = FOR_STAFF
    token_scope = Scope.RUN

    @operation("Read the doctor's checks", answers=ChecksSerializer)
    def get(self, request: Request) -> Response:
        """What the newest checks found on a worker's machine."""
        job = selectors.last_job(DOCTOR)
        checks = [{"level": level, "text": text} for level, text in selectors.doctor_lines(job)]
        return self.answer({"job": job, "checks": checks})

    @operation("Run the doctor's checks", answers=JobSerializer, status=202)
    def post(self, request: SignedInApiRequest) -> Response:
        """Queues a job, or names the one under way. GET has what it finds."""
        job = services.ask_for(DOCTOR, actor=request.user)
        return self.answer(job, "api-staff-doctor")


urlpatterns = [
    path("staff/workers/", Workers.as_view(), name="api-staff-workers"),
    path("staff/failures/", Failures.as_view(), name="api-staff-failures"),
    path("staff/users/", Users.as_view(), name="api-staff-users"),
    path("staff/accounts/", Accounts.as_view(), name="api-staff-accounts"),
    path("staff/storage/", StorageView.as_view(), name="api-staff-storage"),
    path("staff/tidy/", Tidy.as_view(), name="api-staff-tidy"),
    path("staff/clean-up/", CleanUp.as_view(), name="api-staff-clean-up"),
    path("staff/doctor/", Doctor.as_view(), name="api-staff-doctor"),
]
