"""Jobs in the REST API: your own, and how they fare."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers
from rest_framework.permissions import IsAuthenticated
from rest_framework.response import Response

from gym.accounts.errors import TooManyJobs
from gym.api.base import ApiView
from gym.api.errors import ApiProblem, answers
from gym.api.permissions import TokenScope
from gym.jobs.errors import WrongState
from gym.jobs.models import ACTIVE_STATES, Job, State
from gym.jobs.selectors import behind

WAIT = 60
RESULTS_WAIT = 5


@answers(TooManyJobs)
def _too_many(error: TooManyJobs) -> ApiProblem:
    """`wait` on the error: seconds until this much is allowed again; None when waiting does not help."""
    wait = getattr(error, "wait", WAIT)
    return ApiProblem(429, str(error), "too-much", headers={"Retry-After": str(wait)} if wait else {})


@answers(WrongState)
def _wrong_state(error: WrongState) -> ApiProblem:
    return ApiProblem(409, str(error), "wrong-state")


def no_results(what: str, job: Job | None, why: str = "") -> ApiProblem:
    """409 for results of `what` ("This run") that are not there. While its job is under way it says in how many seconds
    to ask again; else asking again does not help: `why`, or the job's error, says what does, without Retry-After."""
    if job is not None and job.is_active:
        detail = f"{what} is {job.state}: its results are there when it is done."
        return ApiProblem(409, detail, "unfinished", headers={"Retry-After": str(RESULTS_WAIT)})
    why = why or (job.error if job is not None else "")
    return ApiProblem(409, f"{what} has no results. {why}".strip(), "no-results")


def told_behind(field: serializers.Field[Any, Any, Any, Any], job: Job) -> str:
    """`behind` for the person who asks; empty in lists, as it takes several queries."""
    is_listed = isinstance(field.root, serializers.ListSerializer)
    return "" if is_listed else behind(job, field.context["request"].user)


class BehindField(serializers.CharField):
    """What a queued job waits for, in words."""

    def __init__(self, **more: Any) -> None:
        told = "what it is waiting for, in words; empty in lists and when it is not waiting"
        super().__init__(source="*", read_only=True, help_text=told, **more)

    def to_representation(self, job: Any) -> str:
        return told_behind(self, job)


class WaitedForView(ApiView):
    """What a request waits for a moment, and asks for again when that was not enough."""

    permission_classes = [IsAuthenticated, TokenScope]
    nothing: str
    """Code of the 422."""

    def answer_or_wait(self, found: dict[str, Any], job: Job | None, place: str, address: Any) -> Response:
        """200 with what the job found, 202 while it is waited for, 422 when there will be nothing."""
        if found["state"] not in (*ACTIVE_STATES, State.DONE):
            reason = job.error if job is not None and job.error else "The job was cancelled."
            raise ApiProblem(422, reason, self.nothing)
        response = self.answer(found, place, address)
        if found["state"] != State.DONE:
            response.status_code = 202
            response["Retry-After"] = "1"
        return response
