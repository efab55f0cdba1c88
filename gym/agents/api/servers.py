"""Servers of agents: list, register, read, change, check, delete."""

from __future__ import annotations

from typing import Any

import django_filters
from django.db.models import QuerySet
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from gym.accounts.requests import SignedInApiRequest
from gym.agents import selectors, services
from gym.agents.api.serializers import AgentServerDetailSerializer, AgentServerSerializer
from gym.agents.forms import secret_problem
from gym.agents.models import AgentServer
from gym.api.base import ListView, ObjectView, locked
from gym.api.errors import FieldError, invalid
from gym.api.filters import Filters, WordsFilter
from gym.api.operations import operation
from gym.api.requests import Body
from gym.secrets import MAX_LENGTH
from gym.sharing.models import PRIVATE_OR_PUBLIC, Visibility
from models_registry import permissions as model_permissions
from models_registry.models import RegisteredModel

MOST_TEXT = 20_000


def secrets(what: str) -> serializers.DictField:
    return serializers.DictField(
        child=serializers.CharField(max_length=MAX_LENGTH, allow_null=True, trim_whitespace=False),
        required=False,
        help_text=f"{what}: name -> value, encrypted, never shown again; null takes one away, others stay",
    )


class ServerAddress(Body):
    url = serializers.CharField(max_length=500, allow_blank=True, required=False)
    chat_model = serializers.CharField(
        max_length=200, allow_blank=True, required=False, help_text="name the endpoint knows its model by"
    )
    secret_headers = secrets("headers of every request to it")


class NewServer(ServerAddress):
    kind = serializers.ChoiceField(AgentServer.Kind.choices)
    name = serializers.CharField(max_length=200)
    slug = serializers.SlugField(max_length=80, required=False, help_text="default: made of the name")
    visibility = serializers.ChoiceField(PRIVATE_OR_PUBLIC, default=Visibility.PRIVATE)
    description = serializers.CharField(max_length=MOST_TEXT, allow_blank=True, default="")


def checked_secrets(body: dict[str, Any], field: str, *, headers: bool) -> dict[str, str | None]:
    """The named secrets of a body; every name or value that cannot be used is named, and no value is repeated."""
    found: dict[str, str | None] = body.pop(field, {})
    field_errors = [
        FieldError(f"$.{field}", problem)
        for name, value in found.items()
        if (problem := secret_problem(name, value or "", headers=headers))
    ]
    if field_errors:
        raise invalid(*field_errors)
    return found


def chosen(rows: Any, slug: str | None, where: str, message: str) -> Any:
    """The row of this name among those that may be chosen, or None for none."""
    if slug is None:
        return None
    row = rows.filter(slug=slug).first()
    if row is None:
        raise invalid(FieldError(where, message))
    return row


class ServerView(ObjectView[AgentServer]):
    not_yours = "you may not change this server"

    def rows_at(self, address: str) -> QuerySet[AgentServer]:
        return selectors.servers_visible_to(self.request.user).filter(model__slug=address)

    def address_of(self, server: AgentServer) -> str:
        return server.model.slug

    def may_change(self, server: AgentServer) -> bool:
        return model_permissions.can_edit(self.request.user, server.model)


class ServerFilter(Filters):
    kind = django_filters.ChoiceFilter(choices=AgentServer.Kind.choices, label="Kind")
    state = django_filters.ChoiceFilter(
        field_name="model__status", choices=RegisteredModel.Status.choices, label="State"
    )
    q = WordsFilter("model__name", label="Words of the name")

    class Meta:
        model = AgentServer
        fields: list[str] = []


class Servers(ServerView, ListView):
    filterset_class = ServerFilter

    @operation("List agent servers", answers=AgentServerSerializer, many=True)
    def get(self, request: Request) -> Response:
        """Agent servers and chat endpoints."""
        return self.page(selectors.servers_visible_to(request.user).order_by("pk"))

    @operation("Register an agent server", takes=NewServer, answers=AgentServerDetailSerializer, status=201)
    def post(self, request: SignedInApiRequest) -> Response:
        """It is asked at once who it is and which agents it has: read it until its state is ready or broken. Where
        requests may go is this site's rule."""
        body = self.body()
        headers = checked_secrets(body, "secret_headers", headers=True)
        server = services.register_server(
            actor=request.user,
            secret_headers={name: value for name, value in headers.items() if value is not None},
            **body,
        )
        return self.again(server, "api-agent-server")


class Server(ServerView):
    @operation("Read an agent server", answers=AgentServerDetailSerializer)
    def get(self, request: Request, slug: str) -> Response:
        """Its state and what it told of itself. Its card is that of the model of the same slug."""
        return self.read()

    @operation(
        "Change how an agent server is reached", takes=ServerAddress, answers=AgentServerDetailSerializer
    )
    def patch(self, request: SignedInApiRequest, slug: str) -> Response:
        """It is checked again. A new `url` takes away all secrets that are not given again, because they were meant
        for the old one. Name, visibility and description are changed at `models/`."""
        server = self.changeable()
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
        return self.again(server)

    @operation("Delete an agent server", status=204)
    def delete(self, request: Request, slug: str) -> Response:
        """One that has runs stays, because their results point to it."""
        return self.remove(services.delete_server)


class Check(ServerView):
    @operation("Check an agent server again", answers=AgentServerDetailSerializer, status=202)
    def post(self, request: Request, slug: str) -> Response:
        """Queued: read the server until its state is ready or broken."""
        return self.act(services.queue_check, "api-agent-server")
