"""Who works on a suite (gym.sharing), and the address of an unlisted one."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_POST

from gym.sharing.permissions import may_read
from gym.sharing.rooms import Room
from suites import services
from suites.selectors import visible_to

ROOM = Room("suite", "api", "suite-list", "Suites", visible_to, "suites/people.html")


@login_required
@require_POST
def suite_new_address(request: HttpRequest, slug: str) -> HttpResponse:
    suite = get_object_or_404(visible_to(request.user), slug=slug)
    try:
        services.new_secret_address(suite, actor=request.user)
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    else:
        messages.success(request, "The suite has a new address. Links to the old one stopped working.")
    suite.refresh_from_db()
    return redirect("suite-people", suite.slug) if may_read(request.user, suite) else redirect(suite)
