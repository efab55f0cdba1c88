"""Pages that belong to no room: the front page, how numbers are made, a sign of life."""

from __future__ import annotations

from django.db import connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from gym.evaluations.selectors import listed_runs, matrix
from gym.jobs.selectors import queue_summary, workers

MOST_SUITES, MOST_MODELS = 25, 12
"""Of the table on the front page; the leaderboard has all."""


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """Context: matrix (evaluations.selectors.Matrix, cut to fit), active_runs (queued or running, newest first)."""
    active = listed_runs(request.user).filter(completed_at=None, job__state__in=["queued", "running"])[:10]
    table = matrix(request.user, most_suites=MOST_SUITES, most_models=MOST_MODELS)
    return render(request, "home.html", {"matrix": table, "active_runs": active})


@require_safe
def about(request: HttpRequest) -> HttpResponse:
    """How the numbers are made."""
    return render(request, "about.html")


@require_safe
def healthz(request: HttpRequest) -> JsonResponse:
    """200 when the database answers; for supervisors and load balancers."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    return JsonResponse({"status": "ok"})


@require_safe
def queue(request: HttpRequest) -> HttpResponse:
    """Is anybody working, and what waits. Context: workers, summary, runs (unfinished ones this user may see)."""
    runs = listed_runs(request.user).filter(completed_at=None, job__state__in=["queued", "running"])
    context = {"workers": workers(), "summary": queue_summary(), "runs": runs.order_by("job__created")[:50]}
    return render(request, "queue.html", context)
