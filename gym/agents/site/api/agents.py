"""Agents: list, register, read, change, check, delete."""

from __future__ import annotations

from typing import Any

import django_filters
from django.core.exceptions import PermissionDenied
from django.utils.text import slugify
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from gym.agents.models import AgentServer
from gym.agents.site import selectors, services
from gym.agents.site.api.request_bodies import AgentAddress, NewAgent, checked_secrets, chosen
from gym.agents.site.api.serializers import AgentDetailSerializer, AgentSerializer
from gym.api.base import ApiView, ListView, get_or_404, locked
from gym.api.filters import Filters, WordsFilter
from gym.api.operations import operation
from models_registry import permissions as model_permissions
from models_registry.models import RegisteredModel
from models_registry.selectors import runnable_by


def agent_of(request: Request, slug: str) -> AgentServer:
    return get_or_404(selectors.servers_visible_to(request.user), model__slug=slug)


def editable(request: Request, slug: str) -> AgentServer:
    server = agent_of(request, slug)
    if not model_permissions.can_edit(request.user, server.model):
        raise PermissionDenied("you may not change this agent")
    return server


def shown(request: Request, slug: str) -> dict[str, Any]:
    return dict(AgentDetailSerializer(agent_of(request, slug), context={"request": request}).data)


class AgentFilter(Filters):
    kind = django_filters.ChoiceFilter(choices=AgentServer.Kind.choices, label="Kind")
    state = django_filters.ChoiceFilter(
        field_name="model__status", choices=RegisteredModel.Status.choices, label="State"
    )
    q = WordsFilter("model__name", label="Words of the name")

    class Meta:
        model = AgentServer
        fields: list[str] = []


class Agents(ListView):
    filterset_class = AgentFilter

    @operation("List agents", answers=AgentSerializer, many=True)
    def get(self, request: Request) -> Response:
        """Agent servers, chat endpoints and models that one can talk to."""
        return self.page(selectors.servers_visible_to(request.user).order_by("pk"), AgentSerializer)

    @operation("Register an agent", takes=NewAgent, answers=AgentDetailSerializer, status=201)
    def post(self, request: Request) -> Response:
        """It is asked at once who it is and which agents it has: read it until its state is ready or broken. Where
        requests may go is this site's rule."""
        body = self.body()
        headers = checked_secrets(body, "secret_headers", headers=True)
        wraps = chosen(
            runnable_by(request.user).filter(backend="causal"),
            body.pop("wraps", None),
            "$.wraps",
            "Choose a causal model that you may run.",
        )
        slug = body.pop("slug", "") or slugify(body["name"])[:80] or "agent"
        server = services.register_server(
            actor=request.user,
            slug=slug,
            wraps=wraps,
            secret_headers={name: value for name, value in headers.items() if value is not None},
            **body,
        )
        place = reverse("api-agent", args=[server.model.slug], request=request)
        return Response(shown(request, slug), status=201, headers={"Location": place})


class Agent(ApiView):
    @operation("Read an agent", answers=AgentDetailSerializer)
    def get(self, request: Request, slug: str) -> Response:
        """Its state and what it told of itself. Its card is that of the model of the same slug."""
        return Response(shown(request, slug))

    @operation("Change how an agent is reached", takes=AgentAddress, answers=AgentDetailSerializer)
    def patch(self, request: Request, slug: str) -> Response:
        """It is checked again. A new `url` takes away all secrets that are not given again, because they were meant
        for the old one. Name, visibility and description are changed at `models/`."""
        server = editable(request, slug)
        body = self.body()
        headers = checked_secrets(body, "secret_headers", headers=True)
        with locked(server):
            services.change_server(
                server,
                actor=request.user,
                url=body.get("url", server.url),
                chat_model=body.get("chat_model", server.chat_model),
                secret_headers=headers,
            )
        return Response(shown(request, slug))

    @operation("Delete an agent", status=204)
    def delete(self, request: Request, slug: str) -> Response:
        """One that has runs stays, because their results point to it."""
        services.delete_server(editable(request, slug), actor=request.user)
        return Response(status=204)


class AgentCheck(ApiView):
    @operation("Check an agent again", answers=AgentDetailSerializer, status=202)
    def post(self, request: Request, slug: str) -> Response:
        """Queued: read the agent until its state is ready or broken."""
        services.queue_check(editable(request, slug), actor=request.user)
        place = reverse("api-agent", args=[slug], request=request)
        return Response(shown(request, slug), status=202, headers={"Location": place, "Retry-After": "1"})
