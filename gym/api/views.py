"""The API's own resources: index, description, account, and the response to unknown addresses."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse as address_of
from django.views.decorators.http import require_safe
from rest_framework import serializers
from rest_framework.permissions import IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from gym.accounts.models import ApiToken, Scope
from gym.accounts.requests import SignedInApiRequest
from gym.api.base import ApiView
from gym.api.description import text as description
from gym.api.operations import operation
from gym.api.permissions import TokenScope

LISTS = (
    "suites",
    "models",
    "backends",
    "runs",
    "uploads",
    "leaderboard",
    "collections",
    "propara-sets",
    "propara-submissions",
    "lmc-corpora",
    "lmc-games",
    "agent-servers",
    "agent-suites",
    "agent-runs",
    "me",
    "schema",
    "docs",
)


class Index(ApiView):
    @operation(
        "List the resources",
        response={"type": "object", "additionalProperties": {"type": "string", "format": "uri"}},
    )
    def get(self, request: Request) -> Response:
        """Return the addresses of all lists, of your account and of the description of the API, by name."""
        return Response({name: reverse(f"api-{name}", request=request) for name in LISTS})


class Schema(ApiView):
    @operation("Read this description", response={"type": "object"})
    def get(self, request: Request) -> HttpResponse:
        """Return the description of this API in OpenAPI 3.1."""
        return HttpResponse(description(), content_type="application/json")


class TokenSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    scopes = serializers.ListField(child=serializers.ChoiceField(Scope.choices))
    expires = serializers.DateTimeField(allow_null=True)


class MeSerializer(serializers.Serializer[Any]):
    username = serializers.CharField()
    name = serializers.CharField()
    is_staff = serializers.BooleanField()
    token = TokenSerializer(allow_null=True, help_text="the token of this request")


class Me(ApiView):
    permission_classes = [IsAuthenticated, TokenScope]

    @operation("Read your account", response=MeSerializer)
    def get(self, request: SignedInApiRequest) -> Response:
        """Return your account and the token of this request."""
        token = request.auth if isinstance(request.auth, ApiToken) else None
        user = request.user
        return self.respond(
            {"username": user.username, "name": user.author_name, "is_staff": user.is_staff, "token": token}
        )


class Missing(ApiView):
    """View for unknown addresses: a 404 as problem+json, like every error of the API."""

    schema = None

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        self.get = self.post = self.put = self.patch = self.delete = self._missing
        return super().dispatch(request, *args, **kwargs)

    def _missing(self, request: Request) -> Response:
        raise Http404


@require_safe
def docs(request: HttpRequest) -> HttpResponse:
    """Show Swagger UI from this site's static files, so that the Content-Security-Policy needs no
    exception."""
    return render(request, "api/docs.html", {"schema": address_of("api-schema")})
