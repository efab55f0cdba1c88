"""The notifications page."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST, require_safe

from gym.accounts.mail import has_server
from gym.accounts.requests import SignedInRequest
from gym.notices import services

PER_PAGE = 50


@login_required
@require_safe
def notifications(request: SignedInRequest) -> HttpResponse:
    """List notifications. Context: page (of Notices, newest first), days (until they are deleted), mail ("on", "off",
    or "none" without a mail server)."""
    page = Paginator(request.user.notices.all(), PER_PAGE).get_page(request.GET.get("page"))
    mail = "none" if not has_server() else "on" if request.user.notices_by_mail else "off"
    return render(request, "notices/list.html", {"page": page, "days": services.KEPT.days, "mail": mail})


@login_required
@require_POST
def notifications_read(request: SignedInRequest) -> HttpResponse:
    services.mark_read(request.user)
    return redirect("notifications")


@login_required
@require_POST
def notification_read(request: SignedInRequest, pk: int) -> HttpResponse:
    """Mark a notice as read; with `go`, redirect to its address."""
    notice = get_object_or_404(request.user.notices, pk=pk)
    services.mark_read(request.user, [notice.pk])
    return redirect(notice.address if "go" in request.POST and notice.address else "notifications")
