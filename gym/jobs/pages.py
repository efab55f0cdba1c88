"""Helpers for pages about objects that have a job: live progress, and buttons that call a service."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from gym.accounts.errors import LimitReached
from gym.accounts.models import AnyUser
from gym.jobs.errors import WrongState
from gym.jobs.models import Job
from gym.jobs.selectors import note_silence, place_in_queue

STOP_POLLING = 286
LOST = "lost"


def progress_of(job: Job | None, user: AnyUser, state: str = "") -> dict[str, Any]:
    """Return the context for templates that extend includes/progress.html. `state`: the object's state, if it differs
    from its job's."""
    if job is not None:
        note_silence([job])
    return {
        "job": job,
        "state": state or (job.state if job is not None else LOST),
        "behind": "" if job is None or job.waits_for else place_in_queue(job, user),
    }


def polled(request: HttpRequest, template: str, context: dict[str, Any], *, final: bool) -> HttpResponse:
    """Render the live part of a page for htmx, which polls until the state is final and then reloads the page."""
    response = render(request, template, context, status=STOP_POLLING if final else 200)
    if final:
        response["HX-Refresh"] = "true"
    return response


def act(
    request: HttpRequest, obj: Any, use_case: Callable[..., Any], done: str = "", *, to: Any = None
) -> HttpResponse:
    """Call a use case, show `done` or its error as a message, and redirect to the object's page; after success to `to`,
    if given."""
    try:
        use_case(obj, actor=request.user)
    except (ValidationError, LimitReached, WrongState) as error:
        show_error(request, error)
        return redirect(obj)
    if done:
        messages.success(request, done)
    return redirect(to or obj)


def show_error(request: HttpRequest, error: Exception) -> None:
    """Show an error of a service as a message on the next page."""
    messages.error(request, " ".join(getattr(error, "messages", [str(error)])))
