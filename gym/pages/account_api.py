"""Who am I: the account, its token, its allowances. Tokens are made on the profile page alone."""

from __future__ import annotations

from django.urls import path
from rest_framework import serializers
from rest_framework.permissions import IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response

from gym.accounts.models import ApiToken, Scope
from gym.accounts.quotas import Use
from gym.api.base import ApiView
from gym.api.operations import operation
from gym.api.permissions import TokenScope
from gym.pages.profile import use_of


class AllowanceSerializer(serializers.Serializer):
    name = serializers.CharField()
    used = serializers.IntegerField()
    limit = serializers.IntegerField(help_text="0 = none")


class KeptSerializer(serializers.Serializer):
    kind = serializers.CharField(source="kind.key", help_text="suites, models, agent_runs …")
    number = serializers.IntegerField(source="kept.number")
    max_number = serializers.IntegerField(source="limit.number", help_text="0 = no limit")
    bytes = serializers.SerializerMethodField(help_text="null where they are not counted")
    max_bytes = serializers.IntegerField(source="limit.bytes", help_text="0 = no limit")

    def get_bytes(self, use: Use) -> int | None:
        return use.kept.bytes if use.kind.has_bytes else None


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
    kept = KeptSerializer(many=True, help_text="what the account keeps, and may keep, of each kind of thing")


class Me(ApiView):
    permission_classes = [IsAuthenticated, TokenScope]

    @operation("Who am I", answers=MeSerializer)
    def get(self, request: Request) -> Response:
        """The account, the token of this request, what is used of the allowances, and what it keeps."""
        token = request.auth if isinstance(request.auth, ApiToken) else None
        allowances, kept = use_of(request.user)
        data = {
            "username": request.user.username,
            "name": request.user.author_name,
            "is_staff": request.user.is_staff,
            "token": token,
            "allowances": allowances,
            "kept": kept,
        }
        return Response(MeSerializer(data).data)


urlpatterns = [path("me/", Me.as_view(), name="api-me")]
