"""A model's page: card and results."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_safe

from gym.runs.pages.export_views import EXPORT_TABLES
from gym.runs.pages.leaderboard_figures import against_others
from gym.runs.read.scores import scored_runs
from gym.runs.read.selectors import latest_of_model
from gym.sharing.permissions import may_read
from lmgym.models.backends import BACKENDS
from lmgym.runs.rules import RULES, rule_of
from models_registry import permissions
from models_registry.models import AGENT, RegisteredModel
from models_registry.selectors import visible_to
from models_registry.series import members


@require_safe
def model_detail(request: HttpRequest, slug: str) -> HttpResponse:
    """Show a model. Context: model, backend (BackendSpec), facts, scores (Scored, best first), rule, rules, may_edit,
    may_manage, may_see_people, may_approve, waits (for staff), series (step and model of each checkpoint), n_waiting
    (checkpoints that wait for approval), export_tables, and the context of
    gym.runs.pages.leaderboard_figures.against_others. Agents redirect to their own page."""
    model = get_object_or_404(visible_to(request.user), slug=slug)
    if model.backend == AGENT:
        return redirect(model)
    series = members(request.user, model)
    rule = rule_of(request.GET.get("rule", ""))
    may_see_people = may_read(request.user, model)
    context = {
        "model": model,
        "backend": BACKENDS.get(model.backend),
        "facts": model.facts,
        "scores": scored_runs(latest_of_model(request.user, model), rule, results=False),
        "rule": rule,
        "rules": list(RULES.values()),
        "may_edit": may_see_people and permissions.can_edit(request.user, model),
        "may_manage": permissions.can_manage(request.user, model),
        "may_see_people": may_see_people,
        "may_approve": permissions.can_approve(request.user),
        "waits": model.status in (RegisteredModel.Status.UNAPPROVED, RegisteredModel.Status.REFUSED),
        "series": series,
        "n_waiting": sum(row.status == RegisteredModel.Status.UNAPPROVED for _, row in series),
        "export_tables": EXPORT_TABLES,
        **against_others(request.user, model, rule),
    }
    return render(request, "models_registry/detail.html", context)
