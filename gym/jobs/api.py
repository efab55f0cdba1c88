"""Shared parts of API operations that involve jobs: 429 and 409 problems, reasons for waiting, polling."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers
from rest_framework.permissions import IsAuthenticated
from rest_framework.response import Response

from gym.accounts.errors import LimitReached
from gym.api.base import ApiView
from gym.api.errors import ApiProblem, problem_for
from gym.api.permissions import TokenScope
from gym.jobs.errors import WrongState
from gym.jobs.models import ACTIVE_STATES, Job, State
from gym.jobs.selectors import behind

WAIT = 60
RESULTS_WAIT = 5


@problem_for(LimitReached)
def _too_many(error: LimitReached) -> ApiProblem:
    """Return a 429. The error's `wait`: seconds until the limit allows the request; None if waiting does not help."""
    wait = getattr(error, "wait", WAIT)
    return ApiProblem(429, str(error), "limit-reached", headers={"Retry-After": str(wait)} if wait else {})


@problem_for(WrongState)
def _wrong_state(error: WrongState) -> ApiProblem:
    return ApiProblem(409, str(error), "wrong-state")


def results_unavailable(what: str, job: Job | None, why: str = "") -> ApiProblem:
    """Return a 409 for missing results.

    Args:
        what: the subject of the message, such as "This run".
        job: the job that computes them, or None. While it is active, the problem has Retry-After.
        why: what to do instead; default: the job's error.
    """
    if job is not None and job.is_active:
        detail = f"{what} is {job.state}. Its results will be available when it is done."
        return ApiProblem(409, detail, "unfinished", headers={"Retry-After": str(RESULTS_WAIT)})
    why = why or (job.error if job is not None else "")
    return ApiProblem(409, f"{what} has no results. {why}".strip(), "no-results")


def waiting_reason(field: serializers.Field[Any, Any, Any, Any], job: Job) -> str:
    """Return why a job waits, in words for the requesting user. Empty in lists, since it takes several queries."""
    is_listed = isinstance(field.root, serializers.ListSerializer)
    return "" if is_listed else behind(job, field.context["request"].user)


class WaitingReasonField(serializers.CharField):
    """Read-only field that describes why a queued job is waiting."""

    def __init__(self, **more: Any) -> None:
        help_text = "what the queued job is waiting for, in words; empty in lists and if it is not queued"
        super().__init__(source="*", read_only=True, help_text=help_text, **more)

    def to_representation(self, job: Any) -> str:
        return waiting_reason(self, job)


class PolledView(ApiView):
    """Base class for operations that wait briefly for a job. If it takes longer, the client polls."""

    permission_classes = [IsAuthenticated, TokenScope]
    failure_code: str
    """Problem code of the 422 response."""

    def respond_or_wait(self, result: dict[str, Any], job: Job | None, place: str, address: Any) -> Response:
        """Respond 200 with the result, 202 while the job is active, or 422 if it ended without one."""
        if result["state"] not in (*ACTIVE_STATES, State.DONE):
            reason = job.error if job is not None and job.error else "The job was cancelled."
            raise ApiProblem(422, reason, self.failure_code)
        response = self.respond(result, place, address)
        if result["state"] != State.DONE:
            response.status_code = 202
            response["Retry-After"] = "1"
        return response
