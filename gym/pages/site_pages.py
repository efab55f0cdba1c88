"""Pages that do not belong to an app: front page, home, how scores are computed, queue."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from gym.accounts.models import AnyUser
from gym.jobs.models import Job
from gym.jobs.selectors import broker_problem_of, note_silence, queue_summary, waited_for, workers
from gym.pages import retention
from gym.pages.dashboard import dashboard_of
from gym.runs.read.leaderboard.build import home_table
from gym.runs.read.selectors import listed_runs, under_way
from lmgym.runs.rules import RULES, rule_of
from models_registry.selectors import visible_to as visible_models
from suites.selectors import visible_to as visible_suites

if TYPE_CHECKING:
    from gym.runs.models import SuiteRun

MOST_SUITES, MOST_MODELS = 25, 12
"""Size limits of the table on the front page; the leaderboard shows everything."""


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """Show the front page, or the home page of a signed-in user.

    Context: rule, rules; signed in: own (Dashboard), has_models; else table (HomeTable), has_suites, active_runs
    (queued or running, newest first)."""
    rule = rule_of(request.GET.get("rule", ""))
    context: dict[str, Any] = {"rule": rule, "rules": list(RULES.values())}
    if request.user.is_authenticated:
        own = dashboard_of(request.user)
        has_models = not own.is_empty or visible_models(request.user).exists()
        return render(request, "own_home.html", context | {"own": own, "has_models": has_models})
    active = list(under_way(listed_runs(request.user))[:10])
    note_silence(run.job for run in active)
    table = home_table(request.user, rule, most_suites=MOST_SUITES, most_models=MOST_MODELS)
    context |= {"table": table, "active_runs": active}
    context |= {"has_suites": bool(table.models) or visible_suites(request.user).exists()}
    return render(request, "home.html", context)


@require_safe
def about(request: HttpRequest) -> HttpResponse:
    """Explain how scores are computed."""
    return render(request, "about.html")


@require_safe
def retention_policy(request: HttpRequest) -> HttpResponse:
    """Show how long data are kept. Context: expiring, lasting (retention.Rule)."""
    context = {"expiring": retention.expiring(), "lasting": retention.LASTING}
    return render(request, "retention.html", context)


@require_safe
def queue(request: HttpRequest) -> HttpResponse:
    """Show workers and waiting jobs. Context: workers, broker_problem, summary, runs (unfinished, visible to this
    user), missing (resources that jobs wait for, with the number of these jobs)."""
    runs = under_way(listed_runs(request.user))
    listed = list(runs.order_by("job__created")[:50])
    note_silence(run.job for run in listed)
    all_workers = workers()
    context = {
        "workers": all_workers,
        "broker_problem": broker_problem_of(all_workers),
        "summary": queue_summary(all_workers),
        "missing": waited_for(_jobs_seen(request.user, runs)),
        "runs": listed,
    }
    return render(request, "queue.html", context)


def _jobs_seen(user: AnyUser, runs: QuerySet[SuiteRun]) -> QuerySet[Job]:
    """Return the jobs of visible runs and the user's own jobs; all jobs for staff."""
    if user.is_staff:
        return Job.objects.all()
    owned = Q(owner=user) if user.is_authenticated else Q()
    return Job.objects.filter(Q(suite_run__in=runs.values("pk")) | owned)
