"""Invitations that others sent you: list, accept, decline."""

from __future__ import annotations

from django.urls import path
from rest_framework import serializers
from rest_framework.permissions import IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response

from gym.api.base import ApiView, ListView, get_or_404
from gym.api.operations import operation
from gym.api.permissions import TokenScope
from gym.sharing import invitations
from gym.sharing.models import Invitation, Offer
from gym.sharing.selectors import invitations_of


class InvitationSerializer(serializers.Serializer):
    id = serializers.IntegerField()
    kind = serializers.CharField(source="noun", help_text="of thing, e.g. suite, corpus, model")
    title = serializers.CharField(source="thing")
    role = serializers.ChoiceField(Offer.choices)
    invited_by = serializers.CharField(source="inviter.username")
    created = serializers.DateTimeField()


class AcceptedSerializer(serializers.Serializer):
    kind = serializers.CharField()
    slug = serializers.CharField(help_text="short name of the thing in addresses")
    title = serializers.CharField()
    role = serializers.ChoiceField(Offer.choices)


class InvitationList(ListView):
    permission_classes = [IsAuthenticated, TokenScope]

    @operation("List invitations to you", answers=InvitationSerializer, many=True)
    def get(self, request: Request) -> Response:
        """Open ones, newest first. They give no right until you accept."""
        return self.page(invitations_of(request.user), InvitationSerializer)


class InvitationAccept(ApiView):
    permission_classes = [IsAuthenticated, TokenScope]

    @operation("Accept an invitation", answers=AcceptedSerializer)
    def post(self, request: Request, pk: int) -> Response:
        """409 when it is no longer open: whoever sent it withdrew it or does not own the thing any more."""
        row = _mine(request, pk)
        thing = invitations.accept(row, actor=request.user)
        data = {"kind": row.noun, "slug": thing.slug, "title": str(thing), "role": row.role}
        return Response(AcceptedSerializer(data).data)


class InvitationDetail(ApiView):
    permission_classes = [IsAuthenticated, TokenScope]

    @operation("Decline an invitation", status=204)
    def delete(self, request: Request, pk: int) -> Response:
        """The same person cannot ask you again about this thing for a day."""
        invitations.decline(_mine(request, pk), actor=request.user)
        return Response(status=204)


def _mine(request: Request, pk: int) -> Invitation:
    return get_or_404(Invitation.objects.filter(invited=request.user, declined=None), pk=pk)


urlpatterns = [
    path("invitations/", InvitationList.as_view(), name="api-invitations"),
    path("invitations/<int:pk>/", InvitationDetail.as_view(), name="api-invitation"),
    path("invitations/<int:pk>/accept/", InvitationAccept.as_view(), name="api-invitation-accept"),
]
