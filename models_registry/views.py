"""Pages of registered models."""

from __future__ import annotations

from collections.abc import Callable

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST, require_safe

from gym.accounts.errors import TooManyJobs
from gym.sharing.rooms import Room
from models_registry import permissions, services
from models_registry.forms import CardForm, RegisterForm, SourceForm
from models_registry.models import AGENT, RegisteredModel
from models_registry.selectors import used_in, visible_to

ROOM = Room("model", "api-model", "model-list", "Models", visible_to)


@require_safe
def model_list(request: HttpRequest) -> HttpResponse:
    """Context: models."""
    return render(request, "models_registry/list.html", {"models": visible_to(request.user)})


@login_required
def model_register(request: HttpRequest) -> HttpResponse:
    """Context: form, may_approve (staff's registrations are checked at once), model_dir."""
    form = RegisterForm(request.POST or None, owner=request.user)
    if request.method == "POST" and form.is_valid():
        given = form.cleaned_data
        try:
            model = services.register_model(
                actor=request.user,
                slug=given["slug"],
                name=given["name"],
                backend=given["backend"],
                config=given["config"],
                secrets=given["secrets"],
                **form.card(),
            )
        except (ValidationError, TooManyJobs) as error:
            form.add_error(None, error.messages if isinstance(error, ValidationError) else str(error))
        else:
            messages.success(request, _what_now(model, "Registered"))
            return redirect(model)
    context = {"form": form, "may_approve": permissions.can_approve(request.user)}
    return render(request, "models_registry/register.html", context, status=_form_status(request))


@require_safe
def model_status(request: HttpRequest, slug: str) -> HttpResponse:
    """The status line alone, polled while a check is under way. Context: model."""
    model = _visible(request, slug)
    if model.backend == AGENT:
        return redirect("agent-server-status", slug)
    return render(request, "models_registry/_status.html", {"model": model})


@login_required
def model_edit(request: HttpRequest, slug: str) -> HttpResponse:
    """Context: model, form."""
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
def model_correct(request: HttpRequest, slug: str) -> HttpResponse:
    """What the model is, and its end. Context: model, form, used_in (what keeps it as it is), may_approve."""
    model = _managed(request, slug)
    if model.backend == AGENT:
        return redirect(model)
    form = SourceForm(request.POST or None, model=model)
    if request.method == "POST" and form.is_valid():
        given = {name: form.cleaned_data[name] for name in ("backend", "config", "secrets")}
        try:
            services.correct_model(model, actor=request.user, **given)
        except (ValidationError, TooManyJobs) as error:
            form.add_error(None, error.messages if isinstance(error, ValidationError) else str(error))
        else:
            messages.success(request, _what_now(model, "Corrected"))
            return redirect(model)
    context = {
        "model": model,
        "form": form,
        "used_in": used_in(model),
        "may_approve": permissions.can_approve(request.user),
    }
    return render(request, "models_registry/correct.html", context, status=_form_status(request))


@login_required
@require_POST
def model_delete(request: HttpRequest, slug: str) -> HttpResponse:
    model = _managed(request, slug)
    try:
        services.delete_model(model, actor=request.user)
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
        return redirect(model)
    messages.success(request, f"{model.name} is deleted.")
    return redirect("model-list")


@login_required
@require_POST
def model_check(request: HttpRequest, slug: str) -> HttpResponse:
    model = _visible(request, slug)
    return _queue_check(request, model, services.check_model, "The check is queued.")


@login_required
@require_POST
def model_approve(request: HttpRequest, slug: str) -> HttpResponse:
    model = _visible(request, slug)
    return _queue_check(request, model, services.approve_model, "Approved. The check is queued.")


@login_required
@require_POST
def model_refuse(request: HttpRequest, slug: str) -> HttpResponse:
    """POST reason."""
    model = _visible(request, slug)
    try:
        services.refuse_model(model, request.POST.get("reason", ""), actor=request.user)
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    else:
        messages.success(request, "Refused. Its owner reads why on this page.")
    return redirect(model)


def _queue_check(
    request: HttpRequest, model: RegisteredModel, act: Callable[..., None], done: str
) -> HttpResponse:
    try:
        act(model, actor=request.user)
    except (ValidationError, TooManyJobs) as error:
        messages.error(
            request, " ".join(error.messages) if isinstance(error, ValidationError) else str(error)
        )
    else:
        messages.success(request, done)
    return redirect(model)


def _visible(request: HttpRequest, slug: str) -> RegisteredModel:
    return get_object_or_404(visible_to(request.user), slug=slug)


def _managed(request: HttpRequest, slug: str) -> RegisteredModel:
    model = _visible(request, slug)
    if not permissions.can_manage(request.user, model):
        raise PermissionDenied("only its owner corrects and deletes a model")
    return model


def _what_now(model: RegisteredModel, done: str) -> str:
    if model.status == RegisteredModel.Status.UNAPPROVED:
        return f"{done}. Staff has to approve it before it is loaded."
    return f"{done}. The check is queued."


def _form_status(request: HttpRequest) -> int:
    return 400 if request.method == "POST" else 200
