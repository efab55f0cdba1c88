"""Who am I: the account, its token, its allowances. Tokens are made on the profile page alone."""

from __future__ import annotations

from django.urls import path
from rest_framework import serializers
from rest_framework.permissions import IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response

from gym.accounts.models import ApiToken, Scope
from gym.api.base import ApiView
from gym.api.operations import operation
from gym.api.permissions import TokenScope
from gym.pages.profile import allowances_of


class AllowanceSerializer(serializers.Serializer):
    name = serializers.CharField()
    used = serializers.IntegerField()
    limit = serializers.IntegerField(help_text="0 = none")


class TokenSerializer(serializers.Serializer):
    name = serializers.CharField()
    scopes = serializers.ListField(child=serializers.ChoiceField(Scope.values))
    expires = serializers.DateTimeField(allow_null=True)


class MeSerializer(serializers.Serializer):
    username = serializers.CharField()
    name = serializers.CharField()
    is_staff = serializers.BooleanField()
    token = TokenSerializer(allow_null=True, help_text="the one this request was sent with")
    allowances = AllowanceSerializer(many=True)


class Me(ApiView):
    permission_classes = [IsAuthenticated, TokenScope]

    @operation("Who am I", answers=MeSerializer)
    def get(self, request: Request) -> Response:
        """The account, the token of this request, and what is used of the allowances."""
        token = request.auth if isinstance(request.auth, ApiToken) else None
        data = {
            "username": request.user.username,
            "name": request.user.author_name,
            "is_staff": request.user.is_staff,
            "token": token,
            "allowances": allowances_of(request.user),
        }
        return Response(MeSerializer(data).data)


urlpatterns = [path("me/", Me.as_view(), name="api-me")]
