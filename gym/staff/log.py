"""Record changes by staff in the admin's log: user, change and time."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from django.contrib.admin.models import CHANGE, LogEntry
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from gym.accounts.models import User

UNSAFE = {"POST", "PUT", "PATCH", "DELETE"}
SESSION_VIEWS = {"login", "logout", "admin:login", "admin:logout"}
TOKEN = "csrfmiddlewaretoken"  # noqa: S105  the name of a field
QUIET = timedelta(minutes=10)
"""Repetitions of a change within this time are not logged again: the editor saves every few seconds."""


class StaffLog:
    """Middleware that logs admin actions and changes made on pages and through the API. Django itself logs the forms of
    the admin."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if request.method in UNSAFE and response.status_code < 400 and request.user.is_staff:
            _log(request, request.user)
        return response


def _log(request: HttpRequest, user: User) -> None:
    match = request.resolver_match
    if match is None or match.view_name in SESSION_VIEWS:
        return
    message = f"{request.method} {match.view_name}"
    if match.app_name == "admin":
        action = request.POST.get("action", "")
        if not action or action == "delete_selected":
            return
        message += f": {action} {', '.join(request.POST.getlist('_selected_action'))}"
    elif match.view_name.startswith("staff"):
        fields = [
            f"{name}={value}" for name, values in request.POST.lists() for value in values if name != TOKEN
        ]
        message += f": {' '.join(fields)}"
    entry = {"user_id": user.pk, "object_repr": request.path[:200], "change_message": message}
    if not User.objects.filter(pk=user.pk).exists():
        return  # they deleted their own account
    if not LogEntry.objects.filter(**entry, action_time__gt=timezone.now() - QUIET).exists():
        LogEntry.objects.create(**entry, action_flag=CHANGE)
