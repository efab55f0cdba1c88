"""Who works on a suite, and the address of an unlisted one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from suites import permissions, services, sharing
from suites.forms import CollaboratorForm
from suites.models import Suite, SuiteCollaborator
from suites.selectors import visible_to


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def suite_people(request: HttpRequest, slug: str) -> HttpResponse:
    """Context: suite, people (SuiteCollaborator), roles, form, may_share, may_edit, mine (my own collaboration),
    address (of an unlisted suite)."""
    suite = _visible(request, slug)
    if not permissions.can_see_people(request.user, suite):
        raise PermissionDenied("this is for the people of the suite")
    form = CollaboratorForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        given = form.cleaned_data
        try:
            added = sharing.add_collaborator(suite, given["username"], given["role"], actor=request.user)
        except ValidationError as error:
            form.add_error("username", error)
        else:
            messages.success(request, f"{added.user.display_name} {added.get_role_display()} this suite.")
            return redirect("suite-people", suite.slug)
    elif request.method == "POST" and not permissions.can_share(request.user, suite):
        raise PermissionDenied("only its owner decides who works on a suite")
    people = list(suite.collaborations.select_related("user").order_by("user__username"))
    context = {
        "suite": suite,
        "people": people,
        "roles": SuiteCollaborator.Role.choices,
        "form": form,
        "may_share": permissions.can_share(request.user, suite),
        "may_edit": permissions.can_edit(request.user, suite),
        "mine": next((row for row in people if row.user_id == request.user.pk), None),
        "address": request.build_absolute_uri(suite.get_absolute_url()),
    }
    return render(request, "suites/people.html", context, status=400 if request.method == "POST" else 200)


@login_required
@require_POST
def collaborator_role(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """POST role: edit or view; "owner" hands the suite over."""
    suite, row = _collaboration(request, slug, pk)
    role = request.POST.get("role", "")
    if role == "owner":
        done = f"{row.user.display_name} owns this suite now."
        return _answer(request, suite, done, lambda: sharing.hand_over(row, actor=request.user))
    return _answer(request, suite, "Saved.", lambda: sharing.set_role(row, role, actor=request.user))


@login_required
@require_POST
def collaborator_remove(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    suite, row = _collaboration(request, slug, pk)
    done = f"{row.user.display_name} is no longer a collaborator."
    return _answer(request, suite, done, lambda: sharing.remove_collaborator(row, actor=request.user))


@login_required
@require_POST
def suite_leave(request: HttpRequest, slug: str) -> HttpResponse:
    suite = _visible(request, slug)
    row = suite.collaborations.filter(user=request.user).first()
    if row is None:
        raise PermissionDenied("you are no collaborator of this suite")
    sharing.remove_collaborator(row, actor=request.user)
    messages.success(request, f"You no longer work on {suite.title}.")
    return redirect("suite-list")


@login_required
@require_POST
def suite_new_address(request: HttpRequest, slug: str) -> HttpResponse:
    suite = _visible(request, slug)
    done = "The suite has a new address. Links to the old one stopped working."
    return _answer(request, suite, done, lambda: services.new_secret_address(suite, actor=request.user))


def _answer(request: HttpRequest, suite: Suite, done: str, act: Callable[[], Any]) -> HttpResponse:
    try:
        act()
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    else:
        messages.success(request, done)
    suite.refresh_from_db()
    if permissions.can_see_people(request.user, suite):
        return redirect("suite-people", suite.slug)
    return redirect(suite)


def _visible(request: HttpRequest, slug: str) -> Suite:
    return get_object_or_404(visible_to(request.user).select_related("owner"), slug=slug)


def _collaboration(request: HttpRequest, slug: str, pk: int) -> tuple[Suite, SuiteCollaborator]:
    suite = _visible(request, slug)
    if not permissions.can_share(request.user, suite):
        raise PermissionDenied("only its owner decides who works on a suite")
    row = get_object_or_404(suite.collaborations.select_related("user"), pk=pk)
    row.suite = suite
    return suite, row
