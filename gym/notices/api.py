"""One's notifications in the REST API."""

from __future__ import annotations

from typing import Any

from django.urls import path
from rest_framework import serializers
from rest_framework.permissions import IsAuthenticated
from rest_framework.response import Response

from gym.accounts.requests import SignedInApiRequest
from gym.api.base import ApiView, ListView
from gym.api.operations import operation
from gym.api.permissions import TokenScope
from gym.api.requests import Body
from gym.notices import services
from gym.notices.models import Notice


class NotificationSerializer(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    kind = serializers.ChoiceField(Notice.Kind.values)
    text = serializers.CharField()
    address = serializers.CharField(help_text="path of the page that it is about")
    created = serializers.DateTimeField()
    read = serializers.DateTimeField(allow_null=True, help_text="null: unread")


class ReadBody(Body):
    ids = serializers.ListField(
        child=serializers.IntegerField(min_value=1, max_value=2**63 - 1),
        required=False,
        max_length=500,
        help_text="which; without it all",
    )


class NotificationList(ListView):
    permission_classes = [IsAuthenticated, TokenScope]

    @operation("List notifications", answers=NotificationSerializer, many=True)
    def get(self, request: SignedInApiRequest) -> Response:
        """Yours, newest first. They are deleted after 90 days."""
        return self.page(request.user.notices.all())


class NotificationsRead(ApiView):
    permission_classes = [IsAuthenticated, TokenScope]

    @operation("Mark notifications as read", takes=ReadBody, status=204)
    def post(self, request: SignedInApiRequest) -> Response:
        """Numbers that are not yours are passed over."""
        services.mark_read(request.user, self.body().get("ids"))
        return Response(status=204)


urlpatterns = [
    path("notifications/", NotificationList.as_view(), name="api-notifications"),
    path("notifications/read/", NotificationsRead.as_view(), name="api-notifications-read"),
]
