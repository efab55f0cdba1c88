"""Agent servers: list, register, read, change, check, delete."""

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
from gym.agents.inputs import secret_problem
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
        help_text=f"{what}: name -> value, stored encrypted and never returned; null deletes a value, and values that "
        "are not sent are kept",
    )


class ServerAddress(Body):
    url = serializers.CharField(max_length=500, allow_blank=True, required=False)
    chat_model = serializers.CharField(
        max_length=200,
        allow_blank=True,
        required=False,
        help_text="for a chat endpoint: its name for the model; empty: the agent named in the case",
    )
    secret_headers = secrets("headers of each request to the server")


class NewServer(ServerAddress):
    kind = serializers.ChoiceField(AgentServer.Kind.choices)
    name = serializers.CharField(max_length=200)
    slug = serializers.SlugField(max_length=80, required=False, help_text="default: derived from the name")
    visibility = serializers.ChoiceField(PRIVATE_OR_PUBLIC, default=Visibility.PRIVATE)
    description = serializers.CharField(max_length=MOST_TEXT, allow_blank=True, default="")


def checked_secrets(body: dict[str, Any], field: str, *, headers: bool) -> dict[str, str | None]:
    """Remove the secrets from the body, validate them and return them. Errors never contain a value."""
    values: dict[str, str | None] = body.pop(field, {})
    field_errors = [
        FieldError(f"$.{field}", problem)
        for name, value in values.items()
        if (problem := secret_problem(name, value or "", headers=headers))
    ]
    if field_errors:
        raise invalid(*field_errors)
    return values


def chosen(rows: Any, slug: str | None, where: str, message: str) -> Any:
    """Return the row with this slug, or None without a slug. Raises a 400 with `message` at `where` if there
    is no such row."""
    if slug is None:
        return None
    row = rows.filter(slug=slug).first()
    if row is None:
        raise invalid(FieldError(where, message))
    return row


class ServerView(ObjectView[AgentServer]):
    denied_message = "this server belongs to another user, and you are not one of its editors"

    def visible_rows(self, address: str) -> QuerySet[AgentServer]:
        return selectors.servers_visible_to(self.request.user).filter(model__slug=address)

    def address_of(self, server: AgentServer) -> str:
        return server.model.slug

    def can_change(self, server: AgentServer) -> bool:
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

    @operation("List agent servers", response=AgentServerSerializer, many=True)
    def get(self, request: Request) -> Response:
        """List the agent servers, chat endpoints and embedded demo agents that you may see."""
        return self.page(selectors.servers_visible_to(request.user).order_by("pk"))

    @operation("Register an agent server", body=NewServer, response=AgentServerDetailSerializer, status=201)
    def post(self, request: SignedInApiRequest) -> Response:
        """Register a server and start a check of its version and agents. Poll the server until its state is ready or
        broken. The site's rules decide which addresses are allowed."""
        body = self.body()
        headers = checked_secrets(body, "secret_headers", headers=True)
        server = services.register_server(
            actor=request.user,
            secret_headers={name: value for name, value in headers.items() if value is not None},
            **body,
        )
        return self.refreshed(server, "api-agent-server")


class Server(ServerView):
    @operation("Read an agent server", response=AgentServerDetailSerializer)
    def get(self, request: Request, slug: str) -> Response:
        """Return state, version and agents, with the metadata of the model that has the same slug."""
        return self.read()

    @operation(
        "Change the address of an agent server", body=ServerAddress, response=AgentServerDetailSerializer
    )
    def patch(self, request: SignedInApiRequest, slug: str) -> Response:
        """Change the server and check it again. A new `url` deletes all secrets that are not sent again, because they
        were meant for the old one. Change name, visibility and description at `models/`."""
        server = self.get_for_change()
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
        return self.refreshed(server)

    @operation("Delete an agent server", status=204)
    def delete(self, request: Request, slug: str) -> Response:
        """Delete the server. A server with runs, or whose check is active, cannot be deleted."""
        return self.remove(services.delete_server)


class Check(ServerView):
    @operation("Check an agent server again", response=AgentServerDetailSerializer, status=202)
    def post(self, request: Request, slug: str) -> Response:
        """Queue a check; poll the server until its state is ready or broken."""
        return self.act(services.queue_check, "api-agent-server")
