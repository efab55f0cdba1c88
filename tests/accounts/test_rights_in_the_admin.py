"""Staff who may change accounts can neither grant themselves permissions nor change accounts that have
some."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import Permission
from django.urls import reverse

from gym.accounts.models import ApiToken, User

FORM = {
    "username": "alice", "first_name": "Al", "last_name": "", "email": "alice@example.org", "is_active": "on",
    "last_login_0": "", "last_login_1": "", "date_joined_0": "2026-01-01", "date_joined_1": "00:00:00",
    "max_active_jobs": "", "max_sentences_per_day": "", "max_runs": "",
}  # fmt: skip


@pytest.fixture
def clerk(people, client) -> User:
    """A staff member with all permissions on accounts and tokens, but not a superuser."""
    user = User.objects.create_user("clerk", is_staff=True)
    rights = Permission.objects.filter(content_type__app_label="accounts")
    user.user_permissions.set(rights)
    client.force_login(user)
    return user


def change_of(user: User) -> str:
    return reverse("admin:accounts_user_change", args=[user.pk])


def test_names_are_changed_and_rights_are_not(client, people, clerk):
    rights = {"is_staff": "on", "is_superuser": "on", "user_permissions": [Permission.objects.first().pk]}
    assert client.post(change_of(people.alice), FORM | rights).status_code == 302
    people.alice.refresh_from_db()
    assert people.alice.first_name == "Al"
    assert not people.alice.is_staff
    assert not people.alice.is_superuser
    assert not people.alice.user_permissions.exists()


@pytest.mark.parametrize("name", ["staff", "clerk"])
def test_accounts_with_rights_are_not_changed_by_others_than_superusers(client, people, clerk, name):
    user = User.objects.get(username=name)
    assert client.post(change_of(user), FORM | {"username": name, "is_superuser": "on"}).status_code == 403
    password = reverse("admin:auth_user_password_change", args=[user.pk])
    assert client.post(password, {"password1": "x" * 20, "password2": "x" * 20}).status_code == 403
    assert (
        client.post(reverse("admin:accounts_user_delete", args=[user.pk]), {"post": "yes"}).status_code == 403
    )
    assert User.objects.get(pk=user.pk).is_superuser == (name == "staff")


def test_nor_deleted_among_others(client, people, clerk):
    chosen = {
        "action": "delete_selected",
        "_selected_action": [people.staff.pk, people.charlie.pk],
        "post": "yes",
    }
    client.post(reverse("admin:accounts_user_changelist"), chosen)
    assert User.objects.filter(pk=people.staff.pk).exists()


def test_nor_their_tokens(client, people, clerk):
    token = ApiToken.objects.create(user=people.staff, name="t", digest="d", scopes=["read"])
    address = reverse("admin:accounts_apitoken_delete", args=[token.pk])
    assert client.post(address, {"post": "yes"}).status_code == 403
    assert ApiToken.objects.filter(pk=token.pk).exists()


def test_a_superuser_gives_rights(client, people):
    client.force_login(people.staff)
    assert client.post(change_of(people.alice), FORM | {"is_staff": "on"}).status_code == 302
    assert User.objects.get(username="alice").is_staff
