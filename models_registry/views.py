"""Pages for registered models."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST, require_safe

from gym.accounts.errors import LimitReached
from gym.accounts.requests import SignedInRequest
from gym.jobs.pages import act
from gym.sharing.shareable import Shareable
from lmgym.models.backends.downloads import reads_files
from models_registry import packaged, permissions, series, services
from models_registry.forms import CardForm, RegisterForm, SourceForm
from models_registry.hub_tokens import may_use_site_token
from models_registry.models import AGENT, RegisteredModel
from models_registry.selectors import ModelFilter, used_in, visible_to

SHAREABLE = Shareable("model", "model-list", "Models", visible_to)


@require_safe
def model_list(request: HttpRequest) -> HttpResponse:
    """List models. Context: models, wrong; for staff also offered [(PackagedModel, its active Job or None)]."""
    filtered = ModelFilter(request.GET, queryset=visible_to(request.user), request=request)
    wrong = [message for messages_ in filtered.errors.values() for message in messages_]
    context: dict[str, Any] = {
        "models": RegisteredModel.objects.none() if wrong else filtered.qs,
        "wrong": wrong,
    }
    if permissions.can_approve(request.user):
        context["offered"] = packaged.offered()
    return render(request, "models_registry/list.html", context, status=400 if wrong else 200)


@login_required
@require_POST
def model_fetch(request: SignedInRequest, name: str) -> HttpResponse:
    try:
        job = packaged.queue_fetch(name, actor=request.user)
    except (ValidationError, LimitReached) as error:
        messages.error(request, " ".join(_messages(error)))
    else:
        messages.success(request, f"{job.title}: queued.")
    return redirect("model-list")


@login_required
def model_register(request: SignedInRequest) -> HttpResponse:
    """Register a model. Models read from files are reviewed first (POST `reviewed` or `back`). Context: form,
    may_approve (models of staff are checked right away); for the review also that of `_review`."""
    form = RegisterForm(request.POST or None, owner=request.user)
    context = {"form": form, "may_approve": permissions.can_approve(request.user)}
    if request.method == "POST" and form.is_valid():
        if "back" in request.POST:
            return render(request, "models_registry/register.html", context)
        if form.cleaned_data["revisions"]:
            return _register_series(request, form, context)
        if not _is_reviewed(request, form):
            return _review(request, form.source(), context)
        try:
            model = services.register_model(actor=request.user, **form.source(), **form.card())
        except (ValidationError, LimitReached) as error:
            form.add_error(None, _messages(error))
        else:
            messages.success(request, _done_text(model, "Registered"))
            return redirect(model)
    return render(request, "models_registry/register.html", context, status=_form_status(request))


def _register_series(request: SignedInRequest, form: RegisterForm, context: dict[str, Any]) -> HttpResponse:
    """Review or register the checkpoints of a valid form. Context of the review: form, download (SeriesDownload),
    may_approve."""
    source, revisions = form.source(), form.cleaned_data["revisions"]
    try:
        if "reviewed" not in request.POST:
            checkpoints = series.choose_checkpoints(**source, revisions=revisions, actor=request.user)
            download = series.download_of_series(source["config"], checkpoints, actor=request.user)
            return render(request, "models_registry/review_series.html", {**context, "download": download})
        models = series.register_series(actor=request.user, **source, **form.card(), revisions=revisions)
    except (ValidationError, LimitReached) as error:
        form.add_error("revisions", _messages(error))
        return render(request, "models_registry/register.html", context, status=400)
    messages.success(request, _done_text(models[0], f"Registered {_checkpoints(models)}"))
    return redirect(models[0])


def _checkpoints(models: Sequence[RegisteredModel]) -> str:
    return "1 checkpoint" if len(models) == 1 else f"{len(models):,} checkpoints"


@require_safe
def model_status(request: HttpRequest, slug: str) -> HttpResponse:
    """Render the status line, polled while a check is active. Context: model, may_edit."""
    model = _visible(request, slug)
    if model.backend == AGENT:
        return redirect("agent-server-status", slug)
    context = {"model": model, "may_edit": permissions.can_edit(request.user, model)}
    return render(request, "models_registry/_status.html", context)


@login_required
def model_edit(request: SignedInRequest, slug: str) -> HttpResponse:
    """Edit a model's card and, for those who manage it, its secrets. Context: model, form."""
    model = _visible(request, slug)
    if not permissions.can_edit(request.user, model):
        raise PermissionDenied("you may not edit this model")
    may_manage = permissions.can_manage(request.user, model)
    form = CardForm(
        request.POST or None, instance=RegisteredModel.objects.get(pk=model.pk), may_manage=may_manage
    )
    if request.method == "POST" and form.is_valid():
        services.edit_card(model, actor=request.user, **form.card())
        if may_manage:
            services.change_secrets(model, form.secrets(), actor=request.user)
        messages.success(request, "Saved.")
        return redirect(model)
    context = {"model": model, "form": form}
    return render(request, "models_registry/edit.html", context, status=_form_status(request))


@login_required
def model_correct(request: SignedInRequest, slug: str) -> HttpResponse:
    """Correct the source of an unused model, reviewed like a new one, or delete it. Context: model, form, used_in
    (objects that prevent both), may_approve."""
    model = _managed(request, slug)
    if model.backend == AGENT:
        return redirect(model)
    form = SourceForm(request.POST or None, owner=model.owner, model=model)
    context = {
        "model": model,
        "form": form,
        "used_in": used_in(model),
        "may_approve": permissions.can_approve(request.user),
    }
    if request.method == "POST" and form.is_valid():
        if "back" in request.POST:
            return render(request, "models_registry/correct.html", context)
        if not context["used_in"] and not _is_reviewed(request, form):
            return _review(request, form.source(), context)
        try:
            services.correct_model(model, actor=request.user, **form.source())
        except (ValidationError, LimitReached) as error:
            form.add_error(None, _messages(error))
        else:
            messages.success(request, _done_text(model, "Corrected"))
            return redirect(model)
    return render(request, "models_registry/correct.html", context, status=_form_status(request))


@login_required
@require_POST
def model_delete(request: HttpRequest, slug: str) -> HttpResponse:
    model = _managed(request, slug)
    return act(request, model, services.delete_model, f"{model.name} was deleted.", to="model-list")


@login_required
@require_POST
def model_check(request: HttpRequest, slug: str) -> HttpResponse:
    return act(request, _visible(request, slug), services.check_model, "The check is queued.")


@login_required
@require_POST
def model_cancel_check(request: HttpRequest, slug: str) -> HttpResponse:
    return act(request, _visible(request, slug), services.cancel_check, "The check is being cancelled.")


@login_required
@require_POST
def model_start_token(request: HttpRequest, slug: str) -> HttpResponse:
    """Set the start token. POST `token`; empty: no start token."""
    change = partial(services.change_start_token, token=request.POST.get("token", "") or None)
    done = "The start token was changed. New runs use it; existing runs keep theirs."
    return act(request, _managed(request, slug), change, done)


@login_required
@require_POST
def model_approve(request: HttpRequest, slug: str) -> HttpResponse:
    """Approve a model. Models read from files are reviewed first (POST `reviewed`)."""
    model = _visible(request, slug)
    may_approve = permissions.can_approve(request.user)
    if may_approve and reads_files(model.backend) and "reviewed" not in request.POST:
        source = {"backend": model.backend, "config": model.config}
        return _review(request, source, {"model": model, "may_approve": may_approve})
    return act(request, model, services.approve_model, "Approved. The check is queued.")


@login_required
@require_POST
def model_approve_series(request: SignedInRequest, slug: str) -> HttpResponse:
    """Approve all waiting checkpoints of a model's series, after a review (POST `reviewed`). Context of the review:
    model, download (SeriesDownload), may_approve."""
    model = _visible(request, slug)
    if not permissions.can_approve(request.user):
        raise PermissionDenied("only staff may approve models")
    if "reviewed" not in request.POST and (waiting := series.waiting_members(request.user, model)):
        context = {"model": model, "download": series.download_of_members(waiting), "may_approve": True}
        return render(request, "models_registry/review_series.html", context)
    return act(request, model, series.approve_series, "Approved. The checks are queued.")


@login_required
@require_POST
def model_refuse(request: HttpRequest, slug: str) -> HttpResponse:
    """Refuse a model. POST `reason`."""
    refuse = partial(services.refuse_model, reason=request.POST.get("reason", ""))
    return act(request, _visible(request, slug), refuse, "Refused. The owner sees the reason on this page.")


def _is_reviewed(request: HttpRequest, form: SourceForm) -> bool:
    return not form.reads_files() or "reviewed" in request.POST


def _review(request: HttpRequest, source: dict[str, Any], context: dict[str, Any]) -> HttpResponse:
    """Show the files that a model would download. Context: download, site_token (whether the check uses the
    site's token), may_approve, form (valid; absent when approving), model (when correcting or approving)."""
    model = context.get("model")
    download = services.download_of(**source, actor=request.user, model=model)
    site_token = may_use_site_token(model.owner if model else request.user)
    return render(
        request, "models_registry/review.html", {**context, "download": download, "site_token": site_token}
    )


def _visible(request: HttpRequest, slug: str) -> RegisteredModel:
    return get_object_or_404(visible_to(request.user), slug=slug)


def _managed(request: HttpRequest, slug: str) -> RegisteredModel:
    model = _visible(request, slug)
    if not permissions.can_manage(request.user, model):
        raise PermissionDenied("only its owner and staff may correct or delete a model")
    return model


def _done_text(model: RegisteredModel, done: str) -> str:
    if model.status == RegisteredModel.Status.UNAPPROVED:
        return f"{done}. Staff have to approve it before it is loaded."
    return f"{done}. The check is queued."


def _messages(error: ValidationError | LimitReached) -> list[str]:
    return error.messages if isinstance(error, ValidationError) else [str(error)]


def _form_status(request: HttpRequest) -> int:
    return 400 if request.method == "POST" else 200
