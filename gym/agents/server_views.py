"""Pages for agent servers."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST, require_safe

from gym.accounts.errors import LimitReached
from gym.accounts.requests import SignedInRequest
from gym.agents import selectors, services
from gym.agents.forms import ServerForm, changed_secrets
from gym.agents.models import AgentServer
from gym.agents.presenters import call_tree
from gym.agents.views import add_errors
from gym.jobs.pages import act
from gym.sharing.permissions import may_read
from models_registry import permissions as model_permissions


def _visible(request: HttpRequest, slug: str) -> AgentServer:
    return get_object_or_404(selectors.servers_visible_to(request.user), model__slug=slug)


def _editable(request: HttpRequest, slug: str) -> AgentServer:
    server = _visible(request, slug)
    if not model_permissions.can_edit(request.user, server.model):
        raise PermissionDenied("this server belongs to another user, and you are not one of its editors")
    return server


@require_safe
def server_detail(request: HttpRequest, slug: str) -> HttpResponse:
    """Show a server. Context: server, model, graphs [(agent, list of CallLine)], runs, more_runs, may_edit
    (may check again), may_see_people, may_manage (may also see the address and the names of secrets)."""
    server = _visible(request, slug)
    runs, more_runs = selectors.first_runs(selectors.runs_visible_to(request.user).filter(server=server))
    context = {
        "server": server,
        "model": server.model,
        "graphs": [(name, call_tree(nodes)) for name, nodes in server.graphs.items() if nodes],
        "runs": runs,
        "more_runs": more_runs,
        "may_edit": model_permissions.can_edit(request.user, server.model),
        "may_see_people": may_read(request.user, server.model),
        "may_manage": model_permissions.can_manage(request.user, server.model),
    }
    return render(request, "agents/server.html", context)


@require_safe
def server_status(request: HttpRequest, slug: str) -> HttpResponse:
    """Show only the status line, polled during a check. Context: server, model."""
    server = _visible(request, slug)
    return render(request, "agents/_server_status.html", {"server": server, "model": server.model})


@login_required
def server_new(request: SignedInRequest) -> HttpResponse:
    """Register a server. Context: form, server (None)."""
    form = ServerForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            server = services.register_server(actor=request.user, **form.cleaned_data)
        except (ValidationError, LimitReached) as error:
            add_errors(form, error)
        else:
            messages.success(request, "The server was registered, and its check is queued.")
            return redirect(server)
    status = 400 if form.errors else 200
    return render(request, "agents/server_form.html", {"form": form, "server": None}, status=status)


@login_required
def server_edit(request: SignedInRequest, slug: str) -> HttpResponse:
    """Change the connection to a server. Context: form, server."""
    server = _visible(request, slug)
    if not model_permissions.can_manage(request.user, server.model):
        raise PermissionDenied("only the owner and staff can change the address of a server")
    form = ServerForm(request.POST or None, instance=AgentServer.objects.get(pk=server.pk))
    if request.method == "POST" and form.is_valid():
        data = form.cleaned_data
        try:
            services.change_server(
                server,
                actor=request.user,
                url=data["url"],
                chat_model=data["chat_model"],
                secret_headers=changed_secrets(server.secrets, data["secret_headers"]),
            )
        except (ValidationError, LimitReached) as error:
            add_errors(form, error)
        else:
            messages.success(request, "Saved. The check is queued.")
            return redirect(server)
    status = 400 if form.errors else 200
    return render(request, "agents/server_form.html", {"form": form, "server": server}, status=status)


@login_required
@require_POST
def server_delete(request: HttpRequest, slug: str) -> HttpResponse:
    server = _editable(request, slug)
    done = f"The server {server.model.name} was deleted."
    return act(request, server, services.delete_server, done, to="agent-home")


@login_required
@require_POST
def server_check(request: HttpRequest, slug: str) -> HttpResponse:
    return act(request, _editable(request, slug), services.queue_check, "The check is queued.")
