"""Jobs in the REST API: your own, and how they fare."""

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
from gym.accounts.models import Scope
from gym.api.base import ApiView, ListView, get_or_404
from gym.api.errors import ApiProblem, answers
from gym.api.filters import Filters
from gym.api.operations import operation
from gym.api.permissions import TokenScope
from gym.jobs.errors import WrongState
from gym.jobs.models import Job
from gym.jobs.selectors import WorkerView, position_in_queue, queue_summary, workers
from gym.jobs.services import request_cancel, retry

WAIT = 60


@answers(TooManyJobs)
def _too_many(error: TooManyJobs) -> ApiProblem:
    """`wait` on the error: seconds until this much is allowed again; None when waiting does not help."""
    wait = getattr(error, "wait", WAIT)
    return ApiProblem(429, str(error), "too-much", headers={"Retry-After": str(wait)} if wait else {})


@answers(WrongState)
def _wrong_state(error: WrongState) -> ApiProblem:
    return ApiProblem(409, str(error), "wrong-state")


def jobs_of(user: Any) -> QuerySet[Job]:
    """A job's title and log may name private things: it is for its owner and staff."""
    return Job.objects.all() if user.is_staff else Job.objects.filter(owner=user)


class JobSerializer(serializers.ModelSerializer):
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
    position = serializers.SerializerMethodField(help_text="1 = next; null when it does not wait")

    class Meta(JobSerializer.Meta):
        fields = [*JobSerializer.Meta.fields, "log", "position"]
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
        """Your own, newest first; staff sees everybody's."""
        return self.page(jobs_of(request.user).order_by("-created"), JobSerializer)


class JobDetail(ApiView):
    permission_classes = [IsAuthenticated, TokenScope]

    @operation("Read a job", answers=JobDetailSerializer)
    def get(self, request: Request, job: str) -> Response:
        """How it fares: state, progress, place in the queue, log."""
        return Response(JobDetailSerializer(get_or_404(jobs_of(request.user), pk=job)).data)


class JobCancel(ApiView):
    permission_classes = [IsAuthenticated, TokenScope]
    token_scope = Scope.RUN

    @operation("Cancel a job", answers=JobDetailSerializer)
    def post(self, request: Request, job: str) -> Response:
        """A waiting job is cancelled at once, a running one is asked to stop; 409 when it has ended."""
        stopped = request_cancel(get_or_404(jobs_of(request.user), pk=job), actor=request.user)
        return Response(JobDetailSerializer(stopped).data)


class JobRetry(ApiView):
    permission_classes = [IsAuthenticated, TokenScope]
    token_scope = Scope.RUN

    @operation("Try a job again", answers=JobDetailSerializer)
    def post(self, request: Request, job: str) -> Response:
        """A failed or cancelled one, with fresh tries; 409 while it is under way or when it is done."""
        again = retry(get_or_404(jobs_of(request.user), pk=job), actor=request.user)
        return Response(JobDetailSerializer(again).data)


class QueueLineSerializer(serializers.Serializer):
    name = serializers.CharField()
    queued = serializers.IntegerField()
    running = serializers.IntegerField()
    workers = serializers.IntegerField(help_text="alive, that serve it")
    waiting_seconds = serializers.FloatField(help_text="of the job that waits longest")


class WorkerSerializer(serializers.Serializer):
    host = serializers.CharField()
    pid = serializers.IntegerField()
    alive = serializers.BooleanField()
    queues = serializers.ListField(child=serializers.CharField())
    device = serializers.CharField()
    jobs = serializers.SerializerMethodField(help_text="jobs it is at work on")
    started = serializers.DateTimeField()

    def get_jobs(self, worker: WorkerView) -> int:
        return len(worker.jobs)


class QueueSerializer(serializers.Serializer):
    queues = QueueLineSerializer(many=True)
    workers = WorkerSerializer(many=True)


class Queue(ApiView):
    @operation("Read the queue", answers=QueueSerializer)
    def get(self, request: Request) -> Response:
        """Is anybody working, and how much waits."""
        return Response(QueueSerializer({"queues": queue_summary(), "workers": workers()}).data)


urlpatterns = [
    path("queue/", Queue.as_view(), name="api-queue"),
    path("jobs/", JobList.as_view(), name="api-jobs"),
    path("jobs/<uuid:job>/", JobDetail.as_view(), name="api-job"),
    path("jobs/<uuid:job>/cancel/", JobCancel.as_view(), name="api-job-cancel"),
    path("jobs/<uuid:job>/retry/", JobRetry.as_view(), name="api-job-retry"),
]
