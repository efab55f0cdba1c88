"""Jobs and the queue in the REST API."""

from __future__ import annotations

from typing import Any

import django_filters
from django.db.models import QuerySet
from django.urls import path
from rest_framework import serializers
from rest_framework.permissions import IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response

from gym.accounts.errors import TooManyJobs
from gym.accounts.models import AnyUser, Scope
from gym.api.base import ApiView, ListView, ObjectView
from gym.api.errors import ApiProblem, answers
from gym.api.filters import Filters
from gym.api.operations import operation
from gym.api.permissions import TokenScope
from gym.jobs.errors import WrongState
from gym.jobs.models import ACTIVE_STATES, Job, State
from gym.jobs.selectors import WorkerView, behind, position_in_queue, queue_summary, workers
from gym.jobs.services import request_cancel, retry

WAIT = 60
RESULTS_WAIT = 5


@answers(TooManyJobs)
def _too_many(error: TooManyJobs) -> ApiProblem:
    """429. `wait` of the error: seconds until this is allowed again; None if waiting does not help."""
    wait = getattr(error, "wait", WAIT)
    return ApiProblem(429, str(error), "too-much", headers={"Retry-After": str(wait)} if wait else {})


@answers(WrongState)
def _wrong_state(error: WrongState) -> ApiProblem:
    return ApiProblem(409, str(error), "wrong-state")


def jobs_of(user: AnyUser) -> QuerySet[Job]:
    """Jobs visible to a user: their own, all for staff. Titles and logs can name private things."""
    return Job.objects.all() if user.is_staff else Job.objects.filter(owner=user.pk)


def no_results(what: str, job: Job | None, why: str = "") -> ApiProblem:
    """Build the 409 for missing results of `what` ("This run"). While its job is active, Retry-After says when to ask
    again; otherwise `why` or the error of the job says what to do."""
    if job is not None and job.is_active:
        detail = f"{what} is {job.state}. Its results are available when it is done."
        return ApiProblem(409, detail, "unfinished", headers={"Retry-After": str(RESULTS_WAIT)})
    why = why or (job.error if job is not None else "")
    return ApiProblem(409, f"{what} has no results. {why}".strip(), "no-results")


def behind_for_request(field: serializers.Field[Any, Any, Any, Any], job: Job) -> str:
    """Return `behind` for the user of the request; empty in lists, because it takes several queries."""
    is_listed = isinstance(field.root, serializers.ListSerializer)
    return "" if is_listed else behind(job, field.context["request"].user)


class BehindField(serializers.CharField):
    """Description of what a queued job is waiting for."""

    def __init__(self, **more: Any) -> None:
        help_text = "what it is waiting for, in words; empty in lists and when it is not waiting"
        super().__init__(source="*", read_only=True, help_text=help_text, **more)

    def to_representation(self, job: Any) -> str:
        return behind_for_request(self, job)


class JobSerializer(serializers.ModelSerializer[Job]):
    percent = serializers.IntegerField(allow_null=True)
    eta_seconds = serializers.FloatField(allow_null=True)

    class Meta:
        model = Job
        fields = [
            "id",
            "kind",
            "title",
            "queue",
            "state",
            "done",
            "total",
            "unit",
            "percent",
            "eta_seconds",
            "error",
            "waits_for",
            "cancel_requested",
            "created",
            "started",
            "finished",
        ]
        read_only_fields = fields


class JobDetailSerializer(JobSerializer):
    position = serializers.SerializerMethodField(help_text="1 = next; null if it is not queued")
    behind = BehindField()

    class Meta(JobSerializer.Meta):
        fields = [*JobSerializer.Meta.fields, "log", "position", "behind"]
        read_only_fields = fields

    def get_position(self, job: Job) -> int | None:
        return position_in_queue(job)


class JobFilter(Filters):
    state = django_filters.ChoiceFilter(choices=Job.State.choices, label="State")
    kind = django_filters.CharFilter(label="Kind, e.g. suite_run")
    sort = django_filters.OrderingFilter(
        fields=[("created", "created"), ("kind", "kind"), ("state", "state")], label="Sort"
    )

    class Meta:
        model = Job
        fields: list[str] = []


class JobList(ListView):
    permission_classes = [IsAuthenticated, TokenScope]
    filterset_class = JobFilter

    @operation("List jobs", answers=JobSerializer, many=True)
    def get(self, request: Request) -> Response:
        """Your own, newest first; all for staff."""
        return self.page(jobs_of(request.user).order_by("-created"))


class JobView(ObjectView[Job]):
    permission_classes = [IsAuthenticated, TokenScope]
    lookup_field = "job"

    def rows_at(self, address: str) -> QuerySet[Job]:
        return jobs_of(self.request.user).filter(pk=address)

    def address_of(self, job: Job) -> str:
        return str(job.pk)


class JobDetail(JobView):
    @operation("Read a job", answers=JobDetailSerializer)
    def get(self, request: Request, job: str) -> Response:
        """State, progress, position in the queue, log."""
        return self.read()


class JobCancel(JobView):
    token_scope = Scope.RUN

    @operation("Cancel a job", answers=JobDetailSerializer)
    def post(self, request: Request, job: str) -> Response:
        """Cancel a queued job at once, or ask a running one to stop; 409 if it has ended."""
        return self.act(request_cancel)


class JobRetry(JobView):
    token_scope = Scope.RUN

    @operation("Try a job again", answers=JobDetailSerializer)
    def post(self, request: Request, job: str) -> Response:
        """Queue a failed or cancelled job again, with all its tries; 409 if it is active or done."""
        return self.act(retry)


class WaitedForView(ApiView):
    """A request that waits briefly for a job, and is repeated by the client until the job has ended."""

    permission_classes = [IsAuthenticated, TokenScope]
    nothing: str
    """Error code of the 422."""

    def answer_or_wait(self, result: dict[str, Any], job: Job | None, place: str, address: Any) -> Response:
        """Respond 200 with the result of the job, 202 while it is active, 422 if it failed or was cancelled."""
        if result["state"] not in (*ACTIVE_STATES, State.DONE):
            reason = job.error if job is not None and job.error else "The job was cancelled."
            raise ApiProblem(422, reason, self.nothing)
        response = self.answer(result, place, address)
        if result["state"] != State.DONE:
            response.status_code = 202
            response["Retry-After"] = "1"
        return response


class QueueLineSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    queued = serializers.IntegerField()
    running = serializers.IntegerField()
    workers = serializers.IntegerField(help_text="live workers that serve it")
    waiting_seconds = serializers.FloatField(help_text="of the longest-waiting job")


class WorkerSerializer(serializers.Serializer[Any]):
    host = serializers.CharField()
    pid = serializers.IntegerField()
    alive = serializers.BooleanField()
    queues = serializers.ListField(child=serializers.CharField())
    device = serializers.CharField()
    jobs = serializers.SerializerMethodField(help_text="number of running jobs")
    started = serializers.DateTimeField()

    def get_jobs(self, worker: WorkerView) -> int:
        return len(worker.jobs)


class QueueSerializer(serializers.Serializer[Any]):
    queues = QueueLineSerializer(many=True)
    workers = WorkerSerializer(many=True)


class Queue(ApiView):
    @operation("Read the queue", answers=QueueSerializer)
    def get(self, request: Request) -> Response:
        """Workers, and numbers of queued and running jobs."""
        return self.answer({"queues": queue_summary(), "workers": workers()})


urlpatterns = [
    path("queue/", Queue.as_view(), name="api-queue"),
    path("jobs/", JobList.as_view(), name="api-jobs"),
    path("jobs/<uuid:job>/", JobDetail.as_view(), name="api-job"),
    path("jobs/<uuid:job>/cancel/", JobCancel.as_view(), name="api-job-cancel"),
    path("jobs/<uuid:job>/retry/", JobRetry.as_view(), name="api-job-retry"),
]
