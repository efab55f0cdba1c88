"""Permissions in the admin for every user: lists, forms, deletions, histories and actions of every model."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Group
from django.urls import URLPattern, URLResolver, reverse

from gym.accounts.models import ApiToken, User
from gym.jobs.models import Job, WorkerHeartbeat
from gym.propara.models import AnswerSetVersion
from gym.runs.models import ScoreCache
from gym.sharing.models import Invitation
from gym.sharing.selectors import tables
from suites.models import SuiteRevision, Tag
from tests.staff.rows import make

ADDABLE = {User, Group, Tag}
READ_ONLY = {ApiToken, Job, WorkerHeartbeat, SuiteRevision, ScoreCache, AnswerSetVersion}
READ_ONLY |= {*tables(), Invitation, LogEntry}
"""Read-only models."""
UNDELETABLE = {SuiteRevision, LogEntry}
"""Models without deletion. The page that deletes a suite reports that its revisions are protected."""
METHODS = ("GET", "POST")
PEOPLE = ("nobody", "alice", "clerk", "staff")  # the admin knows no collaborators
OTHER_PAGES = {
    "index": 200,
    "login": 302,  # redirects users who are signed in
    "password_change": 200,
    "password_change_done": 200,
    "autocomplete": 403,  # it needs a field
    "jsi18n": 200,
}
UNTESTED = {"logout", "view_on_site", "app_list"}
"""URL names that are not tested: logout and view_on_site lead to the site's own pages; app_list is the index
of one app."""
EXTRA_PAGES = {"auth_user_password_change": (User, 200)}


@pytest.fixture
def clerk(people) -> User:
    """A staff member without permissions in the admin."""
    return User.objects.create_user("clerk", password="clerk", is_staff=True)


def staffs_answer(model: Any, what: str, method: str) -> set[int]:
    """Return the permitted statuses for a superuser. An empty form is shown again with errors, or is
    saved."""
    if what == "add":
        return {200} if model in ADDABLE else {403}
    if what == "delete":
        return {403} if model in UNDELETABLE else {200}
    if what == "change" and method == "POST":
        return {403} if model in READ_ONLY else {200, 302}
    return {200, 302} if what == "changelist" and method == "POST" else {200}


def addresses(row: Any) -> dict[str, str]:
    prefix = f"admin:{row._meta.app_label}_{row._meta.model_name}_"
    of_row = {what: reverse(prefix + what, args=[row.pk]) for what in ("change", "delete", "history")}
    return of_row | {what: reverse(prefix + what) for what in ("changelist", "add")}


def is_sent_to_sign_in(response: Any) -> bool:
    return response.status_code == 302 and response.url.startswith(reverse("admin:login"))


def enter(client, people, clerk, person: str) -> None:
    if person != "nobody":
        client.force_login(clerk if person == "clerk" else getattr(people, person))


@pytest.mark.crawl
@pytest.mark.parametrize("person", PEOPLE)
def test_everybody_gets_what_the_rule_says(client, people, clerk, person):
    enter(client, people, clerk, person)
    wrong, counts = [], {model: model.objects.count() for model in admin.site._registry}
    rows = make(1)
    made = {model: model.objects.count() for model in counts}
    for model in admin.site._registry:
        for what, address in addresses(rows[model]).items():
            for method in METHODS:
                response = client.generic(method, address)
                if person == "staff":
                    right = response.status_code in staffs_answer(model, what, method)
                elif person == "clerk":
                    right = response.status_code == 403
                else:
                    right = is_sent_to_sign_in(response)
                if not right:
                    wrong.append(f"{method} {address}: {response.status_code}")
    assert not wrong, "\n".join(wrong)
    del made[LogEntry]  # it grows with every action
    assert {model: model.objects.count() for model in made} == made  # nothing was added or deleted


@pytest.mark.parametrize("person", PEOPLE)
def test_actions_are_for_who_has_the_right(client, people, clerk, rf, person):
    enter(client, people, clerk, person)
    request = rf.get("/")
    request.user = people.staff
    rows = make(1)
    wrong = []
    for model, listing in admin.site._registry.items():
        for action in listing.get_actions(request):
            address = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
            response = client.post(address, {"action": action, "_selected_action": [rows[model].pk]})
            if person == "staff":  # a deletion asks for confirmation
                right = response.status_code == (200 if action == "delete_selected" else 302)
            elif person == "clerk":
                right = response.status_code == 403
            else:
                right = is_sent_to_sign_in(response)
            if not right:
                wrong.append(f"{address} {action}: {response.status_code}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("person", PEOPLE)
def test_the_rest_of_the_admin(client, people, clerk, person):
    enter(client, people, clerk, person)
    for name, expected in OTHER_PAGES.items():
        response = client.get(reverse(f"admin:{name}"))
        if name == "login":
            continue  # everybody may see the sign-in page
        if person in ("staff", "clerk"):
            assert response.status_code == expected, name
        else:
            assert is_sent_to_sign_in(response), name
    for name, (model, expected) in EXTRA_PAGES.items():
        address = reverse(f"admin:{name}", args=[make(1)[model].pk])
        response = client.get(address)
        if person in ("staff", "clerk"):
            assert response.status_code == (expected if person == "staff" else 403), name
        else:
            assert is_sent_to_sign_in(response), name


def test_no_address_of_the_admin_is_forgotten():
    known = {
        f"{model._meta.app_label}_{model._meta.model_name}_{what}"
        for model in admin.site._registry
        for what in ("changelist", "add", "change", "delete", "history")
    }
    assert names() == known | set(OTHER_PAGES) | UNTESTED | set(EXTRA_PAGES)


def names() -> set[str]:
    def walk(patterns: Any) -> list[str]:
        found = []
        for pattern in patterns:
            if isinstance(pattern, URLResolver):
                found += walk(pattern.url_patterns)
            elif isinstance(pattern, URLPattern) and pattern.name:
                found.append(pattern.name)
        return found

    return set(walk(admin.site.urls[0]))
